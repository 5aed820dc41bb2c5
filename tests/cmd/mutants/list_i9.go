package main

// allOrNothing are the mutants of I9.
func allOrNothing() []mutant {
	const parse, test = "pkg/manifest/parse.go", "TestI9_ManifestThatDoesNotParseIsNotEnforcedAtAll"
	return []mutant{
		breaks("I9", "a manifest that does not parse is reported, and what was locked before stays locked", stayLocked,
			integration, test),
		breaks("I9", "a document that is no YAML is skipped",
			edit{parse, `		content, rest, err := decoder.decode(doc)
		if err != nil {
			return nil, err`, `		content, rest, err := decoder.decode(doc)
		if err != nil {
			continue`}, integration, test),
		breaks("I9", "what comes before a bad document is enforced",
			edit{parse, `			if err := p.add(object, inherited{}, 0); err != nil {
				return nil, err`, `			if err := p.add(object, inherited{}, 0); err != nil {
				break`}, integration, test),
		breaks("I9", "a document that is no mapping is skipped",
			edit{parse, `				return nil, doc.errorf(doc.firstLine(), "it is not an object: a mapping is needed at the top")`,
				`				continue`}, integration, test),
		breaks("I9", "an object without a kind is skipped",
			edit{parse, `		return p.errorf("an object has no kind")`, `		return nil`}, integration, test),
		breaks("I9", "an object without a name is skipped",
			edit{parse, `			return p.errorf("an object has no metadata.name")`,
				`			return nil`}, integration, test),
		breaks("I9", "a manifest that does not parse counts as an empty one",
			edit{"pkg/judge/plan.go", `	set, err := manifest.Parse(text)
	if err != nil {`, `	set, err := manifest.Parse(text)
	if err != nil {
		set, err = &manifest.Set{}, nil
	}
	if err != nil {`}, integration, test),
	}
}

// badInput are the mutants of I10.
func badInput() []mutant {
	const load, reconcile = "pkg/controller/records.go", "pkg/controller/releases.go"
	const decode = "pkg/reading/reading.go"
	const records, newer = "TestI10_BadRecordsEndInAConditionAndOthersGoOn", "TestI10_UnreadableNewerRecordUnlocks"
	const kind = "TestI10_MissingKindIsWaitedFor"
	const failed = `	if err != nil {
		return status.Problemf(v1alpha1.ReasonDecodeFailed,`
	return []mutant{
		breaks("I10", "a payload that does not decode is a panic", edit{load, failed, `	if err != nil {
		panic(err)
	}
` + failed}, integration, records).thatCrashes(),
		breaks("I10", "a payload that does not decode counts as an empty release", edit{decode, `	if err == nil {
		err = rel.Matches(rec)
	}`, `	if err == nil {
		err = rel.Matches(rec)
	} else {
		rel, err = &release.Release{}, nil
	}`}, integration, records),
		breaks("I10", "a payload that does not decode stalls the other releases",
			edit{load, failed, `	if err != nil {
		<-ctx.Done()
	}
` + failed}, integration, records),
		breaks("I10", "a payload that does not decode is tried again and again without a word",
			edit{load, failed, `	if err != nil {
		return status.Problem{}, err
	}
` + failed}, integration, records),
		breaks("I10", "a payload may decompress to any size",
			edit{"pkg/release/decode.go", `left: limit, large: large}`, `left: limit << 20, large: large}`}, "./pkg/release/whole",
			"TestPayloadsThatExhaustMemory"),
		breaks("I10", "one value of a payload may have any size",
			edit{"pkg/release/decode.go", `	case b.read > b.until:`, `	case b.read < 0:`}, "./pkg/release/whole",
			"TestPayloadsThatExhaustMemory"),
		breaks("I10", "the commands and the page decode any number of values and hooks",
			edit{"pkg/release/whole/whole.go", `	case elements > maxElements:`, `	case elements < 0:`}, "./pkg/release/whole",
			"TestPayloadsThatExhaustMemory"),
		breaks("I10", "a payload of another release is taken",
			edit{decode, `		err = rel.Matches(rec)`, `		_ = rel.Matches(rec)`}, integration, records),
		breaks("I10", "that a record has changed goes unnoticed, so that a repaired one is not read again",
			edit{"pkg/watch/store.go", `	s.releases.notify(s.releases.put(s, m))`, `	if keys := s.releases.put(s, m); len(keys) == 1 {
		s.releases.notify(keys)
	}`}, integration, records),
		breaks("I10", "a newer record that cannot be read is overlooked",
			edit{reconcile, `			return m.Err`, `			continue`}, integration, newer),
		breaks("I10", "a newer record that cannot be read counts only if it says which revision it is",
			edit{"pkg/watch/releases.go", `			bad = append(bad, Malformed{rec.Record, rec.err})`,
				`			rec.Revision = -1
			bad = append(bad, Malformed{rec.Record, rec.err})`}, integration, newer),
		breaks("I10", "a kind that is not served keeps the whole release from being locked",
			edit{"pkg/manifest/resolve.go", `			unknown = append(unknown, object)
			continue`, `			return nil, s.Objects, nil`}, integration, kind),
		breaks("I10", "a kind that was not served is not asked for again",
			edit{"pkg/controller/kinds.go", `	if rs.servedNow(kinds) {
		return true`, `	if rs.servedNow(kinds) {
		return false`}, integration, kind),
		breaks("I10", "a kind that is served no more is not waited for",
			edit{"pkg/controller/act.go", `func(e *entry) { e.reload = e.reload || !rv.served(v) })`,
				`func(e *entry) { e.reload = e.reload && !rv.served(v) })`}, integration, kind),
	}
}

// costFollowsLocks are the mutants of I11.
func costFollowsLocks() []mutant {
	const objects, test = "pkg/watch/objects.go", "TestI11_OnlyWhatIsLockedIsWatched"
	return []mutant{
		breaks("I11", "all objects of a kind are watched, Helm's or not",
			edit{objects, `			opts.LabelSelector = HelmSelector
			return o.client.Watch(ctx, kind.GVR, opts)`, `			return o.client.Watch(ctx, kind.GVR, opts)`},
			integration, test),
		breaks("I11", "the watch of a kind goes on when no release needs it any more", edit{objects, `	w.users--
	if w.users == 0 {`, `	w.users--
	if w.users < 0 {`}, integration, test),
		breaks("I11", "all Secrets are watched for release records",
			edit{"pkg/watch/store.go",
				`		o.LabelSelector, o.FieldSelector = release.SelectorWithFences(), s.storage.FieldSelector()`,
				`		o.LabelSelector, o.FieldSelector = "", ""`}, integration, test),
		breaks("I11", "a change of status is judged as if it were content",
			edit{"pkg/drift/digest.go", `	case string(name) == "status", `, `	case `}, drift,
			"TestDigestChangesWithContentOnly"),
		breaks("I11", "a list is kept in memory until all of it has come",
			edit{"pkg/watch/feed.go", `		return f.deliver(o), nil`, `		f.deliver(o)
		return o, nil`}, watch, "TestAStreamedListIsJudgedObjectByObjectAndOnlyNamesAreKept"),
	}
}
