package main

// leaveNoTrace are the mutants of I3.
func leaveNoTrace() []mutant {
	return []mutant{
		breaks("I3", "wrangler's ObjectSet metadata is written without being asked for",
			in(loading, "Loader.Marks").always("ObjectSetMetadata"), integration,
			"TestI3_LockingWritesNothing/to_the_objects.*3"),
		breaks("I3", "the finalizer of older operators stays",
			in(locking, "claimer.claim").never("Contains"), integration, "TestI3_LockingWritesNothing/and_takes"),
		breaks("I3", "a re-created object shows the operator as a field manager",
			in(enforce, "Revert.Creator").returns("managers.Revert"), integration,
			"TestI3_PuttingBackLeavesNoTrace/helm_3"),
	}
}

// asHelmLeftIt are the mutants of I4.
func asHelmLeftIt() []mutant {
	return []mutant{
		breaks("I4", "a patch is sent under the operator's own name",
			in(enforce, "writer.update").becomes("Revert.Manager", "managers.Revert"), order, "TestI4_AsHelm3LeftIt"),
		breaks("I4", "what Helm applied server-side is patched",
			in("pkg/revert", "newRevert").never("ManagedFieldsOperationApply"), order, "TestI4_AsHelm4LeftIt"),
		breaks("I4", "a created object is not handed over to Helm's server-side apply",
			in(enforce, "writer.create").never("ServerSide"), order, "TestI4_AsHelm4LeftWhatItTookOverFromHelm3"),
		breaks("I4", "others keep their shares of what Helm applies",
			in(enforce, "writer.disown").returns("done, nil"), fidelity,
			"TestI4_TheNextUpgradeNeedsNoForce/an_apply_of_other_values,_suspended_false"),
		breaks("I4", "an update under the name of Helm's manager passes for Helm's",
			in("pkg/managers", "Applied").always("Operation"), fidelity,
			"TestI4_TheNextUpgradeNeedsNoForce/a_patch_of_declared_nulls_as_helm,_suspended_false"),
		breaks("I4", "another manager keeps its share of a blank value that the API server has dropped",
			in(drifts, "sharer.below").skips("Unset"), fidelity, "TestI4_ABlankCABundleIsSharedWithNobody"),
		breaks("I4", "what others own of declared content is no drift",
			in(judging, "Input.owned").returns(""), judging, "TestI4_OwnershipIsJudged"),
		breaks("I4", "an event of an object that another manager owns by now is skipped",
			in(drifts, "walk.managed").returns("0, false, at, nil"), drifts, "TestI4_OwnershipIsPartOfTheDigest"),
		breaks("I4", "a revert that was not completed counts as one that was",
			in(judging, "Input.owned").returns(""), order,
			"TestHostile_AnOperatorDiesWithinARevert/renamed_port/after_request_1$").
			and(in("pkg/managers", "Unfinished").returns("false")).seenByTheOracle(),
		breaks("I4", "the writer that took an object away from its release is taken for Helm",
			in(judging, "Helm.on").becomes("ManagedBy", "drift.ManagedBy(managed)"), order, "TestI4_TakenAwayBeforeTheLock").
			and(in(drifts, "Owner.Replaced").returns("false")),
		breaks("I4", "an object that was judged before the others is created by the writer of the record",
			in(remediate, "reverter.writeAsHelm").skips("manager"), remediate,
			"TestI4_AnObjectJudgedFirstIsCreatedAsTheOthers"),
	}
}
