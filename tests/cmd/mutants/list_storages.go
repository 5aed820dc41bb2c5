package main

// recordsInConfigMaps are the mutants of releases stored in ConfigMaps: the choice of the record where both storages
// have some (I1), and the recognition of a record (I10).
func recordsInConfigMaps() []mutant {
	const record, storage, verifier = "pkg/release/record.go", "pkg/release/storage.go", "pkg/proof/verifier.go"
	const confirm, suite = "pkg/controller/confirm.go", "./tests/integration"
	const newest, contested = "TestNewestCountsEachStorageForItself", "TestI1_CreationWhileTwoStoragesHaveRecords"
	return []mutant{
		breaks("I1", "a release with records in two storages is locked by one of them",
			edit{record, `	default:
		last.Contested = true
	}`, `	}`}, suite, "TestStorage_RecordsInBothUnlock"),
		breaks("I1", "of two storages the one that was modified first counts",
			edit{record, `	if writtenAfter(other, last) {`, `	if writtenAfter(last, other) {`}, releases, newest),
		breaks("I1", "of two storages the one with the highest revision counts",
			edit{record, `	if writtenAfter(other, last) {`, `	if compareAge(other, last) > 0 {`}, releases, newest),
		breaks("I1", "of two records of one second the Secret counts",
			edit{record, `	return err == nil && order > 0`, `	return err == nil && order > 1`}, releases, newest),
		breaks("I1", "a release that was uninstalled in one storage first is contested in the other one",
			edit{record, `	case other.Status == StatusUninstalled:`, `	case other.Status == StatusUninstalled && last.Status == other.Status:`},
			releases, newest),
		breaks("I1", "a release that was uninstalled in one storage last is contested in the other one",
			edit{record, `	case last.Status == StatusUninstalled:`, `	case last.Status == StatusUninstalled && !found:`},
			suite, "TestStorage_RecordsInBothUnlock"),
		breaks("I1", "a release is locked by the older revision of a storage in which it is uninstalled",
			edit{record, `	for _, rec := range records {
		if known`, `	for _, rec := range records {
		if rec.Status == StatusUninstalled {
			continue
		}
		if known`}, releases, newest),
		breaks("I1", "a record holds although another storage contests it",
			edit{record, `r.ResourceVersion == o.ResourceVersion && r.Contested == o.Contested`, `r.ResourceVersion == o.ResourceVersion`}, releases, newest),
		breaks("I1", "a check reads Secrets only",
			edit{verifier, `	for i, storage := range v.storages {`, `	for i, storage := range v.storages[:1] {`}, order,
			"TestI1_CheckReadsTheOtherStorage/helm_3_from_Secrets"),
		breaks("I1", "a check reads ConfigMaps only",
			edit{verifier, `	for i, storage := range v.storages {`,
				`	for i, storage := range v.storages[len(v.storages)-1:] {`}, order,
			"TestI1_CheckReadsTheOtherStorage/helm_3_from_ConfigMaps"),
		breaks("I1", "a fence among Secrets stands for a list of ConfigMaps, too",
			edit{verifier, ` && slices.Equal(o.Storages, []release.Storage{release.Secrets})`, ``}, guard,
			"TestEachCheckReadsAllStorages"),
		breaks("I1", "what was created is judged by the record that it relied on while another storage contests that one",
			edit{confirm, `	case r.record.Contested && r.record.UID == w.Record.UID:`,
				`	case r.record.Contested && r.record.UID == "":`}, order,
			"TestI1_CreationWhileTheLockedRecordIsContested/helm_3_from_Secrets"),
		breaks("I1", "what was created is taken back while nothing tells which storage counts",
			edit{"pkg/controller/takeback.go", `	if r.record.Contested {`, `	if r.record.UID == "" {`}, order, contested+"/helm_3_from_Secrets"),
		breaks("I1", "a release that takes an object over is known by one of its two storages",
			edit{verifier, `	return newest{record, exists, release.NewestOfEach(all)}, nil`,
				`	return newest{record, exists, release.NewestOfEach([]release.Record{record})}, nil`}, suite,
			"TestStorage_ClaimOfAReleaseInBoth$"),
		breaks("I1", "the records of a release in two storages are remembered as one",
			edit{"pkg/claims/declarations.go", `{ return source{rec.Key, rec.Storage} }`,
				`{ return source{Key: rec.Key} }`}, suite, "TestStorage_ClaimOfAReleaseInBoth$"),
		breaks("I1", "a release in two storages of another namespace owns nothing",
			edit{"pkg/proof/elsewhere.go", `		if key != of && !malformed[key] {`,
				`		if newest, _ := release.Newest(all); key != of && !malformed[key] && !newest.Contested {`}, suite,
			"TestStorage_ClaimOfAReleaseInBothElsewhere"),
		breaks("I8", "a release with records in two storages owns what it does not declare",
			edit{"pkg/controller/owners.go", `		at := slices.IndexFunc(known, func(d *claims.Declaration) bool { return d.Owns(named, v.ID) })`,
				`		at := slices.IndexFunc(known, func(d *claims.Declaration) bool { return len(known) > 1 || d.Owns(named, v.ID) })`},
			suite, "TestHostile_AReleaseInBothStoragesOwnsWhatItDeclares"),
		breaks("I13", "a release with records in two storages is refused an object",
			edit{"pkg/claims/stances.go", `		for _, newest := range release.NewestOfEach(records) {`,
				`		for _, newest := range release.NewestOfEach(records) {
			if storage == release.ConfigMaps && stands == DeclaresNot && exists {
				break
			}`}, guardSuite, "TestI13_AReleaseInBothStoragesTakesOver"),
		breaks("I10", "a ConfigMap with the labels of a record is one",
			edit{storage, `	return s == Secrets || strings.HasPrefix(m.GetName(), NamePrefix)`, `	return s == Secrets || m != nil`},
			suite, "TestStorage_HostileConfigMaps"),
		breaks("I10", "a record in a ConfigMap whose labels are wrong is passed over",
			edit{storage, `	return s == Secrets || strings.HasPrefix(m.GetName(), NamePrefix)`, `	if s == Secrets {
		return true
	}
	_, err := s.RecordOf(m)
	return err == nil`}, suite, "TestStorage_HostileConfigMaps"),
		breaks("I11", "records in ConfigMaps that are not read are looked for with each change",
			edit{"pkg/controller/elsewhere.go", `e.elsewhereAt == hr.Generation`, `e.elsewhereAt < 0`}, suite,
			"TestStorage_RecordThatIsNotReadIsNamed"),
		breaks("T2", "a release whose record is not read does not exist",
			edit{"pkg/controller/elsewhere.go", `		default:
			known.Record, known.Found = release.Newest(records)`, `		default:
			_, _ = release.Newest(records)`}, suite, "TestStorage_RecordThatIsNotReadIsNamed"),
	}
}
