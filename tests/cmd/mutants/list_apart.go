package main

// tenantsApart are the mutants of I12: what one namespace does is at nobody else's cost.
func tenantsApart() []mutant {
	const pkgController = "pkg/controller/"
	const semaphore, slots, drift, owners = pkgController + "semaphore.go", pkgController + "slots.go", pkgController +
		"remediation.go", pkgController + "owners.go"
	return []mutant{
		{
			promise: "I12", what: "what waits for an answer does so in a slot that all share",
			edit: edit{drift, `	judging()
	rm.process(`, `	defer judging()
	rm.process(`},
			also: []edit{{slots, `limits{all: 8, each: 2}`, `limits{all: 8, each: 8}`}},
			pkg:  tenancy, run: "TestI12_MalformedRecordsHoldNobodyUp|TestI12_UnreachableWebhooksHoldNobodyUp",
		},
		{
			promise: "I12", what: "one namespace may have all the writes under way",
			edit: edit{slots, `limits{all: 36, each: 12, slow`, `limits{all: 36, each: 36, slow`},
			pkg:  tenancy, run: "TestI12_SlowWebhookHasAShareOfTheWrites",
		},
		{
			promise: "I12", what: "slow writes count for all",
			edit: edit{slots, `limits{all: 36, each: 12, slow: slowRequest}`, `limits{all: 36, each: 12}`},
			pkg:  tenancy, run: "TestI12_SlowWebhooksOfManyTenants",
		},
		{
			promise: "I12", what: "another release's record is read for each object that says it belongs to it",
			edit: edit{pkgController + "declared.go", `	case k.reading: // if it is another record, who waits asks again when that is read
		return nil, false, nil`, `	case k.reading:
		return nil, true, nil`},
			pkg: tenancy, run: "TestI12_RecordOfAnotherTenantIsWaitedForByThoseItIsAbout",
		},
		{
			promise: "I12", what: "a manifest that does not parse is parsed at each event of its HelmRelease",
			edit: edit{pkgController + "releases.go", `	if rs.refusedBefore(key, rec) {`,
				`	if rs.refusedBefore(key, rec) && rec.Revision < 0 {`},
			pkg: integration, run: "TestI12_ManifestThatDoesNotParseIsReadOnce",
		},
		{
			promise: "I12", what: "a comparison on the page keeps all large objects in memory",
			edit: edit{"pkg/inspect/compare.go", `(isLarge(d.Want) || isLarge(d.Have))`, `isLarge(nil)`},
			pkg:  "./pkg/inspect", run: "TestABoundedComparisonKeepsNoLargeObject",
		},
		{
			promise: "I12", what: "a tenant with much to do goes before the others",
			edit: edit{semaphore, `			s.rotation = append(s.rotation, t)
		}
		s.queued--`, `			s.rotation = slices.Insert(s.rotation, i, t)
		}
		s.queued--`},
			pkg: controller, run: "TestSemaphore_TenantsTakeTurns",
		},
		{
			promise: "I12", what: "a tenant has as many slots as it likes",
			edit: edit{semaphore, `		if t.held >= s.each {`, `		if t.held > s.all {`},
			pkg:  controller, run: "TestSemaphore_OneTenantNeverHasAll",
		},
		{
			promise: "I12", what: "the records of a namespace may be read without end",
			edit: edit{pkgController + "budget.go", `	if left < readingBurst {`, `	if left >= 0 {`},
			pkg:  controller, run: "TestReadingBudget",
		},
		{
			promise: "I12", what: "what one namespace makes the operator remember is not bounded",
			edit: edit{pkgController + "declared.go", `size <= declaredBytes ||`, `size > 0 ||`},
			pkg:  controller, run: "TestDeclarationsOfANamespaceAreBounded",
		},
		{
			promise: "I12", what: "watches wait at the start for records that are never read",
			edit: edit{pkgController + "startbarrier.go", `		rs.start.end()`, `		rs.start.done("")`},
			pkg:  controller, run: "TestTheStartBarrierEnds",
		},
		{
			promise: "I12", what: "what cannot be told is not asked again when the records change",
			edit: edit{pkgController + "insist.go", `pr.changes.next(l.Release)`, `pr.changes.next(release.Key{})`},
			pkg:  controller, run: "TestInsist",
		},
		{
			promise: "I2", what: "a conflict stays when the record changes that it depends on",
			edit: edit{owners, `	rm.wake(key)
	if !`, `	if !`},
			pkg: integration, run: "TestI2_ConflictEndsWithWhatItDependedOn",
		},
		{
			promise: "I2", what: "objects that wait for a record are not judged when it is read, nor when it changes",
			edit: edit{owners, `func (rm *remediation) wake(other release.Key) {
	for l, ids := range rm.claims.take(other) {`, `func (rm *remediation) wake(other release.Key) {
	for l, ids := range rm.claims.take(release.Key{Name: other.Name}) {`},
			pkg: integration, run: "TestI2_RecordChangesWhileItIsReadForAConflict",
		},
		{
			promise: "I5", what: "what an older HelmRelease declares no more is locked by nobody",
			edit: edit{pkgController + "releases.go", `	rs.retryConflicts(key)
	rs.watchAll(`, `	rs.watchAll(`},
			pkg: integration, run: "TestI5_ObjectThatAnotherHelmReleaseDeclaresNoMore",
		},
		{
			promise: "I5", what: "dry runs at a relock are made one after the other",
			edit: edit{drift, `			rm.act(ctx, l, []*result{v})
		})`, `			rm.act(ctx, l, []*result{v})
		})
		running.Wait()`},
			pkg: integration, run: "TestI5_RelockRevertsEachObjectAsSoonAsItIsJudged",
		},
	}
}
