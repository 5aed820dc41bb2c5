package main

import "slices"

// The suites of the promises.
const (
	integration = "tests/integration"
	order       = "tests/order"
	ha          = "tests/ha"
	fidelity    = "tests/fidelity"
	tenancy     = "tests/tenancy"
	guardSuite  = "tests/guard"
	policySuite = "tests/policy"
)

// Packages of the program, some of them also with tests of a promise. When a function moves, its place changes here.
const (
	proof   = "pkg/proof"
	enforce = "pkg/enforce"
	judging = "pkg/judge"
	drifts  = "pkg/drift"
	locks   = "pkg/lock"
	records = "pkg/release"
	watches = "pkg/watch"
	fair    = "pkg/fair"

	claiming   = "pkg/claims"
	admit      = "pkg/admit"
	guarding   = "pkg/guard"
	witnessing = "pkg/witness"
	policies   = "pkg/policies"

	controller = "pkg/controller"
	locking    = "pkg/locking"
	remediate  = "pkg/remediate"
	pruning    = "pkg/prune"
	proving    = "pkg/proving"
	writing    = "pkg/writing"
	reporting  = "pkg/reporting"
	loading    = "pkg/load"
	observing  = "pkg/observe"
	rosters    = "pkg/roster"
	ledgers    = "pkg/ledger"
)

// mutants returns the lists. Where two safeguards keep a promise, and breaking one of them breaks nothing, the mutant
// has both faults.
func mutants() []mutant {
	return slices.Concat(neverRevertHelm(), provenWrites(), neverDelete(), leaveNoTrace(), asHelmLeftIt(),
		noDriftLost(), noWriteLoops(), secretsStaySecret(), noExemption(), allOrNothing(), badInput(),
		costFollowsLocks(), tenantsApart(), guardNeverRefusesHelm(), noRightByARecord(), noBorrowedRights(),
		whatIsToldIsTrue(), policiesAreKept(), theOracle())
}
