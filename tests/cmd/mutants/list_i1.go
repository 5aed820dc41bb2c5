package main

// neverRevertHelm are the mutants of I1: the parts of the order proof, one by one. Each is found by the test that
// forces its decisive interleaving. Upgrades at random only find mutants that break two safeguards at once.
func neverRevertHelm() []mutant {
	const proof, write, confirm, amend, takeBack = "pkg/proof/verifier.go", "pkg/enforce/write.go",
		"pkg/controller/confirm.go", "pkg/controller/amend.go", "pkg/controller/takeback.go"
	return []mutant{
		breaks("I1", "the record is not read before a write",
			edit{proof, `	return now.Same(rec), nil`, `	return now.Key == rec.Key, nil`}, order,
			"TestI1_CheckBeforeWrite/helm_4"),
		breaks("I1", "the record is not read before a write once reads follow each other quickly",
			edit{proof, `	now, found, err := v.Current(ctx, rec)`, `	if v.fence != nil && v.prefersFence() {
		return true, nil
	}
	now, found, err := v.Current(ctx, rec)`}, order, "TestI1_ChecksInQuickSuccession"),
		breaks("I1", "a fence counts as soon as it is written, whether or not the watch has come as far",
			edit{"pkg/proof/fence.go", `	case <-seen:`, `	case <-time.After(0):
		_ = seen
		write.Wait()`}, order, "TestI1_UpgradeBehindAHeldWatchOfRecords/marks_are_written"),
		breaks("I1", "the record is not read where fences are refused",
			edit{proof, `	if v.prefersFence() && v.fence.pass(ctx) == nil {`,
				`	if v.prefersFence() && v.fence.pass(ctx) != ctx.Err() {`}, order,
			"TestI1_UpgradeBehindAHeldWatchOfRecords/marks_are_refused"),
		breaks("I1", "an operator that may not write fences tries each time, and waits for it",
			edit{"pkg/proof/fence.go", `	f.notBefore = time.Now().Add(fenceCooldown)`, ``}, order,
			"TestI1_MarkThatIsRefused"),
		breaks("I1", "a fence in a list counts before what is not in the list is forgotten",
			edit{"pkg/watch/fences.go", `	case f.listing:`, `	case f.listing && f.waiting == nil:`}, watch,
			"TestAFenceInAListIsSeenWhenTheListHasEnded"),
		breaks("I1", "a fence in a list that ended half-way counts at the end of the next one",
			edit{"pkg/watch/fences.go", `	f.listing, f.listed = true, false`, `	f.listing = true`}, watch,
			"TestAFenceInAListThatNeverEndedIsNotSeen|TestAnAttemptToListBeginsWithNothing"),
		breaks("I1", "a record that is made a fence is still known",
			edit{"pkg/watch/releases.go", `	touched := r.forget(at)`, `	if isFence(m) {
		return nil
	}
	touched := r.forget(at)`}, watch, "TestARecordThatIsMadeAFenceIsForgotten"),
		breaks("I1", "a release stays locked while Helm upgrades it, and the record is not read before a write",
			edit{proof, `	return now.Same(rec), nil`, `	return now.Key == rec.Key, nil`}, order,
			"TestI1_UpgradesUnderLock/without_drift").
			and(edit{"pkg/controller/releases.go", `	if !d.Lock {`,
				`	if !d.Lock && d.State != v1alpha1.StateTransitioning {`}),
		breaks("I1", "a patch goes out without the observed resourceVersion",
			edit{write, `	setPath(p.Merge, version, "metadata", "resourceVersion")`, ``}, order,
			"TestI1_ResourceVersionPrecondition/helm_3"),
		breaks("I1", "a server-side apply goes out without the observed resourceVersion",
			edit{write, `	setPath(desired, r.Live.GetResourceVersion(), "metadata", "resourceVersion")
	// An`, `	// An`}, order, "TestI1_ResourceVersionPrecondition/helm_4"),
		breaks("I1", "a server-side apply goes out without the observed uid, and creates what Helm has deleted",
			edit{write, `	setPath(desired, string(r.Live.GetUID()), "metadata", "uid")`, ``}, order,
			"TestI1_WriteAfterHelmDeleted/uninstall/helm_4"),
		breaks("I1", "the record is not read again after a leftover was deleted",
			edit{"pkg/controller/pruning.go", `	if lost := unanswered(err); err == nil || lost {`,
				`	if lost := unanswered(err); lost {`}, integration, "TestI1_LeftoverThatHelmTakesBackMeanwhile"),
		breaks("I1", "a replacement stays although Helm uninstalls",
			edit{"pkg/controller/replace.go", `	w, made, err := rv.writer.write(ctx, l, v, true,`,
				`	w, made, err := rv.writer.write(ctx, l, v, false,`}, integration,
			"TestI1_ReplacementWhileHelmBegins/uninstalling"),
		breaks("I1", "a replacement that fails after its deletion is forgotten",
			edit{"pkg/controller/replace.go", `	if made == nil && !w.Lost {`,
				`	if made == nil && w.Lost {`}, integration,
			"TestI1_ReplacementThatFailsWhileHelmUpgrades"),
		breaks("I1", "another release counts only when it is deployed",
			edit{"pkg/release/record.go", `found && rec.Status != StatusUninstalled`,
				`found && rec.Status == StatusDeployed`}, integration,
			"TestI1_AnotherReleaseTakesOwnership/helm_3"),
		breaks("I1", "the record is not read again after a creation",
			edit{"pkg/enforce/enforcer.go", `		err = w.takeBack(ctx, o, created)`, `		_ = w`}, order,
			"TestI1_SecondCheckAfterCreate/uninstall/helm_3"),
		breaks("I1", "the second check is given up when the API server does not answer",
			edit{confirm, `	if err == nil {
		pr.queues.confirm.Forget(key)`, `	if err == nil || ctx.Err() == nil {
		pr.queues.confirm.Forget(key)`}, order, "TestI1_SecondCheckIsRepeatedUntilAnswered/helm_3"),
		breaks("I1", "what was created is taken back for any newer record",
			edit{amend, `	case w.Created && known:
		pr.unproven.Drop(w)
		return nil`, `	case w.Created && known:
		return pr.takeBack(ctx, w, r)`}, order,
			"TestI1_RecreatedObjectThatAnUpgradeCountsOn/before_the_second_check/helm_3"),
		breaks("I1", "a creation is taken back when the newest record cannot be read",
			edit{amend, `		if prob.Reason != "" {
			return nil, false, fmt.Errorf("%w: %s", errNotReadable, prob.Message)
		}`, `		if prob.Reason != "" {
			return nil, false, nil
		}`}, order, "TestI1_CreationBeforeARecordThatCannotBeRead"),
		breaks("I1", "a claim that was created again is taken back",
			edit{takeBack, `	case judge.HoldsData(w.Object.ID.GroupKind()):`,
				`	case judge.HoldsData(w.Object.ID.GroupKind()) && lost:`}, order,
			"TestI1_WhatHoldsDataIsNeverTakenBack"),
		breaks("I1", "a write is put right although a later one has its place",
			edit{"pkg/lock/writes.go", `	if !s.has(earlier) {`, `	if !s.has(earlier) && next == nil {`}, lock,
			"TestOneWriteFollowsAnother"),
		breaks("I1", "a revert is only proven when the record changes",
			edit{"pkg/controller/write.go", `	wr.queues.confirm.Add(l.Release)
	wr.debug`, `	wr.confirmLater(l.Release)
	wr.debug`}, order, "TestI1_EveryRevertIsProvenAtOnce/locked|TestHostile_UpgradeToADriftThatWasReverted/mode_Detect"),
		breaks("I1", "a hook that fails before Helm comes to the objects counts as an upgrade of them",
			edit{"pkg/release/stream.go", `	rel.BeforeObjects, rel.Hooks = r.first.stand(rel.Status), r.first.names`, ``}, order,
			"TestHostile_UpgradeThatFailsBeforeItsObjectsAroundAWrite/revert/changed|"+
				"TestHostile_UpgradeThatFailsBeforeItsObjectsAroundAWrite/creation/changed"),
		breaks("I1", "the operator writes for Helm while a hook runs that may fail",
			edit{amend, `	case pending && (before || w.Version`, `	case pending && (w.Version`}, order,
			"TestI1_LateRevertWhileAHookRuns/Succeeded"),
		breaks("I1", "what waits for the end of Helm's work is not looked at when a record changes",
			edit{"pkg/controller/controller.go", `	c.confirmLater(key)`, ``}, order,
			"TestI1_CreationBeforeARecordThatCannotBeRead|TestI1_LateRevertWhileAHookRuns/Succeeded"),
		breaks("I1", "what may not be taken back is forgotten",
			edit{takeBack, `		w.RefusedAt, w.RefusedUnder = pr.Clock.Now(), r.record
		pr.unproven.Again(w)`, ``}, order, "TestI1_TakeBackThatIsRefused"),
		breaks("I1", "what nothing has proven for long is put right all the same",
			edit{confirm, `	old := pr.Clock.Since(w.Begun) > writePatience`, `	old := pr.Clock.Since(w.Begun) < 0`}, controller,
			"TestI1_AWriteThatNothingProvesIsForgotten").thatCrashes(), // the test has no API server to read the record from
		breaks("I1", "what Helm wrote while ownership was handed over counts as written by the operator",
			edit{"pkg/enforce/ownership.go", `	if !reflect.DeepEqual(helmEntries(now), helmEntries(done)) {`,
				`	if !reflect.DeepEqual(helmEntries(now), helmEntries(now)) {`}, enforce,
			"TestI1_OwnershipThatHelmWroteIsNotTakenForOurs"),
		breaks("I1", "nobody looks again after a revert around which Helm began to work",
			edit{confirm, `	return errors.Join(late, pr.confirmWrites(ctx, over, r))`, `	return late`}, order,
			"TestI1_RevertThatLandsAfterHelmFoundNothingToDo/upgrade_that_fails"),
		breaks("I1", "the operator writes what Helm has not come to yet",
			edit{"pkg/drift/amend.go", `	ours.remove(Compare(desired, mergePatched(w.Old, w.Undo), opt).Changes)`,
				`	if w.Undo == nil {
		ours.remove(Compare(desired, mergePatched(w.Old, w.Undo), opt).Changes)
	}`}, order, "TestI1_LateRevertWhileHelmIsAtWork/pending-upgrade/neither"),
		breaks("I1", "what was missing as a whole before a late revert is made the newer revision's before Helm comes to it",
			edit{"pkg/drift/amend.go",
				`	maps.DeleteFunc(p.at, func(pointer string, _ struct{}) bool { return missing.cover(pointer) })`,
				`	_ = missing`}, drift, "TestAmendRestoresOnlyWhatTheWriteTookFromTheNewerRevision"),
		breaks("I1", "the write that makes another one good is not looked at again",
			edit{amend, `	pr.reporter.superseded(w, events.Rewritten(w.Object.ID, r.record.Revision))`,
				`	pr.unproven.Drop(*next)`}, order, "TestI1_AmendmentThatComesLate"),
		breaks("I1", "a check proves writes that were answered after it began",
			edit{"pkg/lock/writes.go", `		if w.answered != 0 {
			over`, `		if w.answered+1 != 0 {
			over`}, lock, "TestI1_OnlyWritesThatAreAnsweredAreProven"),
		breaks("I1", "what was taken back stays deleted although a newer revision declares it",
			edit{amend, `	case w.Deleted && w.Version == "" && r.record.Status != release.StatusDeployed:
		return pr.restore(ctx, w, r, w.Object)`,
				`	case w.Deleted && w.Version == "" && r.record.Status != release.StatusDeployed:
		pr.unproven.Drop(w)
		return nil`}, order, "TestI1_TakenBackWhileHelmInstallsAgain"),
		breaks("I1", "a created object stays when a controller has touched it",
			edit{write, `		if !apierrors.IsConflict(err) || attempt == attempts {
			return err`, `		if !apierrors.IsConflict(err) || attempt == 1 {
			return err`}, order, "TestI1_TakenBackAlthoughAControllerTouchedIt/helm_4"),
		breaks("I1", "the object of another user is taken for a creation that was not answered",
			edit{confirm, `drift.MadeBy(live.GetManagedFields(), w.Manager), nil`, `(w.Created || drift.MadeBy(live.GetManagedFields(), w.Manager)), nil`}, order,
			"TestI1_LostCreationThatComesAfterAnotherUsersObject"),
		breaks("I1", "the record is read before the object of a revert that was not answered",
			edit{confirm, `	over, late := pr.withoutLate(ctx, over)
	if len(over) == 0 {
		return late
	}
	newest, found, err := pr.enforcer.Current(ctx, over[0].Record)`, `	newest, found, err := pr.enforcer.Current(ctx,
		over[0].Record)
	over, late := pr.withoutLate(ctx, over)
	if len(over) == 0 {
		return late
	}`}, order, "TestI1_LostRevertIsLookedForBeforeTheRecordIsRead"),
		breaks("I1", "a creation that was not answered is not looked after",
			edit{"pkg/controller/write.go", `	lost := done == nil && (unanswered(err) ||`, `	lost := done == nil && (err != nil && false ||`}, ha,
			"TestI1_CreationWhoseAnswerIsLost/delete"),
		breaks("I1", "what Helm keeps is taken back after a creation that was not answered",
			edit{takeBack, `	case created == nil || w.Object.Keep || manifest.Kept(created.GetAnnotations()) || lost`,
				`	case created == nil || manifest.Kept(nil) || lost`}, ha, "TestI1_CreationWhoseAnswerIsLost/keep"),
		breaks("I1", "an operator that is stopped leaves a creation unproven",
			edit{"pkg/controller/controller.go", `	c.prover.last(last)`, ``}, ha,
			"TestI1_StoppedBetweenACreationAndItsSecondCheck"),
		breaks("I1", "an operator that is stopped leaves a revert unproven",
			edit{"pkg/controller/controller.go", `	c.prover.last(last)`, ``}, order,
			"TestI1_StoppedBetweenARevertAndItsCheck"),
		breaks("I1", "an operator that is stopped leaves the deletion of a leftover unproven",
			edit{"pkg/controller/controller.go", `	c.prover.last(last)`, ``}, integration,
			"TestI1_StoppedBetweenADeletionAndItsSecondCheck"),
		breaks("I1", "an operator that is stopped does not create what it has deleted to replace it",
			edit{"pkg/controller/act.go", `	ctx, cancel := outlast(ctx)
	defer cancel()
	rv.writer.writeAsHelm(ctx, l, v)
	_, restored`, `	rv.writer.writeAsHelm(ctx, l, v)
	_, restored`}, integration, "TestI1_StoppedInTheMiddleOfAReplacement/deleted"),
		breaks("I1", "records are compared by revision number instead of identity",
			edit{proof, `	return now.Same(rec), nil`, `	return now.Revision == rec.Revision, nil`}, order,
			"TestI1_RecordIdentityNotRevisionNumber/helm_3"),
		breaks("I1", "who waits for a check gets the answer of one that began before",
			edit{"pkg/proof/shared.go", `		delete(s.next, key)
		if a == nil {`, `		if a == nil {`}, guard,
			"TestThoseWhoWaitShareOneListThatBeganAfterTheyAsked|TestThoseWhoWaitShareOneFenceThatBeganAfterTheyAsked").
			and(edit{"pkg/proof/shared.go", `			a.result, a.err = result, err`, `			s.mu.Lock()
			delete(s.next, key)
			s.mu.Unlock()
			a.result, a.err = result, err`}),
		breaks("I1", "the pages of a list of records are of several revisions",
			edit{"pkg/proof/pages.go", `			taken, options.Continue = nil, ""`,
				`			options.Continue = ""`}, guard, "TestPagesAreOfOneRevision"),
		breaks("I1", "a check holds although the newest record cannot be read",
			edit{"pkg/proof/records.go", `			return &one, err`, `			if err != nil {
				return nil, nil
			}
			return &one, nil`}, guard, "TestHoldsIsAnErrorWhenARecordCannotBeRead"),
		breaks("I1", "a release is locked while Helm upgrades it",
			edit{"pkg/lock/decide.go", `	case rec.Status == release.StatusDeployed:`,
				`	case rec.Status == release.StatusDeployed, rec.Status == release.StatusPendingUpgrade:`}, lock,
			"TestOnlyADeployedReleaseIsLocked"),
		breaks("I1", "of two records the one of the lower revision counts as newest",
			edit{"pkg/release/record.go", `		cmp.Compare(a.Revision, b.Revision),`,
				`		cmp.Compare(b.Revision, a.Revision),`}, releases, "TestNewestIsTheHighestRevisionInAnyOrder"),
	}
}
