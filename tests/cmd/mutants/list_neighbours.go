package main

// neighbours are the mutants of the rules about what others do beside Helm and the operator: who deletes with a
// finalizer, what the operator itself works with, autoscalers, and other tools that are built on Helm.
func neighbours() []mutant {
	const judge, deletion = "pkg/judge/judge.go", "pkg/controller/deletion.go"
	const verifier = "pkg/proof/verifier.go"
	return []mutant{
		breaks("I5", "an object whose deletion is pending is not compared",
			edit{judge, `	if in.Live.GetDeletionTimestamp() != nil {
`, `	if in.Live.GetDeletionTimestamp() != nil {
		return Result{State: BeingDeleted, Deletion: drift.DescribeDeletion(in.Live)}
	}
	if in.Live.GetDeletionTimestamp() != nil {
`}, integration, "TestDeletion_ContentIsProtectedWhileItIsPending"),
		breaks("I5", "a pending deletion is no drift once the content is restored",
			edit{deletion, `	if live.GetDeletionTimestamp() == nil || !o.Good {`,
				`	if live.GetDeletionTimestamp() != nil || !o.Good {`}, integration,
			"TestDeletion_ContentIsProtectedWhileItIsPending"),
		breaks("I5", "a declared finalizer is added to an object that is being deleted",
			edit{judge, `		desired = drift.WithoutDoneFinalizers(desired, in.Live)`,
				`		_ = drift.WithoutDoneFinalizers`}, integration, "TestDeletion_FinalizerOfTheManifestMayEnd"),
		breaks("I2", "the deletion of a volume claim is completed",
			edit{"pkg/judge/deletion.go", `!= nil && HoldsData(in.ID.GroupKind())`,
				`!= nil && !HoldsData(in.ID.GroupKind())`}, integration, "TestDeletion_Strict"),
		breaks("I2", "an object whose deletion is pending is replaced",
			edit{"pkg/controller/replace.go", ` && v.found.Deletion == ""`, ``}, integration,
			"TestDeletion_PendingBeforeTheLock"),
		breaks("I5", "a manifest may declare the operator's Lease",
			edit{"pkg/judge/plan.go", `	case reserved != "":`, `	case reserved == "never":`}, integration,
			"TestOwnObjects_AreNobodysTrackedObjects"),
		breaks("I5", "the Lease of a shard is tracked",
			edit{"pkg/judge/own.go", ` || strings.HasPrefix(id.Name, own.Name+"-")`, ``}, "./pkg/judge", "TestReserved"),
		breaks("I6", "a release tracks the Secret of the guard",
			edit{"pkg/judge/own.go", `	case mine && (o.ID.Name == own.Guard || `, `	case mine && (o.ID.Name == own.Fence || `},
			"./pkg/judge", "TestReserved"),
		breaks("I6", "a release tracks the definition of HelmReleasePolicies",
			edit{"pkg/judge/own.go", `id.Name == v1alpha1.PolicyResourceName+"."`, `id.Name == "."`}, "./pkg/judge",
			"TestReserved"),
		breaks("I2", "what is added to a selector during a revert becomes Helm's",
			edit{"pkg/enforce/ownership.go", `			last.Owned = r.Owner.Applied(now`, `			_ = r.Owner.Applied(now`}, integration,
			"TestScope_StrictRemovesWhatIsAddedDuringARevert"),
		breaks("I6", "scaling outside of an autoscaler's range falls to the manifest's number",
			edit{"pkg/judge/replicas.go", ` || r.Min > r.Max {`, ` || r.Min <= r.Max {`}, integration,
			"TestAutoscaler_OutsideOfTheRange"),
		breaks("I6", "a Deployment comes back with the manifest's number of replicas and not the autoscaler's",
			edit{"pkg/judge/replicas.go", `in.Chosen == nil || !r.Contains(*in.Chosen)`,
				`in.Chosen == nil || r.Contains(*in.Chosen)`}, integration, "TestAutoscaler_OutsideOfTheRange"),
		breaks("I6", "replicas go back below what the autoscaler wants",
			edit{"pkg/judge/autoscale.go", `max(n, wanted, r.Min)`, `max(n, r.Min)`}, "./pkg/judge",
			"TestWithinTheRange"),
		breaks("I6", "scope Strict takes undeclared replicas away from an autoscaler",
			edit{"pkg/judge/replicas.go", `		return in.autoscaler() != nil`, `		return false`}, integration,
			"TestAutoscaler_UndeclaredReplicasInStrict"),
		breaks("I4", "of two tools that are built on Helm the older one is taken for Helm",
			edit{"pkg/drift/owner.go",
				`score == bestScore && hasHelmName(entry) && outranks(entry, best)`,
				`score == bestScore && best == nil && outranks(entry, best)`}, fidelity, "TestTools_TheNewerOnesShareStays"),
		breaks("I4", "within one second the first of two tools is taken for Helm", edit{"pkg/drift/owner.go", `a != b {
		return a > b
	}`, `a != b {
		return a < b
	}`}, drift, "TestOfTwoToolsTheOneThatWroteLastIsHelm"),
		breaks("I6", "a server-side apply takes out what others added to a selector",
			edit{"pkg/drift/ignored.go", `!ignored && n.isWhole()`, `ignored && n.isWhole()`}, drift,
			"TestWithoutIgnoredLeavesAMapToWhoAddedToIt"),
		breaks("T1", "a record speaks for a release that has records of its own in another namespace",
			edit{"pkg/controller/records.go",
				`	if newest, found := lo.records.Newest(rel.Key); found && newest.Status != release.StatusUninstalled {`, `	if _, found := lo.records.Newest(rel.Key); found && rel.Name == "" {`},
			integration, "TestStoredElsewhere_ForgedForAReleaseThatExists"),
		breaks("I1", "a release whose records are stored elsewhere does not own its objects",
			edit{"pkg/controller/owners.go", `		rec, found, err = newestThatCounts(ctx, v, locked)`,
				`		return nil, nil`}, integration,
			"TestStoredElsewhere_ItsObjectsAreItsOwn"),
		breaks("I12", "a record in a third namespace speaks for a release that is stored elsewhere",
			edit{"pkg/controller/owners.go", `	if err == nil && !found && locked != (release.Key{}) {`,
				`	if err == nil && !found && locked != (release.Key{}) && v == nil {`}, integration,
			"TestHostile_StoredElsewhere_ForgedRecordsOwnNothing"),
		breaks("I12", "an object of a release that is stored elsewhere seems to be another one's",
			edit{"pkg/controller/judge.go", `Release: l.As, Desired`, `Release: l.Release, Desired`}, integration,
			"TestStoredElsewhere_IsLocked"),
		breaks("I1", "a proof does not hold for where the release is, but for where its records are stored",
			edit{verifier, `	if rec.As != (release.Key{}) {`, `	if rec.As != (release.Key{}) && rec.UID == "" {`},
			integration, "TestI1_StoredElsewhere_WhatHelmDeletesIsNotReCreated"),
		breaks("I2", "what Helm installs where the release is goes as a leftover of the records elsewhere",
			edit{verifier, `	if rec.As != (release.Key{}) {`, `	if rec.As != (release.Key{}) && rec.Revision == 0 {`},
			integration, "TestI2_StoredElsewhere_WhatHelmInstallsIsNotPruned").
			and(edit{"pkg/controller/pruning.go", `	case !live.GetCreationTimestamp().Time.Before(l.Record.Stored):`,
				`	case l.Closed():`}),
		breaks("I13", "Helm is refused what it does where the release is",
			edit{verifier, `	if rec.As != (release.Key{}) {`, `	if rec.As != (release.Key{}) && rec.ObjectName == "" {`},
			guardSuite, "TestI13_StoredElsewhere_HelmTakesOverWhereTheReleaseIs"),
		breaks("I1", "a release that is stored elsewhere and not locked takes nothing over",
			edit{"pkg/controller/owners.go", `	return v.Elsewhere(ctx, other)`, `	return nil, nil`}, integration,
			"TestI1_StoredElsewhere_AnUnlockedReleaseTakesOver"),
		breaks("I13", "a release that is stored elsewhere and not locked is refused what it takes over",
			edit{"pkg/controller/claimants.go", `	for _, place := range places {`,
				`	for _, place := range places[:0] {`}, guardSuite,
			"TestI13_StoredElsewhere_AnUnlockedReleaseTakesOver"),
		breaks("I12", "a record owns objects that name another release than its payload",
			edit{"pkg/controller/declared.go", `d.as == named) && d.has(id)`, `d.as.Name != "") && d.has(id)`}, integration,
			"TestHostile_StoredElsewhere_ForgedRecordsOwnNothing"),
		breaks("I12", "an older record counts where the newest one is malformed",
			edit{"pkg/proof/elsewhere.go", `!malformed[key] && `, ``}, integration,
			"TestHostile_StoredElsewhere_ForgedRecordsOwnNothing"),
		breaks("I4", "objects without a namespace go to that of the record",
			edit{"pkg/controller/records.go", `manifest.Release(rel.Key)`,
				`manifest.Release(rec.Key)`}, integration, "TestStoredElsewhere_IsLocked"),
		breaks("I9", "what belongs to another release is counted as protected",
			edit{"pkg/controller/coverage.go", `	return p.Reason == v1alpha1.ReasonConflict ||
`, `	return p.Reason == v1alpha1.ReasonConflict && p.Drifted ||
`}, controller, "TestConditionsCountWhatIsLeftAlone"),
	}
}
