package main

// lateViews are the mutants of decisions by the events of watches, which may be late, missing or out of date.
func lateViews() []mutant {
	const answers = "pkg/admit/admit.go"
	return []mutant{
		breaks("I6", "numbers of replicas are restored by what the watch of autoscalers has delivered",
			edit{"pkg/controller/remediation.go", `	differing = rm.comparer.rescaled(ctx, l, differing)`, ``}, integration,
			"TestHostile_AutoscalerIsDeliveredLate"),
		breaks("I6", "autoscalers that are not known are none",
			edit{"pkg/judge/replicas.go", `	if s.in.ScalersUnknown && s.in.Replicas == nil {
		return true`, `	if s.in.ScalersUnknown && s.in.Replicas == nil {
		return false`}, integration, "TestHostile_AutoscalersThatCannotBeListed"),
		breaks("I5", "a number of replicas that was left alone is not looked at again",
			edit{"pkg/controller/judge.go", `	if v.unknown != nil {`, `	if v.unknown != nil && v.Live == nil {`}, integration,
			"TestCoexistence_AutoscalersThatAreNotAnswered"),
		breaks("I6", "an autoscaler whose range is left to others counts by its manifest",
			edit{"pkg/judge/plan.go", ` && !IgnoresRange(o.ID, matcher)`, ``}, judgePkg,
			"TestPlan"),
		breaks("I13", "the guard refuses a scale by what the watch of autoscalers has delivered",
			edit{answers, `	if q.Rescales(changes) {`, `	if q.Rescales(changes) && q.DryRun {`}, guardSuite,
			"TestHostile_ARefusalByALateView"),
		breaks("I13", "the guard refuses by a HelmRelease of a moment ago",
			edit{answers, `	case !asked || q.lock.Closed():`, `	case !asked && q.lock.Closed():`}, guardSuite,
			"TestHostile_ARefusalByALateView"),
		breaks("I13", "the guard of scale forgets the kinds that are discovered again",
			edit{"pkg/controller/kinds.go", `	c.kinds.Reset()`, `	c.kinds.Reset()
	c.lockedKinds = lock.Kinds{}`}, guardSuite, "TestHostile_AReleaseThatWaitsForAKind").
			and(edit{"pkg/controller/kinds.go", `import (`, `import (
	"github.com/rancher/helm-locker/pkg/lock"`}),
		breaks("I2", "objects are pruned for a HelmRelease of a moment ago",
			edit{"pkg/controller/pruning.go", `pr.stillAsked(ctx, l); err != nil || !asked {`,
				`pr.stillAsked(ctx, l); err != nil && !asked {`}, integration,
			"TestHostile_NothingIsPrunedForAReleaseThatHasJustBeenSuspended"),
		breaks("I2", "objects are replaced for a HelmRelease of a moment ago",
			edit{"pkg/controller/replace.go", `rv.stillAsked(ctx, l); err != nil || !asked {`,
				`rv.stillAsked(ctx, l); err != nil && !asked {`}, integration,
			"TestHostile_NothingIsReplacedOnceThatIsNotAskedFor"),
		breaks("I5", "resource versions that begin again are not noticed",
			edit{"pkg/watch/feed.go", `	if n >= before {`, `	if n+before >= before {`}, watch, "TestHostile_VersionsBeginAgain"),
		breaks("I5", "what is observed after a restored backup is older than what was before",
			edit{"pkg/lock/known.go", `s.version, s.rewound = 0, s.inFlight`, `s.rewound = s.inFlight`}, ha,
			"TestHostile_EtcdIsRestoredFromABackup"),
		breaks("I5", "what a worker has seen before a restored backup counts after it",
			edit{"pkg/lock/outcome.go", `	if o.Version > s.version && !rewound {`, `	if o.Version > s.version {
		_ = rewound`}, lock, "TestHostile_ObservationsOfARestoredBackupAreBelieved"),
		breaks("I5", "a watch goes on although the API server was away",
			edit{"pkg/watch/lifetime.go", `	if err == nil && away && !lists(&o) {`, `	if err == nil && away && lists(&o) {`}, watch,
			"TestHostile_AnAPIServerThatWasAwayIsListedAgain"),
	}
}
