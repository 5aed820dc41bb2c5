package main

// noWriteLoops are the mutants of I6.
func noWriteLoops() []mutant {
	const judge, budget, lockFile, state = "pkg/controller/judge.go", "pkg/lock/budget.go", "pkg/lock/lock.go",
		"pkg/lock/state.go"
	const settled, remembered = "pkg/lock/settled.go", "TestI6_SettledFormsAreThoseOfARecordAndADesiredState"
	const fight, normalised = "TestI6_FightIsNamedAndSlowedDown", "TestI6_NormalisedValuesAreNotFought/helm_3"
	return []mutant{
		breaks("I6", "lists are compared as a whole as a definition was not answered for",
			edit{"pkg/controller/definitions.go", `	case err != nil && !apierrors.IsForbidden(err):`,
				`	case err != nil && crd != nil && !apierrors.IsForbidden(err):`}, integration,
			"TestI6_ADefinitionIsReadAgainAfterAFailure"),
		breaks("I6", "a release is loaded again and again until the watch has the definition that was read",
			edit{"pkg/controller/definitions.go", `		if version(crd) < version(seen) {`,
				`		if version(crd) != version(seen) {`}, "./pkg/controller", "TestDefinitions"),
		breaks("I6", "a definition that changes while a release is loaded is missed",
			edit{"pkg/controller/locking.go", `changesSoFar() != loaded.definitions`,
				`changesSoFar() < loaded.definitions`}, integration,
			"TestI6_ADefinitionChangesWhileAReleaseIsLoaded"),
		breaks("I6", "an object that differs at the first look is written without asking what a write would change",
			edit{"pkg/controller/remediation.go", `		if v.Found.State == judge.Unclear {`,
				`		if v.Found.State == judge.Unclear && v.GVK.Kind == "" {`}, integration, normalised),
		breaks("I6", "nothing is learnt from what the API server returns",
			edit{"pkg/drift/learn.go", `	learnt := Baseline{}
`, `	learnt := Baseline{}
	if opt.Accepted == nil {
		return learnt
	}
`}, integration, normalised),
		breaks("I6", "the stringData of a Secret is compared as it is declared",
			edit{"pkg/manifest/resolve.go", `	declared, found := secret["stringData"]
	if !found {`, `	declared, found := secret["stringData"]
	if found {`}, integration, normalised),
		breaks("I6", "a number that its type cannot hold counts as one that the server takes",
			edit{"pkg/manifest/canonical.go", `json.Unmarshal(data, typed); err != nil {`,
				`json.Unmarshal(data, typed); err != nil && len(data) == 0 {`}, manifest,
			"TestCanonicalWritesLeavesAsTheServerDoes"),
		breaks("I6", "a fight is never noticed", edit{budget, `	b.fight = b.fight || begins
`, ``}, integration, fight),
		breaks("I6", "a fight is noticed and not slowed down",
			edit{state, `	return max(e.budget.Wait(now), left, 0)`, `	return max(left, 0)`}, integration, fight),
		breaks("I6", "a fight over one object slows the others of its release down",
			edit{lockFile, `		if wait := s.wait(now); wait > 0 {`, `		wait := s.wait(now)
		for _, other := range l.objects {
			wait = max(wait, other.wait(now))
		}
		if wait > 0 {`}, integration, fight),
		breaks("I6", "the opponent of a fight is not named",
			edit{"pkg/status/contention.go", `		if r.FieldManager == "" {`,
				`		if r.FieldManager != "" {`}, integration, fight),
		breaks("I6", "a writer that takes paths in turns is noticed late",
			edit{budget, `	b.repeats = b.repeats.after(seen, now)`, `	b.repeats.reverts = longest - 1`}, lock,
			"TestTakingPathsInTurnsHidesNoFight"),
		breaks("I6", "a fight over a removed field names no path",
			edit{"pkg/status/contention.go", `	if len(texts) == 0 {`, `	if len(texts) == 0 && anyone == "" {`},
			"./pkg/status", "TestAContendedObjectIsNamedWithItsPathsWithoutAnAuthor"),
		breaks("I6", "a revert by server-side apply sends what a webhook changed as it is declared",
			edit{"pkg/drift/ignored.go", `!ignored && s.isAccepted(`, `ignored && s.isAccepted(`}, "./pkg/drift",
			"TestWithoutIgnoredSendsWhatIsAccepted"),
		breaks("I6", "a writer that insists on its value has it for longer and longer",
			edit{budget, `	b.wait = max(b.bucket.take`, `	b.wait = time.Duration(longest) * max(b.bucket.take`},
			lock, "TestInsistingGetsOneSecondAtMost"),
		breaks("I6", "a writer that adds another key each time is never noticed",
			edit{"pkg/controller/contention.go", `		if c.Op == drift.Added {
			path =`, `		if c.Op == drift.Added && path == "" {
			path =`}, "./pkg/controller",
			"TestAnAdditionCountsAsItsParentInAFight"),
		breaks("I6", "an answer counts from the revert, and not from when it was seen",
			edit{budget, `	if s.over(seen) {`, `	if s.over(now) {`}, lock,
			"TestAnAnswerCountsFromWhenItIsSeen"),
		breaks("I6", "drifts of a release that no writer repeats draw on its budget",
			edit{budget, `	if longest == 1 {`, `	if longest == 0 {`}, lock,
			"TestDriftsOfManyObjectsDrawNothingFromTheStormBudget"),
		breaks("I6", "a look that is older than our own write counts as drift",
			edit{"pkg/lock/known.go", `version != 0 && version <= s.version }`,
				`version != 0 && version == s.version }`}, lock, "TestObserveSkipsWhatIsGoodOrOld"),
		breaks("I6", "a look that came during our own write, and is older, counts as drift",
			edit{"pkg/lock/outcome.go", `s.pending.Version <= o.Version {`, `s.pending.Version > o.Version {`}, lock,
			"TestAnEventOlderThanOurOwnWriteIsNotDrift"),
		breaks("I6", "a revert that the API server has refused often is tried at full pace again",
			edit{state, `	delay := longest`, `	delay := retryMin`}, lock,
			"TestAFailedAttemptWaitsLongerEveryTimeAndAtMostAMinute"),
		breaks("I6", "the memory of one record counts for the next one",
			edit{settled, `before.Record == l.Record.UID`, `before.Record != ""`}, lock, remembered),
		breaks("I6", "the memory of an object counts for another desired state",
			edit{settled, `o.ID.String(), string(desired))`, `o.ID.String(), string(desired[:0]))`}, lock, remembered),
		breaks("I6", "what was settled is forgotten while another lock judges its objects",
			edit{settled, `(!current || s.judged && !s.reported)`, `(!current || s.reported)`}, lock,
			"TestI6_SettledFormsStayWhileNothingElseIsKnown"),
		breaks("I6", "what was settled is not asked for",
			edit{"pkg/controller/form.go", `	if settled != nil && v.First {`, `	if settled != nil && settled.Record == "" {`},
			fidelity, "TestI6_WhatWasSettledOnceStays/restart"),
		breaks("I6", "what only Helm has written is written again by an operator that has no memory",
			edit{"pkg/judge/settled.go", `	if len(excused) == 0 {`, `	if len(excused) >= 0 {`}, fidelity,
			"TestI6_WhatWasSettledOnceStays/upgrade_of_the_operator"),
		breaks("I5", "a later write in the name of Helm is excused",
			edit{"pkg/drift/settled.go", `timeOf(&managedFields[at]).After(deployed.Time)`,
				`deployed.Time.IsZero()`}, "./pkg/drift", "TestI5_WhatManagedFieldsExcuse"),
		breaks("I5", "a field that is not Helm's any more is excused",
			edit{"pkg/drift/settled.go", `ch.Op == Added || !owners.Owned(`, `ch.Op == Added || owners == nil && owners.Owned(`},
			"./pkg/drift", "TestI5_WhatManagedFieldsExcuse"),
		breaks("I5", "a write through the subresource scale is overlooked",
			edit{"pkg/drift/settled.go", `e.Subresource != "status" &&`, `e.Subresource == "" &&`}, "./pkg/drift",
			"TestI5_WhatManagedFieldsExcuse"),
		breaks("I5", "statuses wait for the read of the settled forms",
			edit{"pkg/settled/settled.go", `	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.formsOf(uid)`, `	m.reading.Lock()
	defer m.reading.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.formsOf(uid)`}, fidelity, "TestI5_StatusesDoNotWaitForTheSettledForms"),
		breaks("I5", "a map of Helm's passes for its keys, which another manager has taken over",
			edit{"pkg/drift/settled.go", `NewOwnership(managedFields, desired, live)`,
				`NewOwnership(managedFields[at:at+1], desired, live)`}, "./pkg/drift", "TestI5_WhatManagedFieldsExcuse"),
		breaks("I5", "a client under Helm's name is Helm",
			edit{"pkg/drift/settled.go", `(later || another)`, `(later || another && i < 0)`}, "./pkg/drift",
			"TestI5_WhatManagedFieldsExcuse"),
	}
}
