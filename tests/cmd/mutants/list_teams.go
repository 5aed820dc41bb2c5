package main

// teamsPauseTheirs are the mutants of the process for teams: a ReleaseLock pauses the lock of its own release, for a
// bounded time, and undoes nothing of the platform team.
func teamsPauseTheirs() []mutant {
	const pause, mirror = "pkg/teams/pause.go", "pkg/teams/mirror.go"
	const pkg, suite = "./pkg/teams", "./tests/chart"
	return []mutant{
		breaks("P1", "a pause of a team has any length",
			edit{pause, `until.After(latest)`, `until.IsZero() && until.After(latest)`},
			pkg, "TestEachRequestIsAnsweredOnce"),
		breaks("P1", "a request is answered again and again",
			edit{pause, `before != nil && before.Requested.Equal(asked)`, `before != nil && asked == nil`}, pkg,
			"TestEachRequestIsAnsweredOnce"),
		breaks("P1", "a team ends a pause of the platform team",
			edit{pause, `		hr.Spec.SuspendUntil.Equal(p.Until)`, `		!hr.Spec.SuspendUntil.IsZero()`}, pkg,
			"TestEachRequestIsAnsweredOnce"),
		breaks("P1", "a ReleaseLock shows changes of objects in other namespaces",
			edit{mirror, `d.Object.Namespace == hr.Spec.Release.Namespace`, `d.Object.Namespace != ""`}, suite,
			"TestTeamsSeeTheirOwnDrift"),
	}
}
