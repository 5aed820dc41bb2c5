package main

// tenantsApart are the mutants of I12: one namespace's actions do not affect other namespaces.
func tenantsApart() []mutant {
	const pkgController = "pkg/controller/"
	const pagePkg, viewerPkg, viewers = "./pkg/page", "./pkg/viewer", "pkg/viewer/viewer.go"
	const semaphore, slots, drift, owners = "pkg/fair/semaphore.go", pkgController + "slots.go",
		pkgController + "remediation.go", pkgController + "owners.go"
	return []mutant{
		breaks("I12", "what waits for an answer does so in a slot that all share", edit{drift, `	judging()
	rm.process(`, `	defer judging()
	rm.process(`}, tenancy, "TestI12_SlowWebhookHasAShareOfTheWrites|TestI12_SlowWebhooksOfManyTenants").
			and(edit{slots, `fair.Limits{All: 8, Each: 2}`, `fair.Limits{All: 8, Each: 8}`}),
		breaks("I12", "one viewer has all streams of the page",
			edit{"pkg/page/events.go", `		if streams[v.by] > streams[by]+1 &&`,
				`		if streams[v.by] > maxStreams &&`}, pagePkg,
			"TestHostile_OneViewerDoesNotTakeAllStreams"),
		breaks("I12", "one viewer has all comparisons of the page",
			edit{"pkg/page/release.go", `p.comparing.Do(waiting, by.Name(), func`, `p.comparing.Do(waiting, "", func`}, pagePkg,
			"TestHostile_OneViewerDoesNotTakeAllComparisons"),
		breaks("I12", "tokens that are not known take the share of viewers",
			edit{viewers, `	if name, known := r.known.Get(digest); known {`,
				`	if name, known := r.known.Get(digest); known && name == nil {`}, viewerPkg,
			"TestHostile_UnknownTokensLeaveViewersTheirShare"),
		breaks("I12", "one address takes the share of new viewers",
			edit{viewers, `r.strangers.Do(ctx, serving.Source(request), func`, `r.strangers.Do(ctx, "", func`}, viewerPkg,
			"TestHostile_OneAddressLeavesTheOthersTheirShare"),
		breaks("I12", "one viewer takes all questions to the API server",
			edit{viewers, `	err = r.viewers.Do(ctx, user.Name(), func`, `	err = r.viewers.Do(ctx, string(encoded), func`}, viewerPkg, "TestHostile_OneViewerLeavesTheOthersTheirShare"),
		breaks("I12", "tokens that are not known are asked about as fast as they come",
			edit{viewers, `		if err := r.pace.Wait(ctx); err != nil {`, `		if err := ctx.Err(); err != nil {`}, viewerPkg,
			"TestHostile_UnknownTokensAreAskedAboutAtAPace"),
		breaks("I12", "a client has all the work that a server does at a time",
			edit{"pkg/serving/shares.go", `turns: semaphore.NewWeighted(int64(s.each))`,
				`turns: semaphore.NewWeighted(int64(s.most))`}, "./pkg/serving",
			"TestHostile_OneClientLeavesTheOthersTheirShare"),
		breaks("I12", "connections of one address displace those of others",
			edit{"pkg/serving/room.go", `; n > most {`, `; n > 0 && most == 0 {`}, "./pkg/serving",
			"TestHostile_OneAddressDoesNotDisplaceConnectionsOfOthers"),
		breaks("I12", "one namespace may have all the writes under way",
			edit{slots, `fair.Limits{All: 36, Each: 12, Slow`, `fair.Limits{All: 36, Each: 36, Slow`}, tenancy,
			"TestI12_SlowWebhookHasAShareOfTheWrites"),
		breaks("I12", "slow writes count for all",
			edit{slots, `fair.Limits{All: 36, Each: 12, Slow: slowRequest}`, `fair.Limits{All: 36, Each: 12}`}, tenancy,
			"TestI12_SlowWebhooksOfManyTenants"),
		breaks("I12", "another release's record is read for each object that says it belongs to it",
			edit{pkgController + "declared.go", `	case k.reading: // if it is another record, who waits asks again when that is read
		return nil, false, nil`, `	case k.reading:
		return nil, true, nil`}, tenancy, "TestI12_RecordOfAnotherTenantIsWaitedForByThoseItIsAbout"),
		breaks("I12", "a manifest that does not parse is parsed at each event of its HelmRelease",
			edit{pkgController + "releases.go", `	if rs.refusedBefore(key, rec) {`,
				`	if rs.refusedBefore(key, rec) && rec.Revision < 0 {`}, integration,
			"TestI12_ManifestThatDoesNotParseIsReadOnce"),
		breaks("I12", "a comparison on the page keeps all large objects in memory",
			edit{"pkg/inspect/compare.go", `(isLarge(d.Want) || isLarge(d.Have))`, `isLarge(nil)`}, "./pkg/inspect",
			"TestABoundedComparisonKeepsNoLargeObject"),
		breaks("I12", "a tenant with much to do goes before the others",
			edit{semaphore, `			s.rotation = append(s.rotation, t)
		}
		s.queued--`, `			s.rotation = slices.Insert(s.rotation, i, t)
		}
		s.queued--`}, "./pkg/fair", "TestSemaphore_TenantsTakeTurns"),
		breaks("I12", "a tenant has as many slots as it likes",
			edit{semaphore, `		if t.held >= s.Each {`, `		if t.held > s.All {`}, "./pkg/fair",
			"TestSemaphore_OneTenantNeverHasAll"),
		breaks("I12", "drift in one namespace uses up the events of all",
			edit{pkgController + "reporter.go", `rep.eventBudget.Allow(l.Release.Namespace, `, `rep.eventBudget.Allow("", `},
			controller, "TestEventsOfNamespacesAreApart"),
		breaks("I12", "a namespace may do something as often as it likes",
			edit{"pkg/fair/rate.go", `	r.used[name] = usage{left + 1, now}`, `	r.used[name] = usage{left, now}`}, "./pkg/fair",
			"TestRate_EachTenantHasItsOwn"),
		breaks("I12", "notifications about one namespace push out those of others",
			edit{"pkg/notify/queue.go", `q.shift(q.longest())`, `q.shift(0)`}, "./pkg/notify", "TestNamespacesTakeTurns"),
		breaks("I12", "notifications about one namespace delay those of others",
			edit{"pkg/notify/queue.go", `append(q.turns[1:], q.turns[0])`, `append(q.turns[:1], q.turns[1:]...)`},
			"./pkg/notify", "TestNamespacesTakeTurns"),
		breaks("I12", "events of one namespace push out those of others",
			edit{"pkg/stream/stream.go", `	oldest := slices.IndexFunc(`, `	most = s.events[0].namespace
	oldest := slices.IndexFunc(`}, "./pkg/stream",
			"TestHostile_AFloodOfOneNamespaceLeavesTheEventsOfOthers"),
		breaks("I12", "readers of one user take all places",
			edit{"pkg/stream/stream.go", `NewShares(readersAtOnce, readerAtOnce, readerAtOnce)`,
				`NewShares(readersAtOnce, readersAtOnce, readersAtOnce)`}, "./pkg/stream",
			"TestHostile_ReadersOfOneUserLeaveRoomForOthers"),
		breaks("I12", "a reader without the right any more reads on",
			edit{"pkg/stream/serve.go", `refused := s.admit(r); refused != nil {
				return errBroken`, `refused := s.admit(r); refused != nil {
				continue`}, "./pkg/stream", "TestHostile_ARightThatIsTakenAwayEndsTheStream"),
		breaks("I12", "a token of a reader travels in the clear",
			edit{"pkg/stream/serve.go", `!serving.Encrypted(r)`, `!serving.Encrypted(r) && r == nil`}, "./pkg/stream",
			"TestHostile_TheStreamIsReadByTokensOverTLS"),
		breaks("I12", "a reader does not learn that it missed events",
			edit{"pkg/stream/serve.go", `			if missing > 0 {`, `			if missing < 0 {`}, "./pkg/stream",
			"TestAGapIsReported"),
		breaks("I12", "a reader does not learn that it may have missed the end of a leader",
			edit{"pkg/stream/stream.go", `after.Transition+1 == s.at.Transition && after.End`,
				`after.Transition < s.at.Transition`}, "./pkg/stream", "TestAGapBetweenLeadersIsReported"),
		breaks("I12", "the records of a namespace may be read without end",
			edit{pkgController + "budget.go", `	if left < burst {`, `	if left >= 0 {`}, controller, "TestBudget"),
		breaks("I12", "the record of one release may be read without end",
			edit{pkgController + "budget.go", `max(b.waitOf(key, releaseBurst, now), b`, `max(0, b`}, controller,
			"TestBudget"),
		breaks("I12", "what comparing takes counts for nothing", edit{pkgController + "remediation.go",
			`		rm.budget.spend(l.Release, now, now.Sub(begun))`, `		_, _ = now, begun`}, controller,
			"TestComparingIsCharged"),
		breaks("I12", "what one namespace makes the operator remember is not bounded",
			edit{pkgController + "declared.go", `size <= declaredBytes ||`, `size > 0 ||`}, controller,
			"TestDeclarationsOfANamespaceAreBounded"),
		breaks("I12", "watches wait at the start for records that are never read",
			edit{pkgController + "startbarrier.go", `		rs.start.end()`, `		rs.start.done("")`}, controller,
			"TestTheStartBarrierEnds"),
		breaks("I2", "a conflict stays when the record changes that it depends on",
			edit{owners, `return named == key || ow.declared.mayBeOf(key, named)`,
				`return named != key && ow.declared.mayBeOf(key, named)`}, integration,
			"TestI2_ConflictEndsWithWhatItDependedOn"),
		breaks("I2", "objects that wait for a record are not judged when it is read, nor when it changes",
			edit{owners, `	for l, ids := range ow.claims.take(name, match) {`,
				`	for l, ids := range ow.claims.take(name+"/", match) {`}, integration,
			"TestI2_RecordChangesWhileItIsReadForAConflict"),
		breaks("I5", "what an older HelmRelease declares no more is locked by nobody",
			edit{"pkg/controller/locking.go", `	rs.retryConflicts(key)
	rs.watchAll(`, `	rs.watchAll(`}, integration, "TestI5_ObjectThatAnotherHelmReleaseDeclaresNoMore"),
		breaks("I5", "dry runs at a relock are made one after the other",
			edit{drift, `			rm.reverter.act(ctx, l, []*result{v})
		})`, `			rm.reverter.act(ctx, l, []*result{v})
		})
		running.Wait()`}, integration, "TestI5_RelockRevertsEachObjectAsSoonAsItIsJudged"),
	}
}
