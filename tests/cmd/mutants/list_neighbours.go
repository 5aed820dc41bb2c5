package main

// neighbours are the mutants of the rules about what others do beside Helm and the operator: who deletes with a
// finalizer, what the operator itself works with, autoscalers, and other tools that are built on Helm.
func neighbours() []mutant {
	const judge, deletion = "pkg/judge/judge.go", "pkg/controller/deletion.go"
	return []mutant{
		{
			promise: "I5", what: "an object whose deletion is pending is not compared",
			edit: edit{judge, `	if in.Live.GetDeletionTimestamp() != nil {
`, `	if in.Live.GetDeletionTimestamp() != nil {
		return Result{State: BeingDeleted, Deletion: drift.DescribeDeletion(in.Live)}
	}
	if in.Live.GetDeletionTimestamp() != nil {
`}, pkg: integration, run: "TestDeletion_ContentIsProtectedWhileItIsPending",
		},
		{
			promise: "I5", what: "a pending deletion is no drift once the content is restored",
			edit: edit{deletion, `	if live.GetDeletionTimestamp() == nil || !o.Good {`,
				`	if live.GetDeletionTimestamp() != nil || !o.Good {`},
			pkg: integration, run: "TestDeletion_ContentIsProtectedWhileItIsPending",
		},
		{
			promise: "I5", what: "a declared finalizer is added to an object that is being deleted",
			edit: edit{judge, `		desired = drift.WithoutDoneFinalizers(desired, in.Live)`,
				`		_ = drift.WithoutDoneFinalizers`},
			pkg: integration, run: "TestDeletion_FinalizerOfTheManifestMayEnd",
		},
		{
			promise: "I2", what: "the deletion of a volume claim is completed",
			edit: edit{"pkg/judge/deletion.go", `!= nil && HoldsData(in.ID.GroupKind())`,
				`!= nil && !HoldsData(in.ID.GroupKind())`},
			pkg: integration, run: "TestDeletion_Strict",
		},
		{
			promise: "I2", what: "an object whose deletion is pending is replaced",
			edit: edit{"pkg/controller/replace.go", ` && v.found.Deletion == ""`, ``},
			pkg:  integration, run: "TestDeletion_PendingBeforeTheLock",
		},
		{
			promise: "I5", what: "a manifest may declare the operator's Lease",
			edit: edit{"pkg/judge/plan.go", `	case reserved != "":`, `	case reserved == "never":`},
			pkg:  integration, run: "TestOwnObjects_AreNobodysTrackedObjects",
		},
		{
			promise: "I5", what: "the Lease of a shard is tracked",
			edit: edit{"pkg/judge/own.go", ` || strings.HasPrefix(id.Name, own.Name+"-")`, ``},
			pkg:  "./pkg/judge", run: "TestReserved",
		},
		{
			promise: "I6", what: "scaling outside of an autoscaler's range falls to the manifest's number",
			edit: edit{"pkg/judge/replicas.go", ` || r.Min > r.Max {`, ` || r.Min <= r.Max {`},
			pkg:  integration, run: "TestAutoscaler_OutsideOfTheRange",
		},
		{
			promise: "I6", what: "a Deployment comes back with the manifest's number of replicas and not the " +
				"autoscaler's",
			edit: edit{"pkg/judge/replicas.go", `in.Chosen == nil || !r.Contains(*in.Chosen)`,
				`in.Chosen == nil || r.Contains(*in.Chosen)`},
			pkg: integration, run: "TestAutoscaler_OutsideOfTheRange",
		},
		{
			promise: "I6", what: "replicas go back below what the autoscaler wants",
			edit: edit{"pkg/judge/autoscale.go", `max(n, wanted, r.Min)`, `max(n, r.Min)`},
			pkg:  "./pkg/judge", run: "TestWithinTheRange",
		},
		{
			promise: "I6", what: "scope Strict takes undeclared replicas away from an autoscaler",
			edit: edit{"pkg/judge/replicas.go", `		return in.autoscaler() != nil`, `		return false`},
			pkg:  integration, run: "TestAutoscaler_UndeclaredReplicasInStrict",
		},
		{
			promise: "I4", what: "of two tools that are built on Helm the older one is taken for Helm",
			edit: edit{"pkg/drift/owner.go", `score == s.best && named && s.outranked(manager, by)`,
				`score == s.best && named && by == nil`},
			pkg: fidelity, run: "TestTools_TheNewerOnesShareStays",
		},
		{
			promise: "I4", what: "within one second the first of two tools is taken for Helm",
			edit: edit{"pkg/drift/owner.go", `a != b {
		return a > b
	}`, `a != b {
		return a < b
	}`},
			pkg: drift, run: "TestOfTwoToolsTheOneThatWroteLastIsHelm",
		},
		{
			promise: "T1", what: "a record speaks for a release that has records of its own in another namespace",
			edit: edit{"pkg/controller/records.go",
				`	if newest, found := lo.records.Newest(rel.Key); found && newest.Status != release.StatusUninstalled {`, `	if _, found := lo.records.Newest(rel.Key); found && rel.Name == "" {`},
			pkg: integration, run: "TestStoredElsewhere_ForgedForAReleaseThatExists",
		},
		{
			promise: "I1", what: "a release whose records are stored elsewhere does not own its objects",
			edit: edit{"pkg/controller/owners.go", `	if elsewhere == (release.Key{}) {`,
				`	if elsewhere.Name != "" || elsewhere == l.Release {`},
			pkg: integration, run: "TestStoredElsewhere_ItsObjectsAreItsOwn",
		},
		{
			promise: "I12", what: "a record in a third namespace speaks for a release that is stored elsewhere",
			edit: edit{"pkg/controller/owners.go", `	if other == l.As {`,
				`	if other == l.As && other == l.Release {`},
			pkg: integration, run: "TestStoredElsewhere_ForgedInAThirdNamespace",
		},
		{
			promise: "I4", what: "objects without a namespace go to that of the record",
			edit: edit{"pkg/controller/records.go", `manifest.Release(rel.Key)`,
				`manifest.Release(rec.Key)`},
			pkg: integration, run: "TestStoredElsewhere_IsLocked",
		},
		{
			promise: "I9", what: "what belongs to another release is counted as protected",
			edit: edit{"pkg/controller/conditions.go", `		if p.Reason == v1alpha1.ReasonConflict {
			n++`, `		if p.Reason == v1alpha1.ReasonConflict && p.Drifted {
			n++`},
			pkg: controller, run: "TestConditionsCountWhatIsLeftAlone",
		},
	}
}
