package main

// noDriftLost are the mutants of I5. There is none for the read of a deleted object before its creation: creating an
// existing object fails, and then it is read.
func noDriftLost() []mutant {
	const sink, feed, act = "pkg/controller/sink.go", "pkg/watch/feed.go", "pkg/controller/act.go"
	const refusal = "pkg/controller/refusal.go"
	const unanswered = "TestI5_WhatTheAPIServerDoesNotAnswerIsAskedAgain"
	return []mutant{
		breaks("I5", "a running Job with a time to live is not created again",
			edit{"pkg/judge/jobs.go", `set && time.Duration(seconds)*time.Second <= within`, `set && seconds >= 0`}, integration,
			"TestHostile_ADeletedJobWithATimeToLiveRuns"),
		breaks("I5", "a Job runs again that may have been deleted by its time to live",
			edit{"pkg/judge/jobs.go", `	case expires(in.Desired, in.GoneFor):`, `	case in.GoneFor < 0:`}, judgePkg, "TestJudge"),
		breaks("I5", "a time to live that another user gave to a running Job holds it back",
			edit{"pkg/judge/jobs.go", `	case expires(in.Desired, in.GoneFor):`,
				`	case expires(in.Desired, in.GoneFor), expires(in.Last.Object, in.GoneFor):`}, integration,
			"TestHostile_ATimeToLiveThatWasAddedHoldsNoJobBack"),
		breaks("I5", "a list does not have objects looked at that wait for another record",
			edit{"pkg/lock/lock.go", `			if !l.waits(s) {`, `			if s != nil {`}, lock,
			"TestAnObjectThatWaitsIsLookedAtAgainAfterAList"),
		breaks("I5", "what a new list does not show is not looked at",
			edit{sink, `			return o.GVK == gvk && !present(o.ID)`,
				`			return o.GVK == gvk && !present(o.ID) && ob.Name == ""`}, integration,
			"TestI5_DriftDuringAWatchGap/that_ends_with_a_new_list"),
		breaks("I5", "a watch that was cut goes on with what exists, so that a deletion meanwhile is not seen",
			edit{"pkg/watch/objects.go", `			opts.LabelSelector = HelmSelector
			return o.client.Watch(ctx, kind.GVR, opts)`, `			opts.LabelSelector = HelmSelector
			if opts.SendInitialEvents == nil {
				opts.ResourceVersion = ""
			}
			return o.client.Watch(ctx, kind.GVR, opts)`}, integration,
			"TestI5_DriftDuringAWatchGap/that_ends_with_a_watch"),
		breaks("I5", "objects of a kind that is watched already are not looked at when they are locked",
			edit{"pkg/controller/locking.go", `bool { return begun[o.GVK] })`,
				`bool { return begun[o.GVK] && l.Key == "" })`}, integration, "TestI5_DriftDuringARelock"),
		breaks("I5", "the first list of a kind is not told to those who lack something in it",
			edit{feed, `	f.sink.listed(present)
`, ``}, integration, "TestI5_DriftMadeBeforeTheLock/helm_3"),
		breaks("I5", "what an object is like at the first look is taken for the form that the API server gave it",
			edit{"pkg/judge/settled.go", `	r.found(drift.Compare(r.Desired, live, r.Options))`,
				`	r.found(drift.Result{})`}, judgePkg, "TestSettle"),
		breaks("I5", "the loss of Helm's label is not looked at",
			edit{sink, `	o := lock.Observation{Last: last, NeedsGet: look, ReportedGone: !look, Version: version(obj), Seen: ob.Clock.Now()}
`, `	o := lock.Observation{Last: last, NeedsGet: look, ReportedGone: !look, Version: version(obj), Seen: ob.Clock.Now()}
	if last.GetLabels()["app.kubernetes.io/managed-by"] == "Helm" {
		return
	}
`}, integration, "TestI5_LabelRemovedAndThenTheRest"),
		breaks("I5", "an object that lost Helm's label is given up because it cannot be created",
			edit{act, `	case v.ReportedGone:`, `	case v.ReportedGone && v.Live != nil:`}, integration,
			"TestI5_LostLabelIsNotTakenForADeletion"),
		breaks("I5", "a Job that lost Helm's label is taken for one that is gone",
			edit{sink, `judge.MayStayAway(id, locked.Rules)`, `!judge.MayStayAway(id, nil)`}, integration,
			"TestI5_LostLabelIsNotTakenForADeletion"),
		breaks("I5", "a change in an injected container is not found by its owner",
			edit{"pkg/drift/injected.go", `	return !at.itself
`, `	return at.itself
`}, "./pkg/drift", "TestInjectedElements"),
		breaks("I5", "the content of an injected container is not learnt",
			edit{"pkg/drift/injected.go", `if _, known := f.c.accepted[key]; !known && !f.isTouched() {`,
				`if !f.isTouched() {`}, "./pkg/drift", "TestInjectedElements"),
		breaks("I5", "an element of a list with two declared ones of one key is taken for an injected one",
			edit{"pkg/drift/injected.go", `if f.c.kindOf(p.want, n) == keyedList && f.changed(`, `if f.changed(`},
			"./pkg/drift", "TestNothingIsInjectedIntoAListOfDuplicates"),
		breaks("I6", "an injected container goes though no webhook injects it again",
			edit{"pkg/judge/settled.go", `return u.accepting(u.form().Injected(), learnt, u.r.Options.Accepted.WithoutInjected())`,
				`return u.accepting(learnt, u.r.Options.Accepted.WithoutInjected())`}, "./tests/fidelity",
			"TestI6_StrictLeavesInjectedElementsWithoutTheirWebhook"),
		breaks("I5", "a Pod that its deletion ended is taken for one that has run",
			edit{"pkg/judge/jobs.go", `!ended.Before(requested)`, `ended.Before(requested)`}, "./pkg/judge", "TestJudge"),
		breaks("I5", "a Pod that runs once and has ended runs again",
			edit{"pkg/judge/jobs.go", `	case podKind:
		policy`, `	case podKind:
		content = nil
		policy`}, integration, "TestKinds_EndedPodDoesNotRunAgain"),
		breaks("I8", "an object whose deletion is left alone is created again",
			edit{"pkg/judge/jobs.go", `	case in.Rules.Deletion():`, `	case in.Rules.Whole():`}, integration,
			"TestIgnore_DeletionIsLeftAlone"),
		breaks("I5", "in mode Detect an object that lost Helm's label is reported as deleted",
			edit{sink, `l.Detect || locked.Object != nil`, `locked.Object != nil`}, integration,
			"TestI5_LostLabelIsReportedAsSuchInModeDetect"),
		breaks("I5", "a watch that failed is not begun again", edit{feed, `		f.attempt(ctx)
`, `		f.attempt(ctx)
		if ctx != nil {
			return
		}
`}, integration, "TestI5_BurstOfFortyDrifts"),
		breaks("I5", "a change of annotations alone is no news",
			edit{"pkg/drift/digest.go", `		case "uid", "resourceVersion",`,
				`		case "annotations", "uid", "resourceVersion",`}, "./pkg/drift", "TestDigestSeesEveryTampering"),
		breaks("I5", "what drifts while the same object is being reverted is forgotten",
			edit{"pkg/lock/lock.go", `	s.pending = &o
	if s.inFlight {
		return false
	}`, `	if s.inFlight {
		return false
	}
	s.pending = &o`}, lock, "TestDriftSeenWhileTheObjectIsInFlightIsNotLost"),
		breaks("I5", "an object that could not be looked at is not looked at again",
			edit{"pkg/controller/read.go", `lock.Outcome{Again: &again, Failed: true,`,
				`lock.Outcome{Failed: again.NeedsGet,`}, integration, "TestI5_LostLabelIsNotTakenForADeletion"),
		breaks("I5", "drift is dropped when the record cannot be checked",
			edit{act, `lock.Outcome{Again: &again, Failed: true, Transient: true, Problem: p})`,
				`lock.Outcome{Failed: again.Seen.IsZero(), Transient: true, Problem: p})`}, integration, unanswered),
		breaks("I5", "a write that failed is not tried again",
			edit{act, `lock.Outcome{Again: v.readAgain(), Failed: true, Transient: transient(err), Problem: p,`,
				`lock.Outcome{Failed: true, Transient: transient(err), Problem: p,`}, integration, unanswered),
		breaks("I5", "a standby drops what it saw",
			edit{act, `			if l.Done(v.ID, lock.Outcome{Again: &again, Waits: true, `, `			_ = again
			if l.Done(v.ID, lock.Outcome{`}, integration, "TestLeader_StandbyIsWarmAndTakesOver"),
		breaks("I5", "the HelmReleases of another shard are looked after, too",
			edit{"pkg/controller/common.go", `	return c.Shard == nil || c`, `	return c.Name != "" || c`}, ha,
			"TestShards_EachLooksAfterItsOwn"),
		breaks("I5", "shards exclude each other",
			edit{"pkg/lease/lease.go", `	return controller + "-" + hex.EncodeToString(sum[:4])`,
				`	return controller + hex.EncodeToString(sum[:0])`}, ha,
			"TestShards_EachLooksAfterItsOwn"),
		breaks("I5", "a shard does not learn that another one has let go of a release",
			edit{"pkg/controller/releases.go", `	for _, behind := range rs.claimer.takeBehind(key) {`,
				`	for _, behind := range rs.claimer.takeBehind(key)[:0] {`}, ha,
			"TestShards_OneReleaseIsLockedOnce"),
		breaks("I5", "a manifest that did not parse for want of an answer is not read again",
			edit{"pkg/controller/releases.go", `{ e.refused = refused }`, `{
			if err == nil {
				e.refused = rec
			}
			_ = refused
		}`},
			integration, "TestI5_AReleaseIsLockedAgainAfterAFailureOfDiscovery"),
		breaks("I5", "nobody learns that the records are gone that kept a release from being locked",
			edit{"pkg/controller/records.go", `			e.names = rel.Key`, `			_ = e.names`}, integration,
			"TestStoredElsewhere_CountsOnceTheOtherRecordIsGone"),
		breaks("I5", "a status is about a spec that is not followed yet",
			edit{"pkg/status/status.go", `ObservedGeneration: v.Generation`, `ObservedGeneration: hr.Generation`}, integration,
			"TestStatus_IsOfTheSpecThatIsFollowed"),
		breaks("I5", "who has left a release to another HelmRelease does not learn that it has gone before it was handled",
			edit{"pkg/controller/releases.go", `		rs.claimer.giveWay(key, keyOf(first))`, `		_ = keyOf(first)`}, integration,
			"TestI5_TheFirstHelmReleaseGoesBeforeItIsHandled"),
		breaks("I5", "an object that is fought over waits for a time that is far away since the clock was set back",
			edit{"pkg/lock/budget.go", `	if b.next.Sub(now) > b.wait {`, `	if b.wait < 0 {`}, ha,
			"TestHA_ClockIsSetForwardAndBack"),
		breaks("I5", "a leader that stops keeps its lease",
			edit{"pkg/process/lead.go", `ReleaseOnCancel: true,`, `ReleaseOnCancel: e.Namespace == "",`}, ha,
			"TestHA_ThreeReplicasStoppedOneAfterTheOther"),
		breaks("I5", "a restarted container waits for the lease of its killed predecessor",
			edit{"pkg/process/lead.go", `	if e.PodUID != "" {`, `	if e.Lead == nil {`}, ha,
			"TestHA_AKilledContainerIsFollowedAtOnce"),
		breaks("I12", "a container releases the lease of another Pod",
			edit{"pkg/process/lead.go", `!strings.HasPrefix(held.HolderIdentity, pod)`, `!strings.Contains(held.HolderIdentity, "_")`}, ha,
			"TestHA_AKilledContainerIsFollowedAtOnce"),
		breaks("I5", "the loss of Helm's label is not drift of content",
			edit{"pkg/manifest/resolve.go", `labels.Set{ManagedByLabel: ManagedByHelm}`, `nil`}, integration,
			"TestI5_DriftMadeBeforeTheLock/helm_4"),
		breaks("I5", "watches last as long as client-go likes",
			edit{"pkg/watch/lifetime.go", `	o.TimeoutSeconds = &seconds`, `	_ = seconds`}, watch,
			"TestWatchesAreLimitedAndListsAreNot"),
		breaks("I5", "a watch of an API server that hangs never ends",
			edit{"pkg/watch/lifetime.go", `context.WithTimeout(ctx, deadline)`, `context.WithCancel(ctx)`}, watch,
			"TestAWatchOfAnAPIServerThatHangsEnds"),
		breaks("I5", "the delay before a broken watch is begun again only grows",
			edit{feed, `	if f.delivered || lasted > longestDelay {`, `	if lasted < 0 {`}, watch,
			"TestTheDelayBeginsAgainWhenAWatchHasWorked"),
		breaks("I5", "a request about the lease may take as long as any other", edit{
			"pkg/process/connect.go", `	config.Timeout = min(leaseTimeout, renewDeadline(duration)/2)`,
			``,
		}, processPkg, "TestARequestAboutTheLeaseIsShort"),
		breaks("I5", "a connection that breaks is a refusal",
			edit{act, `	if disconnected(err) {`, `	if disconnected(err) && v == nil {`}, ha,
			"TestHA_BrokenConnectionIsNoRefusal"),
		breaks("I5", "a connection that breaks ends the installation of the definition",
			edit{"pkg/crd/create.go", `		case disconnected(ctx, err):`,
				`		case disconnected(ctx, err) && client == nil:`}, integration, "TestInstallingTheDefinitions"),
		breaks("I11", "a standby judges all pending drift of a release at every event", edit{act, `Waits: true, `, ``},
			ha, "TestHA_StandbyAsksNothingTwice"),
		breaks("I5", "a standby that begins to lead does not act on what it saw",
			edit{"pkg/controller/controller.go", `		l.Resume()
`, ``}, ha, "TestHA_StandbyAsksNothingTwice"),
		breaks("I11", "each check reads all Secrets of a namespace where lists read storage",
			edit{"pkg/proof/verifier.go", `	if v.fenceFirst || `, `	if `}, guard,
			"TestWhereListsReadStorageEveryCheckIsAFence"),
		breaks("I11", "what is known of a revision is kept when its record is gone",
			edit{"pkg/controller/candidates.go", `		if !exists[r.uid] {`,
				`		if !exists[r.uid] && r.keep {`}, controller,
			"TestWhatIsKnownOfARevisionIsForgottenWithItsRecord"),
		breaks("I5", "an addition that forbids a declared value stays",
			edit{refusal, `	case len(additions) > 0:`, `	case len(additions) > 100:`}, fidelity,
			"TestI5_AnAdditionThatForbidsTheDeclaredValueGoes/helm_3"),
		breaks("I5", "a refused field withholds all others",
			edit{refusal, `	case len(refused) > 0 && len(refused) < len(v.Found.Changes):`, `	case len(refused) > 100:`}, fidelity,
			"TestI5_ARefusedFieldWithholdsNoOther/helm_3"),
		breaks("I5", "later drift of an object with a refused field waits for the next attempt at that",
			edit{"pkg/lock/lock.go", `s.refusal() != nil && (o.Live == nil || !s.refused(o.Digest))`, `s == nil`}, lock,
			"TestNewContentIsNotHeldUpByARefusal"),
		breaks("I6", "more is taken out than forbids the declared value",
			edit{"pkg/salvage/salvage.go", `		return minimal.Subset(set, works)`,
				`		return minimal.Subset(set, func([]T) (bool, error) { return false, nil })`}, "./pkg/salvage",
			"TestTrialsFindFewAdditions"),
	}
}
