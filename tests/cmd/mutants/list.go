package main

import "slices"

// Packages with tests of the promises.
const (
	integration = "./tests/integration"
	order       = "./tests/order"
	ha          = "./tests/ha"
	fidelity    = "./tests/fidelity"
	controller  = "./pkg/controller"
	enforce     = "./pkg/enforce"
	guard       = "./pkg/proof"
	lock        = "./pkg/lock"
	manifest    = "./pkg/manifest"
	releases    = "./pkg/release"
	statusPage  = "./tests/page"
	drift       = "./pkg/drift"
	watch       = "./pkg/watch"
)

// mutants returns the list, in the order of the promises. Where two places keep a promise, and breaking one of them
// breaks nothing, there is no mutant of that one; a comment states that.
func mutants() []mutant {
	all := slices.Concat(neverRevertHelm(), neverDelete(), leaveNoTrace(), asHelmLeftIt(), nextUpgrades(),
		noDriftLost(), noWriteLoops(), secretsStaySecret(),
		noExemption(), allOrNothing(), badInput(), hostileInput(), costFollowsLocks(), noBorrowedRights(),
		neighbours(), everyKind(), tenantsApart(), guardNeverRefusesHelm(), whatIsToldIsTrue(),
		policiesAreKept(), teamsPauseTheirs(), recordsInConfigMaps(), textIsNoCoordinate(), lateViews(),
		whatIsRefused(), noRightByARecord())
	return slices.Concat(all, theOracle(), seenByTheOracle(all))
}
