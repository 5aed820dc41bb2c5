package main

// teamsPauseTheirs are the mutants of the process for teams: a ReleaseLock pauses the lock of its own release, for a
// bounded time, and undoes nothing of the platform team.
func teamsPauseTheirs() []mutant {
	const pause, mirror = "pkg/teams/pause.go", "pkg/teams/mirror.go"
	const pkg, suite = "./pkg/teams", "./tests/chart"
	return []mutant{
		breaks("P1", "a pause of a team has any length",
			edit{pause, `until.After(latest.Time)`, `until.IsZero() && until.After(latest.Time)`}, pkg,
			"TestEachRequestIsAnsweredOnce"),
		breaks("P1", "a request is granted again while the status cannot be written",
			edit{pause, `	case granted.requested.Equal(asked):`, `	case asked.IsZero():`}, pkg, "TestOneRequestIsOnePause"),
		breaks("P1", "a time with a fraction of a second is granted again and again",
			edit{pause, `t.Truncate(time.Second)}`, `t.Truncate(time.Nanosecond)}`}, pkg, "TestOneRequestIsOnePause"),
		breaks("P1", "a team ends a pause of the platform team",
			edit{pause, `!hr.Spec.SuspendUntil.After(g.until.Time)`, `!hr.Spec.SuspendUntil.IsZero()`}, pkg,
			"TestEachRequestIsAnsweredOnce"),
		breaks("P1", "a ReleaseLock shows changes of objects in other namespaces",
			edit{mirror, `d.Object.Namespace == hr.Spec.Release.Namespace`, `d.Object.Namespace != ""`}, suite,
			"TestTeamsSeeTheirOwnDrift"),
		breaks("I7", "the end of an operator that does not renew its Lease is not noticed",
			edit{"pkg/teams/operators.go", `again > 0`, `again < 0`}, pkg, "TestAStoppedOperatorLocksNothing"),
		breaks("I7", "a revert has groups though several users may have sent it",
			edit{"pkg/events/senders.go", `len(users) > 1 {`, `len(users) > 9 {`}, "./pkg/events",
			"TestADriftIsOfTheRequestsThatFit"),
		breaks("I7", "an object that never existed is reported as deleted",
			edit{"pkg/controller/judge.go", `		if v.Existed {`, `		if true {`}, "./pkg/controller",
			"TestAnObjectThatWasNeverSeenIsMissing"),
		breaks("I7", "an object that was only reported is missing after its deletion",
			edit{"pkg/lock/outcome.go", `		s.existed = s.existed || o.Digest != 0
`, ``}, "./pkg/lock", "TestAnObjectExistedOnceItWasSeen"),
		breaks("I7", "a denied request is in no message",
			edit{"pkg/controller/notify.go", `		rep.sendDrift(l, &r)
`, ``}, "./tests/guard", "TestADenialIsNotified"),
		breaks("I7", "what a standby's guard has denied is in no message",
			edit{"pkg/stream/stream.go", `		s.at.Lease, s.at.Transition = lease, transition`,
				`		s.at.Lease, s.at.Transition, s.events = lease, transition, nil`}, "./tests/guard",
			"TestAStandbysDenialIsNotifiedWhenItLeads"),
		breaks("I7", "a receiver gets the messages of all namespaces",
			edit{"pkg/notify/filter.go", `return err == nil && matches`, `return err == nil || matches`}, "./pkg/notify",
			"TestAReceiverFiltersByNamespace"),
	}
}
