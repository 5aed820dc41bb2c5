package main

const (
	policyPkg   = "./pkg/policy"
	policiesPkg = "./pkg/policies"
	policySuite = "./tests/policy"
)

// policiesAreKept are the mutants of P1: exactly the HelmReleases required by the policies exist.
func policiesAreKept() []mutant {
	const plan, match, bound = "pkg/policy/plan.go", "pkg/policy/match.go", "pkg/policy/bound.go"
	const rollout, desired = "pkg/policy/rollout.go", "pkg/policy/desired.go"
	const worker, planned, writes = "pkg/policies/worker.go", "pkg/policies/plan.go", "pkg/policies/writes.go"
	const own, rights = "pkg/policies/own.go", "pkg/policy/rights.go"
	const hold = "pkg/policy/hold.go"
	const pauses = "pkg/policy/pauses.go"
	return []mutant{
		breaks("P1", "a pause of a policy has any length", edit{bound, `	if shorten(`, `	if false && shorten(`},
			"./tests/chart", "TestPausesFollowTheRulesOfThePolicy"),
		breaks("P1", "a pause of the template is shortened",
			edit{pauses, `	if paused && !slices.Contains(templates, suspendField) && (`, `	if paused && (`}, policyPkg,
			"TestPausesOfTheTemplateStay"),
		breaks("P1", "a pause is shortened again and again",
			edit{pauses, `until == nil || until.After(latest.Time)`, `until == nil || !until.Equal(latest)`}, policyPkg,
			"TestPausesEndInTime"),
		breaks("P1", "rules of ignored fields end when they like",
			edit{pauses, `!isForGood(*rule) && later(rule.Until)`, `isForGood(*rule) && later(rule.Until)`}, policyPkg,
			"TestRulesEndInTime"),
		breaks("P1", "a policy hands the operator's rights to all who may write a record",
			edit{rights, `	return modeOf(p) == v1alpha1.ModeEnforce && p`, `	return modeOf(p) == "" && p`},
			"./tests/tenancy", "TestHostile_ForgedRecordUnderAPolicyGainsNothing"),
		breaks("P1", "a release that is enforced as an account becomes the operator's own",
			edit{bound, `	if c.unaccepted() && enforced(w.existing) {`, `	if c.unaccepted() && enforced(nil) {`}, policyPkg,
			"TestHostile_NoPolicyLendsTheOperatorsRightsUnasked"),
		breaks("P1", "a rollout moves releases without an acceptance",
			edit{rollout, `	if c.unaccepted() {`, `	if why == "-" {`}, policyPkg,
			"TestHostile_NoPolicyLendsTheOperatorsRightsUnasked"),
		breaks("P1", "what was enforced before an acceptance was asked for is unlocked",
			edit{bound, `		case enforced(w.existing):`, `		case enforced(w.existing) && !c.unaccepted():`}, policyPkg,
			"TestHostile_NoPolicyLendsTheOperatorsRightsUnasked"),
		breaks("P1", "an operator that impersonates asks for an acceptance",
			edit{planned, `Bounded: w.Impersonate || w.Witnessed, `, ``}, "./tests/tenancy",
			"TestHostile_APolicyOfAnImpersonatingOperatorNeedsNoAcceptance"),
		breaks("P1", "what was deleted before its creation was answered counts as there",
			edit{own, `	delete(w.writing, name)
	w.forget(name)`, `	w.forget(name)`}, policiesPkg, "TestOwnWrites"),
		breaks("P1", "what was made and never seen is waited for until something else happens",
			edit{planned, `	return earlier(again, w.ownWrites.unseenUntil()), err`, `	return again, err`}, policySuite,
			"TestPolicy_MakesADeletedHelmReleaseAgainThatItNeverSaw"),
		breaks("P1", "policies are not followed after a refusal",
			edit{worker, `		if err == nil || ctx.Err() != nil {`, `		if err == nil || ctx != nil {`}, policiesPkg,
			"TestPoliciesAreWatchedInTheEnd"),
		breaks("P1", "an empty selector selects everything",
			edit{match, `	if err == nil && compiled.Empty() {`, `	if err == nil && compiled == nil {`}, policyPkg,
			"TestAMatchThatWouldSelectEverythingByAccidentIsAnError"),
		breaks("P1", "labels of Helm's storage select releases",
			edit{match, `	if slices.Contains(release.Labels[:], label) {`, `	if slices.Contains(release.Labels[:0], label) {`},
			policyPkg, "TestMatches"),
		breaks("P1", "a namespace that is not known is selected by what it has not",
			edit{match, `	if !known {
		return unknown`, `	if !known && unknown {
		return unknown`}, policyPkg, "TestMatches"),
		breaks("P1", "the less specific policy wins",
			edit{plan, `		b.matcher.Specificity(r).Compare(a.matcher.Specificity(r)),`,
				`		a.matcher.Specificity(r).Compare(b.matcher.Specificity(r)),`}, policyPkg,
			"TestTheMoreSpecificPolicyWins"),
		breaks("P1", "a policy takes the place of what was written by hand",
			edit{plan, `	if by := pl.handWritten[key]; by != nil {
		for`, `	if by := pl.handWritten[key]; by != nil && by.Name == "" {
		for`}, policySuite, "TestPolicy_HandWrittenWins"),
		breaks("P1", "the operator's own namespace is matched",
			edit{plan, `		case r.Namespace == pl.Namespace && !c.Spec.IncludeOperatorNamespace:`,
				`		case r.Namespace == "" && !c.Spec.IncludeOperatorNamespace:`}, policySuite,
			"TestPolicy_LeavesTheOperatorsNamespaceOut"),
		breaks("P1", "what an invalid policy locked is unlocked",
			edit{plan, `			case c.problem.Reason != "":
				c.add(Result{Release: key, Outcome: Keep`, `			case c.problem.Reason == "-":
				c.add(Result{Release: key, Outcome: Keep`}, policyPkg, "TestPlans"),
		breaks("P1", "one namespace takes the places of all others",
			edit{bound, `		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(locked`,
				`		return cmp.Or(0, cmp.Compare(locked`}, policySuite, "TestPolicy_Bound"),
		breaks("P1", "releases that come later take the place of those that are locked",
			edit{bound, `		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(locked(a), locked(b)), byRelease(a, b))`,
				`		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), byRelease(a, b))`}, policyPkg,
			"TestTheBoundIsSharedByNamespaces"),
		breaks("P1", "an edit puts suspend back, too",
			edit{desired, `		hr.Spec.Suspend, hr.Spec.SuspendUntil = suspend, until`, `		hr.Spec.Suspend, hr.Spec.SuspendUntil = suspend && until != nil, until`}, policySuite,
			"TestPolicy_PutsEditsBack"),
		breaks("P1", "labels that the template does not have any more stay",
			edit{desired, `			delete(hr.Labels, label)`, `			delete(hr.Annotations, label)`}, policyPkg,
			"TestTheTemplateIsFollowed"),
		breaks("P1", "a rollout moves all at once",
			edit{rollout, `q.ready[:max(0, min(free, len(q.ready)))]`, `q.ready[:max(free-free, len(q.ready))]`},
			policySuite, "TestPolicy_Rollout$"),
		breaks("P1", "a rollout reverts drift unasked",
			edit{hold, `			last = pl.hold(&q, r, w, last)`, `			last = append(last, w)`}, policySuite,
			"TestPolicy_RolloutHoldsReleasesWithDrift"),
		breaks("P1", "releases with drift move first",
			edit{hold, `	q.ready = append(q.ready, last...)`, `	q.ready = append(last, q.ready...)`}, policyPkg,
			"TestDriftedRevertMovesReleasesWithDriftLast"),
		breaks("P1", "a consent is for every revision",
			edit{hold, ` == strconv.Itoa(hr.Status.Version)`, ` >= strconv.Itoa(0)`}, policyPkg,
			"TestARolloutHoldsReleasesWithDrift"),
		breaks("P1", "a consent is for every hold",
			edit{desired, `	if of.heldSince == "" || hr.`, `	if of.heldSince == "-" || hr.`}, policyPkg,
			"TestARolloutHoldsReleasesWithDrift"),
		breaks("P1", "a consent from before the hold counts",
			edit{hold, `	case held && agreed(w.existing):`, `	case agreed(w.existing):`}, policyPkg,
			"TestARolloutHoldsReleasesWithDrift"),
		breaks("P1", "each plan begins the hold again",
			edit{hold, `	if !held || since.After(`, `	if held || since.After(`}, policyPkg, "TestAHoldEndsAtItsDeadline"),
		breaks("P1", "an upgrade begins the hold again",
			edit{hold, `held && r.Drifted != v1alpha1.DriftedRevert {`, `held && r.Drifted == "" && hr.Name == "" {`}, policyPkg,
			"TestAHoldEndsAtItsDeadline"),
		breaks("P1", "nothing wakes the process at a deadline",
			edit{rollout, `		c.again = earlier(c.again, q.deadline)
`, ``}, policyPkg, "TestAHoldEndsAtItsDeadline"),
		breaks("P1", "each change of a hold is an event",
			edit{"pkg/policies/status.go", `r.Held > 0 && (last == nil || last.Held == 0):`, `r.Held > 0:`}, policySuite,
			"TestPolicy_RolloutHoldsReleasesWithDrift"),
		breaks("P1", "enforce agrees for releases that no rollout holds",
			edit{"pkg/cli/enforce.go", `		case isHeld(hr):`, `		case hr.Name != "":`}, "./tests/clitest", "TestEnforce"),
		breaks("P1", "a rollout goes on while objects are contended",
			edit{rollout, `	case len(contended) > maxContended:`, `	case len(contended) > maxContended+100:`}, policySuite,
			"TestPolicy_RolloutStopsWhenObjectsAreContended"),
		breaks("P1", "a release that is uninstalled lets another one move before its time",
			edit{rollout, `		if pl.Now.Before(pl.nextBatch(c.HelmReleasePolicy, interval)) {`,
				`		if pl.Now.IsZero() && pl.Now.Before(pl.nextBatch(c.HelmReleasePolicy, interval)) {`}, policyPkg, "TestRollout"),
		breaks("P1", "nobody learns why the labels of namespaces cannot be read",
			edit{"pkg/policies/namespaces.go", `		if failure := n.failure.Load(); failure != nil {
			return nil, false, *failure
		}
`, ``}, policiesPkg, "TestLabelsOfNamespacesAreReadAfterARefusal"),
		breaks("P1", "a HelmRelease is deleted whatever became of it meanwhile",
			edit{writes, `UID: &r.Existing.UID, ResourceVersion: &r.Existing.ResourceVersion}`, `UID: &r.Existing.UID}`},
			policySuite, "TestPolicy_DeletesOnlyWhatItHasSeen"),
		breaks("P1", "a standby writes",
			edit{planned, `	if !w.leading.Load() {
		return time.Time{}, nil`, `	if w.queue == nil {
		return time.Time{}, nil`}, policySuite, "TestPolicy_LeaderChange"),
		breaks("P1", "an operator writes for the policies of other shards",
			edit{planned, `	return w.shard == nil || w.shard.Matches(labels.Set(p.Labels))`,
				`	return w.shard == nil || w.shard.Matches(labels.Set(p.Labels)) || p.Name != ""`}, policySuite,
			"TestPolicy_Shards"),
		breaks("P1", "releases are judged before their labels are known",
			edit{planned, `	if !w.labels.keep(keys) {`, `	if !w.labels.keep(keys) && len(keys) == 0 {`},
			policySuite, "TestPolicy_ARestartKeepsWhatLabelsSelect"),
	}
}
