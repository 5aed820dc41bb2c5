package main

// neverRevertHelm are the mutants of I1: the parts of the order proof, one by one. Each is found by the test that forces the
// interleaving in which it decides. Upgrades at random only find what breaks two safeguards at once.
func neverRevertHelm() []mutant {
	const proof, write, act = "pkg/enforce/proof.go", "pkg/enforce/write.go", "pkg/controller/act.go"
	return []mutant{
		{
			promise: "I1", what: "the record is not read before a write",
			edit: edit{proof, `	return now.Same(rec) && now.Status == release.StatusDeployed, nil`, `	return true, nil`},
			pkg:  order, run: "TestI1_CheckBeforeWrite/helm_4",
		},
		{
			promise: "I1", what: "the record is not read before a write once reads follow each other quickly",
			edit: edit{proof, `	now, found, err := p.Newest(ctx, rec.Key)`, `	if !p.marker.lastMark.IsZero() {
		return true, nil
	}
	now, found, err := p.Newest(ctx, rec.Key)`},
			pkg: order, run: "TestI1_ChecksInQuickSuccession",
		},
		{
			promise: "I1", what: "a mark counts as soon as it is written, whether or not the watch has come as far",
			edit: edit{"pkg/enforce/mark.go", `	case <-ctx.Done():
		return end, ctx.Err()`, `	case <-end:
		return end, nil`},
			pkg: order, run: "TestI1_UpgradeBehindAHeldWatchOfRecords/marks_are_written",
		},
		{
			promise: "I1", what: "the record is not read where marks are refused",
			edit: edit{proof, `		if err == nil {
			// What`, `		if err == nil || p.marker != nil {
			// What`},
			pkg: order, run: "TestI1_UpgradeBehindAHeldWatchOfRecords/marks_are_refused",
		},
		{
			promise: "I1", what: "an operator that may not write marks tries each time, and waits for it",
			edit: edit{"pkg/enforce/mark.go", `	m.notBefore = time.Now().Add(markRest)`, ``},
			pkg:  order, run: "TestI1_MarkThatIsRefused",
		},
		{
			promise: "I1", what: "a mark in a list counts before what is not in the list is forgotten",
			edit: edit{"pkg/watch/marks.go", `	case m.listing:`, `	case m.listing && m.waiting == nil:`},
			pkg:  watch, run: "TestAMarkInAListIsSeenWhenTheListHasEnded",
		},
		{
			promise: "I1", what: "a mark in a list that ended half-way counts at the end of the next one",
			edit: edit{"pkg/watch/marks.go", `	m.listing, m.listed = true, false`, `	m.listing = true`},
			pkg:  watch, run: "TestAMarkInAListThatNeverEndedIsNotSeen|TestAnAttemptToListBeginsWithNothing",
		},
		{
			promise: "I1", what: "a record that is made a mark is still known",
			edit: edit{"pkg/watch/releases.go", `	touched := r.forget(name)
	if isMark(m) {
		return touched
	}`, `	if isMark(m) {
		return nil
	}
	touched := r.forget(name)`},
			pkg: watch, run: "TestARecordThatIsMadeAMarkIsForgotten",
		},
		{
			promise: "I1", what: "a release stays locked while Helm upgrades it, and the record is not read before a write",
			edit: edit{proof, `	return now.Same(rec) && now.Status == release.StatusDeployed, nil`, `	return true, nil`},
			also: []edit{{"pkg/controller/reconcile.go", `	if !d.Lock {`, `	if !d.Lock && d.State != v1alpha1.StateTransitioning {`}},
			pkg:  order, run: "TestI1_UpgradesUnderLock/without_drift",
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
			promise: "I1", what: "a server-side apply goes out without the observed uid, and creates what Helm has deleted",
			edit: edit{write, `	setPath(desired, string(r.Live.GetUID()), "metadata", "uid")`, ``},
			pkg:  order, run: "TestI1_WriteAfterHelmDeleted/uninstall/helm_4",
		},
		{
			promise: "I1", what: "the record is not read again after a leftover was deleted",
			edit: edit{"pkg/enforce/prune.go", `	holds, err := e.prover.Holds(ctx, rec)
	if err != nil || holds {`, `	holds, err := true, error(nil)
	if err != nil || holds {`},
			pkg: integration, run: "TestI1_LeftoverThatHelmTakesBackMeanwhile",
		},
		{
			promise: "I1", what: "a replacement stays although Helm uninstalls",
			edit: edit{"pkg/enforce/replace.go", `	if found && newest.Status != release.StatusUninstalling`, `	if found || newest.Status != release.StatusUninstalling`},
			pkg:  integration, run: "TestI1_ReplacementWhileHelmBegins/uninstalling",
		},
		{
			promise: "I1", what: "another release counts only when it is deployed",
			edit: edit{"pkg/controller/owners.go", `rec.Status == release.StatusUninstalled:`, `rec.Status != release.StatusDeployed:`},
			pkg:  integration, run: "TestI1_AnotherReleaseTakesOwnership/helm_3",
		},
		{
			promise: "I1", what: "the record is not read again after a creation",
			edit: edit{"pkg/enforce/enforcer.go", `if len(created) == 0 {`, `if len(created) > 0 {`},
			pkg:  order, run: "TestI1_SecondCheckAfterCreate/uninstall/helm_3",
		},
		{
			promise: "I1", what: "the second check is given up when the API server does not answer",
			edit: edit{"pkg/controller/insist.go", `		if err == nil {
			return stay`, `		if err == nil || c != nil {
			return stay`},
			pkg: order, run: "TestI1_SecondCheckIsRepeatedUntilAnswered/helm_3",
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
			edit: edit{act, `				case obj == nil && unanswered(err):`, `				case obj == nil && unanswered(err) && l.Key == "":`},
			pkg:  ha, run: "TestI1_CreationWhoseAnswerIsLost/delete",
		},
		{
			promise: "I1", what: "what Helm keeps is taken back after a creation that was not answered",
			edit: edit{"pkg/enforce/replace.go", `	if o.Keep || manifest.Kept(live.GetAnnotations()) || live`,
				`	if o.Keep && manifest.Kept(live.GetAnnotations()) && o.ID.Kind == "" || live`},
			pkg: ha, run: "TestI1_CreationWhoseAnswerIsLost/keep",
		},
		{
			promise: "I1", what: "an operator that is stopped leaves a creation unconfirmed",
			edit: edit{"pkg/controller/unanswered.go", `context.WithCancel(context.WithoutCancel(ctx))`, `context.WithCancel(ctx)`},
			pkg:  ha, run: "TestI1_StoppedBetweenACreationAndItsSecondCheck",
		},
		{
			promise: "I1", what: "an operator that is stopped leaves the deletion of a leftover unconfirmed",
			edit: edit{"pkg/controller/leftovers.go", `outlast(ctx)`, `context.WithCancel(ctx)`},
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
			edit: edit{proof, `	return now.Same(rec) &&`, `	return now.Revision == rec.Revision &&`},
			pkg:  order, run: "TestI1_RecordIdentityNotRevisionNumber/helm_3",
		},
		{
			promise: "I1", what: "who waits for a check gets the answer of one that began before",
			edit: edit{"pkg/enforce/shared.go", `	if t.begun {`, `	if t.begun && s.next != nil {`},
			pkg:  enforce, run: "TestThoseWhoWaitShareOneReadThatBeganAfterTheyAsked|TestThoseWhoWaitShareOneMarkThatBeganAfterTheyAsked",
		},
		{
			promise: "I1", what: "a check holds although the newest record cannot be read",
			edit: edit{proof, `			return newest{}, fmt.Errorf("record %s: %w", list.Items[i].Name, err)`, `			continue`},
			pkg:  enforce, run: "TestHoldsIsAnErrorWhenARecordCannotBeRead",
		},
		{
			promise: "I1", what: "a release is locked while Helm upgrades it",
			edit: edit{"pkg/lock/decide.go", `	case rec.Status == release.StatusDeployed:`,
				`	case rec.Status == release.StatusDeployed, rec.Status == release.StatusPendingUpgrade:`},
			pkg: lock, run: "TestOnlyADeployedReleaseIsLocked",
		},
		{
			promise: "I1", what: "of two records the one of the lower revision counts as newest",
			edit: edit{"pkg/release/record.go", `		cmp.Compare(a.Revision, b.Revision),`, `		cmp.Compare(b.Revision, a.Revision),`},
			pkg:  releases, run: "TestNewestIsTheHighestRevisionInAnyOrder",
		},
	}
}
