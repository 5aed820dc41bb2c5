package main

// noRightByARecord are the mutants of I14: the path of each write, and the trust in records.
func noRightByARecord() []mutant {
	const forged = "TestI14_AForgedRecordGivesItsWriterNoRight"
	return []mutant{
		breaks("I14", "the controller deletes an object without the kernel",
			in(pruning, "Pruner.deleteCandidate").becomes("Prune", "pr.Metadata.Resource(d.GVR)."+
				"Namespace(d.ID.Namespace).Delete(ctx, d.ID.Name, metav1.DeleteOptions{})"), "tests/callgraph",
			"TestI14_EveryWriteGoesThroughTheKernel"),
		breaks("I14", "what annotations say is taken for a release",
			in(judging, "ClaimedBy").becomes("KeyOf", "release.Key{Name: annotations[manifest.ReleaseNameAnnotation], "+
				"Namespace: annotations[manifest.ReleaseNamespaceAnnotation]}"), tenancy,
			"TestHostile_AnnotationsAreNoCoordinates").seenByTheOracle(),
		breaks("I14", "a writer without rights is trusted",
			in(witnessing, "hearing.lacks").returns("nil, nil"), guardSuite, forged),
		breaks("I14", "a doubted record is enforced",
			in(locking, "Locker.lock").never("loaded", "Doubt"), guardSuite, forged),
		breaks("I14", "a doubted record is trusted although something is to be written",
			in(pruning, "Pruner.wouldWrite").returns("false"), guardSuite, "TestI14_AnEarlierManifestIsNotReplayed"),
		breaks("I14", "the writes of all users count",
			in(witnessing, "hearing.judge").never("NeverWriters"), guardSuite,
			"TestI14_NeverWritersMakeNoRecordTrusted"),
		breaks("I14", "who hides a pending record ends Helm's work",
			in("pkg/trust", "State.leave").returns(""), guardSuite, "TestHostile_HelmIsAtWorkWhenItsRecordIsHidden"),
	}
}

// noBorrowedRights are the mutants of T1: a release is written with the rights of its account, and with no others.
func noBorrowedRights() []mutant {
	return []mutant{
		breaks("T1", "the operator writes in its own name although the release has an account",
			in(enforce, "Enforcer.as").becomes("Account", `""`), tenancy,
			"TestImpersonation_OneReleaseOfAnOrdinaryOperator").seenByTheOracle(),
		breaks("T1", "a release owns what its account may not change",
			in(locking, "rights.hold").never("allowed"), tenancy,
			"TestAttack_ForgedRecordTakesNoObjectOfAnother"),
		breaks("T1", "leftovers are not deleted in the name of the account",
			in(pruning, "Pruner.prune").sets("Account", `""`), tenancy, "TestAttack_ForgedHistoryDeletesNothingOfOthers"),
	}
}

// whatIsToldIsTrue are the mutants of T2: reported facts are true.
func whatIsToldIsTrue() []mutant {
	return []mutant{
		breaks("T2", "a release that its account may not change passes for locked",
			in("pkg/status", "uncovered").never("Denials"), tenancy,
			"TestHostile_AnAccountWithoutRightsIsNoLock"),
		breaks("T2", "diff promises a revert that the API server refuses",
			in("pkg/inspect", "comparer.compareOnce").never("RefusesContent"), fidelity,
			"TestDiffShowsWhatTheAPIServerRefuses"),
	}
}

// policiesAreKept are the mutants of P1: exactly the HelmReleases required by the policies exist.
func policiesAreKept() []mutant {
	return []mutant{
		breaks("P1", "a policy hands the operator's rights to all who may write a record",
			in("pkg/policy", "OwnRights").returns("false"), tenancy,
			"TestHostile_ForgedRecordUnderAPolicyGainsNothing").seenByTheOracle(),
		breaks("P1", "a policy takes the place of what was written by hand",
			in("pkg/policy", "planner.decide").never("by"), policySuite, "TestPolicy_HandWrittenWins"),
		breaks("P1", "a rollout reverts drift unasked",
			in("pkg/policy", "planner.queue").never("IsStatusConditionTrue"), policySuite,
			"TestPolicy_RolloutHoldsReleasesWithDrift"),
		breaks("P1", "a HelmRelease is deleted whatever became of it meanwhile",
			in(policies, "worker.write").sets("ResourceVersion", "nil"), policySuite, "TestPolicy_DeletesOnlyWhatItHasSeen"),
	}
}

// theOracle are the mutants of the oracle: each makes it overlook one way to break a promise.
func theOracle() []mutant {
	const oracle = "tests/oracle"
	return []mutant{
		breaks("I1", "oracle: a write to another value than the declared one is overlooked",
			in(oracle, "judge.changed").returns("nil"), oracle, "TestRules"),
		breaks("I1", "oracle: a write need not be proven", in(oracle, "judge.proven").returns(""), oracle, "TestRules"),
		breaks("I2", "oracle: any object may be deleted", in(oracle, "judge.deletion").returns(""), oracle, "TestRules"),
		breaks("I14", "oracle: any account may be used", in(oracle, "judge.rights").returns(""), oracle,
			"TestRules|TestRights"),
	}
}
