package main

// annotateLocked is what a mutant does to every object of the lock l that is in group "".
const annotateLocked = `l.LookAt(rs.Clock.Now(), func(o *lock.Object) bool {
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
		{
			promise: "I3", what: "locking patches each object",
			edit: edit{reconcile, `	begun := rs.objects.Need(l.Key, kinds)
`, `	begun := rs.objects.Need(l.Key, kinds)
	` + annotateLocked + `
`},
			pkg: integration, run: locking + ".*3",
		},
		{
			promise: "I3", what: "unlocking patches each object",
			edit: edit{reconcile, `	if rs.table.Drop(key) {`, `	if l := rs.table.Get(key); l != nil {
		` + annotateLocked + `
	}
	if rs.table.Drop(key) {`},
			pkg: integration, run: locking + ".*4",
		},
		{
			promise: "I3", what: "wrangler's ObjectSet metadata is written without being asked for",
			edit: edit{"pkg/controller/loader.go", `	if lo.ObjectSetMetadata {`, `	if !lo.ObjectSetMetadata {`},
			pkg:  integration, run: locking + ".*3",
		},
		{
			promise: "I3", what: "a finalizer is added to HelmReleases",
			edit: edit{claim, `		meta["annotations"] = map[string]string{v1alpha1.ManagedByAnnotation: rs.Name}`,
				`		meta["annotations"], meta["finalizers"] = map[string]string{v1alpha1.ManagedByAnnotation: rs.Name}, []string{"example.com/locked"}`},
			pkg: integration, run: locking + ".*4",
		},
		{
			promise: "I3", what: "the finalizer of older operators stays",
			edit: edit{claim, `	if slices.Contains(hr.Finalizers, v1alpha1.LegacyFinalizer) {`,
				`	if len(hr.Finalizers) > 99 {`},
			pkg: integration, run: "TestI3_LockingWritesNothing/and_takes",
		},
		{
			promise: "I3", what: "finalizers of others are removed, too",
			edit: edit{claim, `bool { return f == v1alpha1.LegacyFinalizer }`, `bool { return f != "" }`},
			pkg:  integration, run: "TestI3_LockingWritesNothing/and_takes",
		},
		{
			promise: "I3", what: "a revert leaves a label",
			edit: edit{write, `	body, err := json.Marshal(patch)`, `	setPath(patch, "yes", "metadata", "labels", "reverted")
	body, err := json.Marshal(patch)`},
			pkg: integration, run: "TestI3_PuttingBackLeavesNoTrace/helm_3",
		},
		{
			promise: "I3", what: "a re-creation leaves wrangler's annotation of the ObjectSet",
			edit: edit{write, `	obj := &unstructured.Unstructured{Object: r.Desired}`, `	obj := &unstructured.Unstructured{Object: r.Desired}
	setPath(obj.Object, "app", "metadata", "annotations", "objectset.rio.cattle.io/id")`},
			pkg: integration, run: "TestI3_PuttingBackLeavesNoTrace/helm_3",
		},
		{
			promise: "I3", what: "a re-creation adds a finalizer",
			edit: edit{write, `	obj := &unstructured.Unstructured{Object: r.Desired}`, `	obj := &unstructured.Unstructured{Object: r.Desired}
	obj.SetFinalizers([]string{"example.com/locked"})`},
			pkg: integration, run: "TestI3_PuttingBackLeavesNoTrace/helm_4",
		},
	}
}

// asHelmLeftIt are the mutants of I4.
func asHelmLeftIt() []mutant {
	const write = "pkg/enforce/write.go"
	return []mutant{
		{
			promise: "I4", what: "a patch is sent under the operator's own name",
			edit: edit{write, `		return w.merge(ctx, r, r.Owner.Manager, dryRun)`,
				`		return w.merge(ctx, r, ownManager, dryRun)`},
			pkg: order, run: "TestI4_AsHelm3LeftIt",
		},
		{
			promise: "I4", what: "what Helm applied server-side is patched",
			edit: edit{write, `	return r.Owner.Operation == metav1.ManagedFieldsOperationApply`,
				`	return r.Owner.Operation == "never"`},
			pkg: order, run: "TestI4_AsHelm4LeftIt",
		},
		{
			promise: "I4", what: "what Helm 4 patched is applied server-side",
			edit: edit{write, `	return r.Owner.Operation == metav1.ManagedFieldsOperationApply`,
				`	return r.Owner.Operation != "never"`},
			pkg: order, run: "TestI4_AsHelm4LeftWhatHelm3Installed",
		},
		{
			promise: "I4", what: "a created object is not handed over to Helm's server-side apply",
			edit: edit{write, `	if err != nil || !r.serverSide() {
		return done, err`, `	if err != nil || done != nil {
		return done, err`},
			pkg: order, run: "TestI4_AsHelm4LeftWhatItTookOverFromHelm3",
		},
		{
			promise: "I4", what: "the hand-over to Helm is given up when a controller wrote before it",
			edit: edit{"pkg/enforce/ownership.go", `		case !apierrors.IsConflict(err) || attempt == attempts:`,
				`		case !apierrors.IsConflict(err) || attempt == 1:`},
			pkg: order, run: "TestI4_AControllerWritesBeforeTheHandOver",
		},
	}
}
