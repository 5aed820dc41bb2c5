package main

// annotateLocked is a mutant's code that annotates every core-group object of the lock l.
const annotateLocked = `l.Recheck(rs.Clock.Now(), func(o *lock.Object) bool {
			if o.GVK.Group != "" {
				return false
			}
			_ = rs.clients.Kubernetes.CoreV1().RESTClient().Patch("application/merge-patch+json").Namespace(o.ID.Namespace).Resource(o.GVR.Resource).Name(o.ID.Name).
				Body([]byte(` + "`" + `{"metadata":{"annotations":{"example.com/locked":null}}}` +
	"`" + `)).Do(context.Background()).Error()
			return false
		})`

// leaveNoTrace are the mutants of I3.
func leaveNoTrace() []mutant {
	const claim, reconcile, write = "pkg/controller/claim.go", "pkg/controller/releases.go", "pkg/enforce/write.go"
	const locking = "TestI3_LockingWritesNothing/to_the_objects"
	return []mutant{
		breaks("I3", "locking patches each object", edit{"pkg/controller/locking.go", `	begun := rs.objects.Need(l.Key, kinds)
`, `	begun := rs.objects.Need(l.Key, kinds)
	` + annotateLocked + `
`}, integration, locking+".*3").
			and(edit{"pkg/controller/locking.go", `import (`, `import (
	"context"`}),
		breaks("I3", "unlocking patches each object",
			edit{"pkg/controller/locking.go", `	if rs.table.Drop(key) {`, `	if l := rs.table.Get(key); l != nil {
		` + annotateLocked + `
	}
	if rs.table.Drop(key) {`}, integration, locking+".*4").
			and(edit{"pkg/controller/locking.go", `import (`, `import (
	"context"`}),
		breaks("I3", "wrangler's ObjectSet metadata is written without being asked for",
			edit{"pkg/controller/loader.go", `	if lo.ObjectSetMetadata {`, `	if !lo.ObjectSetMetadata {`},
			integration, locking+".*3"),
		breaks("I3", "a finalizer is added to HelmReleases",
			edit{claim, `		meta["annotations"] = map[string]string{v1alpha1.ManagedByAnnotation: rs.Name}`,
				`		meta["annotations"], meta["finalizers"] = map[string]string{v1alpha1.ManagedByAnnotation: rs.Name}, []string{"example.com/locked"}`},
			integration, locking+".*4"),
		breaks("I3", "the finalizer of older operators stays",
			edit{claim, `	if slices.Contains(hr.Finalizers, v1alpha1.LegacyFinalizer) {`,
				`	if len(hr.Finalizers) > 99 {`}, integration, "TestI3_LockingWritesNothing/and_takes"),
		breaks("I3", "finalizers of others are removed, too",
			edit{claim, `bool { return f == v1alpha1.LegacyFinalizer }`, `bool { return f != "" }`}, integration,
			"TestI3_LockingWritesNothing/and_takes"),
		breaks("I3", "a revert leaves a label",
			edit{write, `	body, err := json.Marshal(patch)`, `	setPath(patch, "yes", "metadata", "labels", "reverted")
	body, err := json.Marshal(patch)`}, integration, "TestI3_PuttingBackLeavesNoTrace/helm_3"),
		breaks("I3", "a re-creation leaves wrangler's annotation of the ObjectSet",
			edit{write, `	obj := &unstructured.Unstructured{Object: r.Desired}`, `	obj := &unstructured.Unstructured{Object: r.Desired}
	setPath(obj.Object, "app", "metadata", "annotations", "objectset.rio.cattle.io/id")`}, integration,
			"TestI3_PuttingBackLeavesNoTrace/helm_3"),
		breaks("I3", "a re-creation adds a finalizer",
			edit{write, `	obj := &unstructured.Unstructured{Object: r.Desired}`, `	obj := &unstructured.Unstructured{Object: r.Desired}
	obj.SetFinalizers([]string{"example.com/locked"})`}, integration, "TestI3_PuttingBackLeavesNoTrace/helm_4"),
	}
}

// asHelmLeftIt are the mutants of I4.
func asHelmLeftIt() []mutant {
	const write, judged = "pkg/enforce/write.go", "pkg/judge/judge.go"
	return []mutant{
		breaks("I4", "an object that is gone at the lock is created as the helm command's",
			edit{"pkg/controller/act.go", `	v.found.Owner.Manager = rm.creator(ctx, l, v)`, ``}, fidelity,
			"TestI4_WhatIsGoneAtTheLockIsTheToolsAgain/helm_4_deleted_while_the_operator_is_down"),
		breaks("I4", "the only object of a release is created as the helm command's",
			edit{"pkg/controller/releases.go", `cmp.Or(rs.managerOf(key), loaded.writer)`, `cmp.Or(rs.managerOf(key), "helm")`},
			fidelity, "TestI4_WhatIsGoneAtTheLockIsTheToolsAgain/helm_4_the_only_object"),
		breaks("I4", "a patch is sent under the operator's own name",
			edit{write, `		return w.merge(ctx, r, r.Owner.Manager, dryRun)`,
				`		return w.merge(ctx, r, drift.RevertManager, dryRun)`}, order, "TestI4_AsHelm3LeftIt"),
		breaks("I4", "what Helm applied server-side is patched",
			edit{write, `	return r.Owner.Operation == metav1.ManagedFieldsOperationApply`,
				`	return r.Owner.Operation == "never"`}, order, "TestI4_AsHelm4LeftIt"),
		breaks("I4", "what Helm 4 patched is applied server-side",
			edit{write, `	return r.Owner.Operation == metav1.ManagedFieldsOperationApply`,
				`	return r.Owner.Operation != "never"`}, order, "TestI4_AsHelm4LeftWhatHelm3Installed"),
		breaks("I4", "a created object is not handed over to Helm's server-side apply",
			edit{write, `	if err != nil || !r.serverSide() {
		return done, err`, `	if err != nil || done != nil {
		return done, err`}, order, "TestI4_AsHelm4LeftWhatItTookOverFromHelm3"),
		breaks("I4", "the hand-over to Helm is given up when a controller wrote before it",
			edit{"pkg/enforce/ownership.go", `			return adopt(done, now, owned), nil
		case !apierrors.IsConflict(err) || attempt == attempts:`, `			return adopt(done, now, owned), nil
		case !apierrors.IsConflict(err) || attempt == 1:`}, order, "TestI4_AControllerWritesBeforeTheHandOver").
			and(edit{judged, `managers.Unfinished(r.managed)`, `managers.Unfinished(nil)`}),
		breaks("I4", "a revert that was not completed counts as one that was",
			edit{judged, `managers.Unfinished(r.managed)`, `managers.Unfinished(nil)`}, order,
			"TestHostile_AnOperatorDiesWithinARevert/renamed_port/after_request_1|"+
				"TestHostile_AnOperatorDiesWithinARevert/deleted_services/after_request_2"),
		breaks("I4", "an event of an object whose revert was not completed is skipped",
			edit{"pkg/drift/digest.go", `bytes.Contains(w.text[at:end], unfinished)`, `false`}, drift,
			"TestAnUnfinishedRevertIsPartOfTheDigest"),
		breaks("I4", "content is put back before what others share with Helm is taken from them",
			edit{write, `	disowned, err := w.disown(ctx, r, r.Live, false)`,
				`	disowned, err := r.Live, error(nil)`}, order,
			"TestHostile_AnOperatorDiesWithinARevert/applied_as_a_whole/after_request_1"),
	}
}
