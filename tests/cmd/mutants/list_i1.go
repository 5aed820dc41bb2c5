package main

// neverRevertHelm are the mutants of I1: the parts of the order proof, one by one. Each is found by the test that
// forces the interleaving in which it decides. Upgrades at random only find what breaks two safeguards at once.
func neverRevertHelm() []mutant {
	const proof, write, confirm, amend = "pkg/proof/guard.go", "pkg/enforce/write.go", "pkg/controller/confirm.go",
		"pkg/controller/amend.go"
	return []mutant{
		{
			promise: "I1", what: "the record is not read before a write",
			edit: edit{proof, `	return now.Same(rec), nil`, `	return now.Key == rec.Key, nil`},
			pkg:  order, run: "TestI1_CheckBeforeWrite/helm_4",
		},
		{
			promise: "I1", what: "the record is not read before a write once reads follow each other quickly",
			edit: edit{proof, `	now, found, err := g.Newest(ctx, rec.Key)`, `	if g.fence != nil && g.prefersFence() {
		return true, nil
	}
	now, found, err := g.Newest(ctx, rec.Key)`},
			pkg: order, run: "TestI1_ChecksInQuickSuccession",
		},
		{
			promise: "I1", what: "a fence counts as soon as it is written, whether or not the watch has come as far",
			edit: edit{"pkg/proof/fence.go", `	case <-seen:`, `	case <-time.After(0):
		_ = seen
		write.Wait()`},
			pkg: order, run: "TestI1_UpgradeBehindAHeldWatchOfRecords/marks_are_written",
		},
		{
			promise: "I1", what: "the record is not read where fences are refused",
			edit: edit{proof, `	if g.prefersFence() && g.fence.pass(ctx) == nil {`,
				`	if g.prefersFence() && g.fence.pass(ctx) != ctx.Err() {`},
			pkg: order, run: "TestI1_UpgradeBehindAHeldWatchOfRecords/marks_are_refused",
		},
		{
			promise: "I1", what: "an operator that may not write fences tries each time, and waits for it",
			edit: edit{"pkg/proof/fence.go", `	f.notBefore = time.Now().Add(fenceCooldown)`, ``},
			pkg:  order, run: "TestI1_MarkThatIsRefused",
		},
		{
			promise: "I1", what: "a fence in a list counts before what is not in the list is forgotten",
			edit: edit{"pkg/watch/fences.go", `	case f.listing:`, `	case f.listing && f.waiting == nil:`},
			pkg:  watch, run: "TestAFenceInAListIsSeenWhenTheListHasEnded",
		},
		{
			promise: "I1", what: "a fence in a list that ended half-way counts at the end of the next one",
			edit: edit{"pkg/watch/fences.go", `	f.listing, f.listed = true, false`, `	f.listing = true`},
			pkg:  watch, run: "TestAFenceInAListThatNeverEndedIsNotSeen|TestAnAttemptToListBeginsWithNothing",
		},
		{
			promise: "I1", what: "a record that is made a fence is still known",
			edit: edit{"pkg/watch/releases.go", `	touched := r.forget(name)
	if isFence(m) {
		return touched
	}`, `	if isFence(m) {
		return nil
	}
	touched := r.forget(name)`},
			pkg: watch, run: "TestARecordThatIsMadeAFenceIsForgotten",
		},
		{
			promise: "I1", what: "a release stays locked while Helm upgrades it, and the record is not read before a " +
				"write",
			edit: edit{proof, `	return now.Same(rec), nil`, `	return now.Key == rec.Key, nil`},
			also: []edit{{"pkg/controller/releases.go", `	if !d.Lock {`,
				`	if !d.Lock && d.State != v1alpha1.StateTransitioning {`}},
			pkg: order, run: "TestI1_UpgradesUnderLock/without_drift",
		},
		{
			promise: "I1", what: "a patch goes out without the observed resourceVersion",
			edit: edit{write, `	setPath(patch, r.Live.GetResourceVersion(), "metadata", "resourceVersion")`, ``},
			pkg:  order, run: "TestI1_ResourceVersionPrecondition/helm_3",
		},
		{
			promise: "I1", what: "a server-side apply goes out without the observed resourceVersion",
			edit: edit{write, `	setPath(desired, r.Live.GetResourceVersion(), "metadata", "resourceVersion")
	// An`, `	// An`},
			pkg: order, run: "TestI1_ResourceVersionPrecondition/helm_4",
		},
		{
			promise: "I1", what: "a server-side apply goes out without the observed uid, and creates what Helm has " +
				"deleted",
			edit: edit{write, `	setPath(desired, string(r.Live.GetUID()), "metadata", "uid")`, ``},
			pkg:  order, run: "TestI1_WriteAfterHelmDeleted/uninstall/helm_4",
		},
		{
			promise: "I1", what: "the record is not read again after a leftover was deleted",
			edit: edit{"pkg/enforce/prune.go", `	holds, err := e.Holds(ctx, rec)
	if err != nil || holds {`, `	holds, err := true, error(nil)
	if err != nil || holds {`},
			pkg: integration, run: "TestI1_LeftoverThatHelmTakesBackMeanwhile",
		},
		{
			promise: "I1", what: "a replacement stays although Helm uninstalls",
			edit: edit{"pkg/controller/replace.go", `	w, made, err := rm.write(ctx, l, v, true, rm.enforcer.Replace)`,
				`	w, made, err := rm.write(ctx, l, v, false, rm.enforcer.Replace)`},
			pkg: integration, run: "TestI1_ReplacementWhileHelmBegins/uninstalling",
		},
		{
			promise: "I1", what: "another release counts only when it is deployed",
			edit: edit{"pkg/controller/owners.go", `found && rec.Status != release.StatusUninstalled {`,
				`found && rec.Status == release.StatusDeployed {`},
			pkg: integration, run: "TestI1_AnotherReleaseTakesOwnership/helm_3",
		},
		{
			promise: "I1", what: "the record is not read again after a creation",
			edit: edit{"pkg/enforce/enforcer.go", `		err = w.takeBack(ctx, o, created)`, `		_ = w`},
			pkg:  order, run: "TestI1_SecondCheckAfterCreate/uninstall/helm_3",
		},
		{
			promise: "I1", what: "the second check is given up when the API server does not answer",
			edit: edit{confirm, `	if err := rm.confirmWrites(ctx, key); err != nil {`,
				`	if err := ctx.Err(); err != nil {`},
			pkg: order, run: "TestI1_SecondCheckIsRepeatedUntilAnswered/helm_3",
		},
		{
			promise: "I1", what: "what was created is taken back for any newer record",
			edit: edit{amend, `	case !known && w.Created:`, `	case (known || !known) && w.Created:`},
			pkg:  order, run: "TestI1_RecreatedObjectThatAnUpgradeCountsOn/before_the_second_check/helm_3",
		},
		{
			promise: "I1", what: "a creation is taken back when the newest record cannot be read",
			edit: edit{amend, `		if prob.reason != "" {
			return nil, false, fmt.Errorf("%w: %s", errNotReadable, prob.message)
		}`, `		if prob.reason != "" {
			return nil, false, nil
		}`},
			pkg: order, run: "TestI1_CreationBeforeARecordThatCannotBeRead",
		},
		{
			promise: "I1", what: "a claim that was created again is taken back",
			edit: edit{confirm, `	case judge.HoldsData(w.Object.ID.GroupKind()):`,
				`	case judge.HoldsData(w.Object.ID.GroupKind()) && lost:`},
			pkg: order, run: "TestI1_WhatHoldsDataIsNeverTakenBack",
		},
		{
			promise: "I1", what: "creations are confirmed when all of them are made",
			edit: edit{
				"pkg/controller/act.go", `					confirmations.Go(func() { rm.created(ctx, l, v, w) })`,
				`					confirmations.Go(func() { writes.Wait(); rm.created(ctx, l, v, w) })`,
			},
			pkg: order, run: "TestI1_EachCreationIsConfirmedByItself",
		},
		{
			promise: "I1", what: "what Helm wrote while ownership was handed over counts as written by the operator",
			edit: edit{"pkg/enforce/ownership.go", `	if !reflect.DeepEqual(helmEntries(now), helmEntries(done)) {`,
				`	if !reflect.DeepEqual(helmEntries(now), helmEntries(now)) {`},
			pkg: enforce, run: "TestI1_OwnershipThatHelmWroteIsNotTakenForOurs",
		},
		{
			promise: "I1", what: "nobody looks again after a revert around which Helm began to work",
			edit: edit{confirm, `	if err := rm.confirmWrites(ctx, key); err != nil {`,
				`	if err := ctx.Err(); err != nil {`},
			pkg: order, run: "TestI1_RevertThatLandsAfterHelmFoundNothingToDo/upgrade_that_fails",
		},
		{
			promise: "I1", what: "the operator writes what Helm has not come to yet",
			edit: edit{"pkg/drift/amend.go", `	if !w.Created {
		ours.remove(`, `	if w.Undo == nil && !w.Created {
		ours.remove(`},
			pkg: order, run: "TestI1_LateRevertWhileHelmIsAtWork/pending-upgrade/neither",
		},
		{
			promise: "I1", what: "the write that makes another one good is not looked at again",
			edit: edit{amend, `	rm.confirmLater(w.Record.Key)
	return nil`, `	rm.unproven.Drop(*next)
	return nil`},
			pkg: order, run: "TestI1_AmendmentThatComesLate",
		},
		{
			promise: "I1", what: "a check proves writes that were answered after it began",
			edit: edit{"pkg/lock/writes.go", `w.answered <= until &&`, `w.answered <= s.now && until <= s.now &&`},
			pkg:  lock, run: "TestI1_ACheckProvesOnlyWritesThatWereAnsweredBeforeItBegan",
		},
		{
			promise: "I1", what: "what was taken back stays deleted although a newer revision declares it",
			edit: edit{amend, `	case w.Deleted:
		return rm.restore(ctx, w, r, o)`, `	case w.Deleted:
		rm.unproven.Drop(w)
		return nil`},
			pkg: order, run: "TestI1_TakenBackWhileHelmInstallsAgain",
		},
		{
			promise: "I1", what: "a created object stays when a controller has touched it",
			edit: edit{write, `		if !apierrors.IsConflict(err) || attempt == attempts {
			return err`, `		if !apierrors.IsConflict(err) || attempt == 1 {
			return err`},
			pkg: order, run: "TestI1_TakenBackAlthoughAControllerTouchedIt/helm_4",
		},
		{
			promise: "I1", what: "a creation that was not answered is not looked after",
			edit: edit{confirm, `	lost := done == nil && unanswered(err)`, `	lost := false`},
			pkg:  ha, run: "TestI1_CreationWhoseAnswerIsLost/delete",
		},
		{
			promise: "I1", what: "what Helm keeps is taken back after a creation that was not answered",
			edit: edit{confirm, `	case created == nil || w.Object.Keep || manifest.Kept(created.GetAnnotations()) || lost`,
				`	case created == nil || manifest.Kept(nil) || lost`},
			pkg: ha, run: "TestI1_CreationWhoseAnswerIsLost/keep",
		},
		{
			promise: "I1", what: "an operator that is stopped leaves a creation unconfirmed",
			edit: edit{"pkg/controller/unanswered.go", `context.WithCancel(context.WithoutCancel(ctx))`,
				`context.WithCancel(ctx)`},
			pkg: ha, run: "TestI1_StoppedBetweenACreationAndItsSecondCheck",
		},
		{
			promise: "I1", what: "an operator that is stopped leaves the deletion of a leftover unconfirmed",
			edit: edit{"pkg/controller/pruning.go", `outlast(ctx)`, `context.WithCancel(ctx)`},
			pkg:  integration, run: "TestI1_StoppedBetweenADeletionAndItsSecondCheck",
		},
		{
			promise: "I1", what: "an operator that is stopped does not create what it has deleted to replace it",
			edit: edit{"pkg/controller/replace.go", `outlast(ctx)`, `context.WithCancel(ctx)`},
			pkg:  integration, run: "TestI1_StoppedInTheMiddleOfAReplacement/deleted",
		},
		{
			promise: "I1", what: "an operator that is stopped leaves a replacement unconfirmed",
			edit: edit{"pkg/controller/replace.go", `outlast(ctx)`, `context.WithCancel(ctx)`},
			pkg:  integration, run: "TestI1_StoppedInTheMiddleOfAReplacement/created",
		},
		{
			promise: "I1", what: "records are compared by revision number instead of identity",
			edit: edit{proof, `	return now.Same(rec), nil`, `	return now.Revision == rec.Revision, nil`},
			pkg:  order, run: "TestI1_RecordIdentityNotRevisionNumber/helm_3",
		},
		{
			promise: "I1", what: "who waits for a check gets the answer of one that began before",
			edit: edit{"pkg/proof/shared.go", `		delete(s.next, key)
		if a == nil {`, `		if a == nil {`},
			also: []edit{{"pkg/proof/shared.go", `			a.result, a.err = result, err`, `			s.mu.Lock()
			delete(s.next, key)
			s.mu.Unlock()
			a.result, a.err = result, err`}},
			pkg: guard, run: "TestThoseWhoWaitShareOneListThatBeganAfterTheyAsked|TestThoseWhoWaitShareOneFenceThatBeganAfterTheyAsked",
		},
		{
			promise: "I1", what: "the pages of a list of records are of several revisions",
			edit: edit{"pkg/proof/pages.go", `			taken, options.Continue = nil, ""`,
				`			options.Continue = ""`},
			pkg: guard, run: "TestPagesAreOfOneRevision",
		},
		{
			promise: "I1", what: "a check holds although the newest record cannot be read",
			edit: edit{proof, `		return rec, fmt.Errorf("record %s: %w", m.Name, err)`,
				`		return release.Record{}, nil`},
			pkg: guard, run: "TestHoldsIsAnErrorWhenARecordCannotBeRead",
		},
		{
			promise: "I1", what: "a release is locked while Helm upgrades it",
			edit: edit{"pkg/lock/decide.go", `	case rec.Status == release.StatusDeployed:`,
				`	case rec.Status == release.StatusDeployed, rec.Status == release.StatusPendingUpgrade:`},
			pkg: lock, run: "TestOnlyADeployedReleaseIsLocked",
		},
		{
			promise: "I1", what: "of two records the one of the lower revision counts as newest",
			edit: edit{"pkg/release/record.go", `		cmp.Compare(a.Revision, b.Revision),`,
				`		cmp.Compare(b.Revision, a.Revision),`},
			pkg: releases, run: "TestNewestIsTheHighestRevisionInAnyOrder",
		},
	}
}
