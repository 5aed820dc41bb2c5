package main

// noDriftLost are the mutants of I5.
func noDriftLost() []mutant {
	return []mutant{
		breaks("I5", "what a new list does not show is not looked at",
			in(observing, "Observer.Listed").becomes("Recheck", "false"), integration,
			"TestI5_DriftDuringAWatchGap/that_ends_with_a_new_list"),
		breaks("I5", "objects of a kind that is watched already are not looked at when they are locked",
			in(locking, "locks.watchAll").becomes("Recheck", "false"), integration, "TestI5_DriftDuringARelock"),
		breaks("I5", "an object is not read again after an attempt that failed",
			in(remediate, "result.readAgain").returns("nil"), integration,
			"TestI5_WhatTheAPIServerDoesNotAnswerIsAskedAgain"),
		breaks("I5", "an object that lost Helm's label is given up because it cannot be created",
			in(remediate, "reverter.notCreated").never("ReportedGone"), integration,
			"TestI5_LostLabelIsNotTakenForADeletion"),
		breaks("I5", "a Pod that runs once and has ended runs again",
			in(judging, "Input.notRecreated").returns(`""`), integration, "TestKinds_EndedPodDoesNotRunAgain"),
		breaks("I5", "a refused field withholds all others",
			in(remediate, "reverter.salvage").never("refused", "Changes"), fidelity,
			"TestI5_ARefusedFieldWithholdsNoOther/helm_3"),
		breaks("I5", "a deletion during a refused attempt waits as the refused content does",
			in(locks, "Lock.Done").skips("endWait"), locks, "TestI5_NewContentDuringARefusedAttemptIsNotHeldUp"),
		breaks("I5", "an observation older than the write of an attempt counts after it",
			in(locks, "Lock.Done").never("version", "rewound"), locks,
			"TestI5_OldContentDuringARefusedAttemptEndsNoWait"),
		breaks("I5", "a later write in the name of Helm is excused",
			in(drifts, "Owner.LeftByHelm").never("After", "deployed"), drifts, "TestI5_WhatManagedFieldsExcuse"),
		breaks("I5", "a field that another manager wrote after Helm's apply is taken from it",
			in(enforce, "without").always("own", "hasParts"), enforce,
			"TestI5_OnlySharesOfFieldsThatHelmOwnsAreTaken"),
		breaks("I5", "a HelmRelease is not looked at again after a refusal",
			in(locking, "Locker.Next").skips("AddRateLimited"), policySuite, "TestI5_AnyRequestOfAStartMayFail"),
		breaks("I5", "a standby that begins to lead does not act on what it saw",
			in(controller, "Controller.Lead").skips("Resume"), ha, "TestHA_StandbyAsksNothingTwice"),
		breaks("I5", "a leader that stops keeps its lease",
			in("pkg/process", "Election.Run").sets("ReleaseOnCancel", "false"), ha,
			"TestHA_ThreeReplicasStoppedOneAfterTheOther"),
		breaks("I5", "the HelmReleases of another shard are looked after, too",
			in(rosters, "Roster.InShard").always("Matches"), ha, "TestShards_EachLooksAfterItsOwn"),
		breaks("I5", "what is observed after a restored backup is older than what was before",
			in(locks, "Lock.Rewind").returns(""), ha, "TestHostile_EtcdIsRestoredFromABackup"),
	}
}

// noWriteLoops are the mutants of I6.
func noWriteLoops() []mutant {
	return []mutant{
		breaks("I6", "an object that differs at the first look is written without asking what a write would change",
			in(remediate, "Remediation.revert").never("Unclear"), integration,
			"TestI6_NormalisedValuesAreNotFought/helm_3"),
		breaks("I6", "a fight is noticed and not slowed down",
			in(locks, "state.wait").becomes("Wait", "0"), integration, "TestI6_FightIsNamedAndSlowedDown"),
		breaks("I6", "a definition that changes while a release is loaded is missed",
			in(locking, "locks.begin").always("IsCurrent"), integration,
			"TestI6_ADefinitionChangesWhileAReleaseIsLoaded"),
		breaks("I6", "what was settled once is not remembered",
			in(judging, "Unsettled.Recall").returns("u.r"), fidelity, "TestI6_WhatWasSettledOnceStays/restart"),
		breaks("I6", "the memory of one record counts for the next one",
			in(locks, "Lock.Settled").always("Record", "UID"), locks,
			"TestI6_SettledFormsAreThoseOfARecordAndADesiredState"),
		breaks("I6", "numbers of replicas within the range of an autoscaler are fought",
			in(judging, "scaling.isLeft").returns("false"), integration, "TestAutoscaler"),
		breaks("I6", "a fight does not name the user whom the guard saw",
			in(admit, "Admission.remember").returns(""), guardSuite, "TestI6_AFightNamesTheUserThatTheGuardSaw"),
	}
}
