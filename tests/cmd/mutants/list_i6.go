package main

// noWriteLoops are the mutants of I6.
func noWriteLoops() []mutant {
	const judge, budget, lockFile, state = "pkg/controller/judge.go", "pkg/lock/budget.go", "pkg/lock/lock.go",
		"pkg/lock/state.go"
	const fight, normalised = "TestI6_FightIsNamedAndSlowedDown", "TestI6_NormalisedValuesAreNotFought/helm_3"
	return []mutant{
		{
			promise: "I6", what: "an object that differs at the first look is written without asking what a write " +
				"would change",
			edit: edit{"pkg/controller/remediation.go", `		if v.found.State == judge.Unclear {`,
				`		if v.found.State == judge.Unclear && v.GVK.Kind == "" {`},
			pkg: integration, run: normalised,
		},
		{
			promise: "I6", what: "nothing is learnt from what the API server returns",
			edit: edit{"pkg/drift/learn.go", `	learnt := Baseline{}
`, `	learnt := Baseline{}
	if opt.Accepted == nil {
		return learnt
	}
`},
			pkg: integration, run: normalised,
		},
		{
			promise: "I6", what: "the stringData of a Secret is compared as it is declared",
			edit: edit{"pkg/manifest/resolve.go", `	declared, found := secret["stringData"]
	if !found {`, `	declared, found := secret["stringData"]
	if found {`},
			pkg: integration, run: normalised,
		},
		{
			promise: "I6", what: "a number that its type cannot hold counts as one that the server takes",
			edit: edit{"pkg/manifest/walk.go", `zero.CanInt() && !zero.OverflowInt(d)`, `zero.CanInt()`},
			pkg:  manifest, run: "TestCanonicalWritesLeavesAsTheServerDoes",
		},
		{
			promise: "I6", what: "a value that is left out where it is none counts as written in another form",
			edit: edit{"pkg/manifest/walk.go", ` || len(data) == 0 && declared != "" {`, ` {`},
			pkg:  manifest, run: "TestCanonicalIsWhatDecodingSays",
		},
		{
			promise: "I6", what: "a fight is never noticed",
			edit: edit{budget, `	b.backoff = backoffMin
	b.next = now.Add(b.backoff)
	return true`, `	return false`},
			pkg: integration, run: fight,
		},
		{
			promise: "I6", what: "a fight is noticed and not slowed down",
			edit: edit{state, `	return max(e.budget.Wait(now), left, 0)`, `	return max(left, 0)`},
			pkg:  integration, run: fight,
		},
		{
			promise: "I6", what: "a fight over one object slows the others of its release down",
			edit: edit{lockFile, `		if wait := s.wait(now); wait > 0 {`, `		wait := s.wait(now)
		for _, other := range l.objects {
			wait = max(wait, other.wait(now))
		}
		if wait > 0 {`},
			pkg: integration, run: fight,
		},
		{
			promise: "I6", what: "the opponent of a fight is not named",
			edit: edit{"pkg/controller/conditions.go", `if r.Object == driftedObject(id) && r.FieldManager != "" {`,
				`if r.Object == driftedObject(id) && r.FieldManager == "" {`},
			pkg: integration, run: fight,
		},
		{
			promise: "I6", what: "the back-off of a fight does not grow",
			edit: edit{budget, `		b.backoff = min(2*b.backoff, backoffMax)`,
				`		b.backoff = min(b.backoff, backoffMax)`},
			pkg: lock, run: "TestBackOffDoublesUpToItsLimitAndEndsAfterQuiet",
		},
		{
			promise: "I6", what: "a look that is older than our own write counts as drift",
			edit: edit{"pkg/lock/known.go", `version != 0 && version <= s.version }`,
				`version != 0 && version == s.version }`},
			pkg: lock, run: "TestObserveSkipsWhatIsGoodOrOld",
		},
		{
			promise: "I6", what: "a look that came during our own write, and is older, counts as drift",
			edit: edit{lockFile, `s.pending.Version <= o.Version {`, `s.pending.Version > o.Version {`},
			pkg:  lock, run: "TestAnEventOlderThanOurOwnWriteIsNotDrift",
		},
		{
			promise: "I6", what: "a revert that the API server has refused often is tried at full pace again",
			edit: edit{state, `	delay := longest`, `	delay := retryMin`},
			pkg:  lock, run: "TestAFailedAttemptWaitsLongerEveryTimeAndAtMostAMinute",
		},
	}
}
