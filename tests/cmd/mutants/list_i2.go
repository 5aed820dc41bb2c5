package main

// neverDelete are the mutants of I2.
func neverDelete() []mutant {
	const leftovers = "TestI2_LeftoversOfEarlierRevisionsArePruned"
	checked := in(proof, "Verifier.Holds").always("Same")
	return []mutant{
		breaks("I2", "when the record of a release is lost, the release stays locked",
			in(watches, "store.gone").skips("remove"), integration, "TestI2_LostReleaseSecretDeletesNothing"),
		breaks("I2", "when a HelmRelease is deleted, its release stays locked",
			in(locking, "locks.untrack").skips("unlock"), integration, "TestI2_DeletedHelmReleaseChangesNothing"),
		breaks("I2", "when a record cannot be decoded, its release stays locked",
			in(locking, "Locker.lock").skips("unlock", "prob"), integration,
			"TestI2_DecodeErrorDeletesNothing").and(checked),
		breaks("I2", "a leftover that is to be kept is deleted",
			in(pruning, "Pruner.stays").never("keep", "Kept"), integration, leftovers),
		breaks("I2", "leftovers that hold data are deleted",
			in(pruning, "Pruner.stays").never("HoldsData"), integration, leftovers),
		breaks("I2", "an object that the revision lists as a hook is a leftover",
			in(pruning, "Pruner.stays").never("Hooks"), integration, "TestI2_AHookIsNoLeftover"),
		breaks("I2", "leftovers are deleted in mode Detect",
			in(pruning, "Pruner.prune").never("Detect"), integration,
			"TestI2_DetectReportsLeftoversAndDeletesNothing"),
		breaks("I2", "objects are pruned for a HelmRelease of a moment ago",
			in(pruning, "Pruner.prune").never("err", "asked"), integration,
			"TestHostile_NothingIsPrunedForAReleaseThatHasJustBeenSuspended"),
		breaks("I2", "objects are pruned while a kind of a revision is unknown",
			in(pruning, "candidates.unknown").returns("false"), controller,
			"TestI2_ObjectDeclaredAtAVersionThatIsNotServedIsNotPruned"),
		breaks("I2", "what Helm installs where the release is goes as a leftover of the records elsewhere",
			in(proof, "Verifier.Current").never("As"), integration,
			"TestI2_StoredElsewhere_WhatHelmInstallsIsNotPruned").
			and(in(pruning, "Pruner.stays").always("Before")).seenByTheOracle(),
		breaks("I2", "after a creation without an answer, whatever has its name is deleted",
			in(proving, "Prover.mayBeResult").returns("true, nil"), ha,
			"TestI2_CreationThatFailedTakesNobodysObjectBack"),
		breaks("I2", "a patch to no target is written",
			in(enforce, "Revert.patch").never("Target"), enforce, "TestI2_ARevertWithoutATargetIsNoPatch"),
		breaks("I2", "a revert whose changes all go with the refused one is written without a target",
			in(remediate, "reverter.restoreBut").never("Target"), fidelity, "TestI2_AllChangesGoWithTheRefusedOne").
			and(in(enforce, "Revert.patch").never("Target")),
	}
}
