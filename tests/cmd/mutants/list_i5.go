package main

// noDriftLost are the mutants of I5. That a deletion is looked at before anything is created has none: to create an
// object that exists fails, and then it is looked at.
func noDriftLost() []mutant {
	const sink, feed, act = "pkg/controller/sink.go", "pkg/watch/feed.go", "pkg/controller/act.go"
	const unanswered = "TestI5_WhatTheAPIServerDoesNotAnswerIsAskedAgain"
	return []mutant{
		{
			promise: "I5", what: "a write gives up before slow webhooks have answered",
			edit: edit{"pkg/operator/failover.go", `	lastTimeouts   = 12`, `	lastTimeouts   = 3`},
			pkg:  operatorPkg, run: "TestTheLastAttemptIsPatient",
		},
		{
			promise: "I5", what: "a list does not have objects looked at that wait for another record",
			edit: edit{"pkg/lock/lock.go", `			if !l.waits(s) {`, `			if s != nil {`},
			pkg:  lock, run: "TestAnObjectThatWaitsIsLookedAtAgainAfterAList",
		},
		{
			promise: "I5", what: "what a new list does not show is not looked at",
			edit: edit{sink, `			return o.GVK == gvk && !present(o.ID)`,
				`			return o.GVK == gvk && !present(o.ID) && rm.Name == ""`},
			pkg: integration, run: "TestI5_DriftDuringAWatchGap/that_ends_with_a_new_list",
		},
		{
			promise: "I5", what: "a watch that was cut goes on with what exists, so that a deletion meanwhile is not " +
				"seen",
			edit: edit{"pkg/watch/objects.go", `			opts.LabelSelector = HelmSelector
			return o.client.Watch(ctx, kind.GVR, opts)`, `			opts.LabelSelector = HelmSelector
			if opts.SendInitialEvents == nil {
				opts.ResourceVersion = ""
			}
			return o.client.Watch(ctx, kind.GVR, opts)`},
			pkg: integration, run: "TestI5_DriftDuringAWatchGap/that_ends_with_a_watch",
		},
		{
			promise: "I5", what: "objects of a kind that is watched already are not looked at when they are locked",
			edit: edit{"pkg/controller/releases.go", `bool { return begun[o.GVK] })`,
				`bool { return begun[o.GVK] && l.Key == "" })`},
			pkg: integration, run: "TestI5_DriftDuringARelock",
		},
		{
			promise: "I5", what: "the first list of a kind is not told to those who lack something in it",
			edit: edit{feed, `	f.sink.listed(present)
`, ``},
			pkg: integration, run: "TestI5_DriftMadeBeforeTheLock/helm_3",
		},
		{
			promise: "I5", what: "what an object is like at the first look is taken for the form that the API server " +
				"gave it",
			edit: edit{"pkg/judge/judge.go", `	r.found(drift.Compare(r.Desired, in.Live.Object, compared))`,
				`	_ = compared
	r.found(drift.Result{})`},
			pkg: integration, run: "TestI5_DriftWhileTheOperatorIsDown",
		},
		{
			promise: "I5", what: "the loss of Helm's label is not looked at",
			edit: edit{sink, `	o := lock.Observation{Last: last, Look: look, Told: !look, Version: version(obj), Seen: rm.Clock.Now()}
`, `	o := lock.Observation{Last: last, Look: look, Told: !look, Version: version(obj), Seen: rm.Clock.Now()}
	if last.GetLabels()["app.kubernetes.io/managed-by"] == "Helm" {
		return
	}
`},
			pkg: integration, run: "TestI5_LabelRemovedAndThenTheRest",
		},
		{
			promise: "I5", what: "an object that lost Helm's label is given up because it cannot be created",
			edit: edit{act, `	case v.Told:`, `	case v.Told && v.Live != nil:`},
			pkg:  integration, run: "TestI5_LostLabelIsNotTakenForADeletion",
		},
		{
			promise: "I5", what: "a Job that lost Helm's label is taken for one that is gone",
			edit: edit{sink, `l.Detect || judge.MayHaveRun(id)`, `l.Detect`},
			pkg:  integration, run: "TestI5_LostLabelIsNotTakenForADeletion",
		},
		{
			promise: "I5", what: "in mode Detect an object that lost Helm's label is reported as deleted",
			edit: edit{sink, `l.Detect || judge.MayHaveRun(id)`, `judge.MayHaveRun(id)`},
			pkg:  integration, run: "TestI5_LostLabelIsReportedAsSuchInModeDetect",
		},
		{
			promise: "I5", what: "a watch that failed is not begun again",
			edit: edit{feed, `			f.failed(err)
		}
		delay :=`, `			f.failed(err)
		}
		if ctx != nil {
			return
		}
		delay :=`},
			pkg: integration, run: "TestI5_BurstOfFortyDrifts",
		},
		{
			promise: "I5", what: "a change of annotations alone is no news",
			edit: edit{"pkg/drift/digest.go", `		case "uid", "resourceVersion",`,
				`		case "annotations", "uid", "resourceVersion",`},
			pkg: integration, run: "TestI5_ThreeHundredDriftsInARow",
		},
		{
			promise: "I5", what: "what drifts while the same object is being reverted is forgotten",
			edit: edit{"pkg/lock/lock.go", `	s.pending = &o
	if s.inFlight {
		return false
	}`, `	if s.inFlight {
		return false
	}
	s.pending = &o`},
			pkg: lock, run: "TestDriftSeenWhileTheObjectIsInFlightIsNotLost",
		},
		{
			promise: "I5", what: "an object that could not be looked at is not looked at again",
			edit: edit{"pkg/controller/remediation.go", `lock.Outcome{Again: &again, Failed: true,`,
				`lock.Outcome{Failed: again.Look,`},
			pkg: integration, run: unanswered,
		},
		{
			promise: "I5", what: "drift is dropped when the record cannot be checked",
			edit: edit{act, `lock.Outcome{Again: &again, Failed: true, Transient: true, Problem: p})`,
				`lock.Outcome{Failed: again.Seen.IsZero(), Transient: true, Problem: p})`},
			pkg: integration, run: unanswered,
		},
		{
			promise: "I5", what: "a write that failed is not tried again",
			edit: edit{act, `lock.Outcome{Again: rm.freshLook(v), Failed: true, Transient: transient(err), Problem: p})`,
				`lock.Outcome{Failed: true, Transient: transient(err), Problem: p})`},
			pkg: integration, run: unanswered,
		},
		{
			promise: "I5", what: "a standby drops what it saw",
			edit: edit{act, `			if l.Settle(v.ID, lock.Outcome{Again: &again, Waits: true, `, `			_ = again
			if l.Settle(v.ID, lock.Outcome{`},
			pkg: integration, run: "TestLeader_StandbyIsWarmAndTakesOver",
		},
		{
			promise: "I5", what: "the HelmReleases of another shard are looked after, too",
			edit: edit{"pkg/controller/common.go", `	return c.Shard == nil || c`, `	return c.Name != "" || c`},
			pkg:  ha, run: "TestShards_EachLooksAfterItsOwn",
		},
		{
			promise: "I5", what: "shards exclude each other",
			edit: edit{"pkg/operator/shard.go", `	return shard, controllerName + "-" + hex.EncodeToString(sum[:4]), nil`,
				`	return shard, controllerName + hex.EncodeToString(sum[:0]), nil`},
			pkg: ha, run: "TestShards_EachLooksAfterItsOwn",
		},
		{
			promise: "I5", what: "a shard does not learn that another one has let go of a release",
			edit: edit{"pkg/controller/releases.go", `	if rel, ok := rs.forgetElsewhere(key); ok {`,
				`	if rel, ok := rs.forgetElsewhere(key); ok && rel.Name == "" {`},
			pkg: ha, run: "TestShards_OneReleaseIsLockedOnce",
		},
		{
			promise: "I5", what: "an object that is fought over waits for a time that is far away since the clock " +
				"was set back",
			edit: edit{"pkg/lock/budget.go", `	if b.next.Sub(now) > b.backoff {`, `	if b.backoff == 0 {`},
			pkg:  ha, run: "TestHA_ClockIsSetForwardAndBack",
		},
		{
			promise: "I5", what: "a leader that stops keeps its lease",
			edit: edit{"pkg/operator/lead.go", `ReleaseOnCancel: true,`, `ReleaseOnCancel: o.Namespace == "",`},
			pkg:  ha, run: "TestHA_ThreeReplicasStoppedOneAfterTheOther",
		},
		{
			promise: "I5", what: "the loss of Helm's label is not drift of content",
			edit: edit{"pkg/manifest/resolve.go", `	labels[ManagedByLabel] = ManagedByHelm
	live.SetLabels(labels)`, `	live.SetLabels(labels)`},
			pkg: integration, run: "TestI5_DriftMadeBeforeTheLock/helm_4",
		},
		{
			promise: "I5", what: "a request that is not answered is sent again over the same connection",
			edit: edit{"pkg/operator/failover.go", `	if f.current == t {`, `	if f.current == nil {`},
			pkg:  operatorPkg, run: "TestARequestWithoutAnAnswerIsSentAgainOverAnotherConnection|TestAnotherConnectionReallyIsAnother",
		},
		{
			promise: "I5", what: "a creation without an answer is sent again",
			edit: edit{"pkg/operator/failover.go", `http.MethodPatch, http.MethodPut:`,
				`http.MethodPatch, http.MethodPut, http.MethodPost:`},
			pkg: operatorPkg, run: "TestACreationOrDeletionIsSentOnce",
		},
		{
			promise: "I5", what: "a watch that has fallen silent is waited for",
			edit: edit{"pkg/operator/failover.go", `	a.timer.Reset(a.silence)`, `	a.timer.Stop()`},
			pkg:  operatorPkg, run: "TestAStreamThatFallsSilentEnds",
		},
		{
			promise: "I5", what: "watches last as long as client-go likes",
			edit: edit{"pkg/watch/lifetime.go", `	o.TimeoutSeconds = &seconds`, `	_ = seconds`},
			pkg:  watch, run: "TestWatchesAreLimitedAndListsAreNot",
		},
		{
			promise: "I5", what: "the delay before a broken watch is begun again only grows",
			edit: edit{feed, `	if f.delivered || lasted > longestDelay {`, `	if lasted < 0 {`},
			pkg:  watch, run: "TestTheDelayBeginsAgainWhenAWatchHasWorked",
		},
		{
			promise: "I5", what: "a request about the lease may take as long as any other",
			edit: edit{
				"pkg/operator/connect.go", `	leases.Timeout = min(leaseTimeout, renewDeadline(o.LeaseDuration)/2)`,
				``,
			},
			pkg: operatorPkg, run: "TestARequestAboutTheLeaseIsShort",
		},
		{
			promise: "I5", what: "a connection that breaks is a refusal",
			edit: edit{act, `	if disconnected(err) {`, `	if disconnected(err) && v == nil {`},
			pkg:  ha, run: "TestHA_BrokenConnectionIsNoRefusal",
		},
		{
			promise: "I5", what: "a connection that breaks ends the installation of the definition",
			edit: edit{"pkg/crd/create.go", `		case disconnected(ctx, err):`,
				`		case disconnected(ctx, err) && client == nil:`},
			pkg: integration, run: "TestInstallingTheDefinitions",
		},
		{
			promise: "I11", what: "a standby judges all pending drift of a release at every event",
			edit: edit{act, `Waits: true, `, ``},
			pkg:  ha, run: "TestHA_StandbyAsksNothingTwice",
		},
		{
			promise: "I5", what: "a standby that begins to lead does not act on what it saw",
			edit: edit{"pkg/controller/controller.go", `		l.Resume()
`, ``},
			pkg: ha, run: "TestHA_StandbyAsksNothingTwice",
		},
		{
			promise: "I11", what: "each check reads all Secrets of a namespace where lists read storage",
			edit: edit{"pkg/proof/guard.go", `	if g.fenceFirst || `, `	if `},
			pkg:  guard, run: "TestWhereListsReadStorageEveryCheckIsAFence",
		},
		{
			promise: "I11", what: "what is known of a revision is kept when its record is gone",
			edit: edit{"pkg/controller/pruning.go", `		if !exists[r.uid] {`,
				`		if !exists[r.uid] && r.keep {`},
			pkg: controller, run: "TestWhatIsKnownOfARevisionIsForgottenWithItsRecord",
		},
	}
}
