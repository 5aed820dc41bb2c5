package main

// guardNeverRefusesHelm are the mutants of I13.
func guardNeverRefusesHelm() []mutant {
	return []mutant{
		breaks("I13", "the record is not read before a refusal",
			in(admit, "Admission.mayPass").always("holds"), guardSuite, "TestI13_ARecordThatIsOnItsWay"),
		breaks("I13", "a release that takes an object over is refused it",
			in(claiming, "Others.stanceOf").never("declared", "works"), guardSuite, "TestI13_AnotherReleaseTakesOver"),
		breaks("I13", "Helm may not delete an object that the newest revision of a release drops",
			in(claiming, "Others.stanceOf").never("found"), guardSuite, "TestI13_HandedOver"),
		breaks("I13", "changes in a namespace that is being deleted are refused",
			in(admit, "Admission.namespaceGoes").returns(`""`), guardSuite, "TestI13_NamespacesAndOwnersGo"),
		breaks("I13", "the guard refuses by a HelmRelease of a moment ago",
			in(admit, "Admission.mayPass").never("asked", "Closed"), guardSuite, "TestHostile_ARefusalByALateView"),
		breaks("I13", "a guard that is down blocks every write",
			in(guarding, "webhooks").becomes("Ignore", "admissionregistrationv1.Fail"), guardSuite,
			"TestI13_ABrokenGuardBlocksNothing|TestI13_AStoppedOperatorBlocksNothing"),
		breaks("I13", "the API server asks the operator about its own requests",
			in(guarding, "conditions").never("self"), guarding, "TestKeeperRegistersWhatIsWanted"),
		breaks("I13", "a deletion of a tracked object passes",
			in(judging, "Admission.deletion").returns("AdmitNoDrift"), guardSuite, "TestI13_WhatPeopleDoIsRefused"),
		breaks("I13", "the registration of a guard that is not served stays",
			in("pkg/operator", "program.retireGuard").returns(""), guardSuite,
			"TestI13_AGuardThatIsTurnedOffIsNotAskedAnyMore"),
	}
}
