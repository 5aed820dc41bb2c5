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
			edit{"pkg/controller/loader.go", `return lo.ObjectSetMetadata &&`, `return !lo.ObjectSetMetadata &&`},
			integration, locking+".*3"),
		breaks("I3", "a finalizer is added to HelmReleases",
			edit{claim, `		meta["annotations"] = map[string]string{v1alpha1.ManagedByAnnotation: ca.Name}`,
				`		meta["annotations"], meta["finalizers"] = map[string]string{v1alpha1.ManagedByAnnotation: ca.Name}, []string{"example.com/locked"}`},
			integration, locking+".*4"),
		breaks("I3", "the finalizer of older operators stays",
			edit{claim, `	if slices.Contains(hr.Finalizers, v1alpha1.LegacyFinalizer) {`,
				`	if len(hr.Finalizers) > 99 {`}, integration, "TestI3_LockingWritesNothing/and_takes"),
		breaks("I3", "finalizers of others are removed, too",
			edit{claim, `bool { return f == v1alpha1.LegacyFinalizer }`, `bool { return f != "" }`}, integration,
			"TestI3_LockingWritesNothing/and_takes"),
		breaks("I3", "a revert leaves a label",
			edit{write, `	body, err := json.Marshal(p.Merge)`, `	setPath(p.Merge, "yes", "metadata", "labels", "reverted")
	body, err := json.Marshal(p.Merge)`}, integration, "TestI3_PuttingBackLeavesNoTrace/helm_3"),
		breaks("I3", "a re-creation leaves wrangler's annotation of the ObjectSet",
			edit{write, `	obj := &unstructured.Unstructured{Object: r.Desired}`,
				`	obj := &unstructured.Unstructured{Object: r.Desired}
	setPath(obj.Object, "app", "metadata", "annotations", "objectset.rio.cattle.io/id")`}, integration,
			"TestI3_PuttingBackLeavesNoTrace/helm_3"),
		breaks("I3", "a re-creation adds a finalizer",
			edit{write, `	obj := &unstructured.Unstructured{Object: r.Desired}`,
				`	obj := &unstructured.Unstructured{Object: r.Desired}
	obj.SetFinalizers([]string{"example.com/locked"})`}, integration, "TestI3_PuttingBackLeavesNoTrace/helm_4"),
	}
}

// asHelmLeftIt are the mutants of I4.
func asHelmLeftIt() []mutant {
	const write, judged, revert = "pkg/enforce/write.go", "pkg/judge/judge.go", "pkg/revert/revert.go"
	overlooked := sharesOverlooked() // which complete a revert, too
	return []mutant{
		breaks("I4", "an object that is gone at the lock is created as the helm command's",
			edit{"pkg/controller/write.go", `	v.Found.Owner.Manager = wr.manager(ctx, l, v)`, ``}, controller,
			"TestI4_AnObjectJudgedFirstIsCreatedAsTheOthers"),
		breaks("I4", "an object that was judged before the others is created by the writer of the record",
			edit{"pkg/controller/write.go", `		return manager
`, `		return v.Found.Owner.Manager
`}, controller, "TestI4_AnObjectJudgedFirstIsCreatedAsTheOthers"),
		breaks("I4", "the only object of a release is created as the helm command's",
			edit{"pkg/controller/releases.go", `cmp.Or(rs.managerOf(key), loaded.writer)`, `cmp.Or(rs.managerOf(key), "helm")`},
			fidelity, "TestI4_WhatIsGoneAtTheLockIsTheToolsAgain/helm_4_the_only_object"),
		breaks("I4", "the creator of a replaced object is taken for Helm",
			edit{"pkg/judge/owned.go", ` || owner.Replaced(h.Manager, h.ServerSide)`, ``}, fidelity,
			"TestI4_AReplacedObjectIsHelmsAgain"),
		breaks("I4", "the creator of a replaced object creates the others",
			edit{"pkg/controller/write.go", `owner := helm.On(live); owner.Known`,
				`owner := drift.ManagedBy(live.GetManagedFields()); owner.Known && helm.Manager != nil`}, fidelity,
			"TestI4_AReplacedObjectIsHelmsAgain/.*before_the_lock"),
		breaks("I4", "a client that creates objects is taken for a tool that applies them",
			edit{"pkg/drift/owner.go", ` || serverSide && o.Operation`, ` || !serverSide && o.Operation`}, "./pkg/drift",
			"TestReplaced"),
		breaks("I4", "the writer of another release name is taken for Helm",
			edit{"pkg/judge/owned.go", `drift.ManagedBy(managed, lost...)`, `drift.ManagedBy(managed, lost[len(lost):]...)`},
			order, "TestI4_TakenAwayBeforeTheLock"),
		breaks("I4", "a patch is sent under the operator's own name",
			edit{write, `		return w.mergeThrough(ctx, r, r.Manager, dryRun)`,
				`		return w.mergeThrough(ctx, r, managers.Revert, dryRun)`}, order, "TestI4_AsHelm3LeftIt"),
		breaks("I4", "what Helm applied server-side is patched",
			edit{revert, `c.owner.Operation == metav1.ManagedFieldsOperationApply}`,
				`c.owner.Operation == metav1.ManagedFieldsOperationApply && false}`}, order, "TestI4_AsHelm4LeftIt"),
		breaks("I4", "what Helm 4 patched is applied server-side",
			edit{revert, `c.owner.Operation == metav1.ManagedFieldsOperationApply}`,
				`c.owner.Operation == metav1.ManagedFieldsOperationApply || true}`}, order, "TestI4_AsHelm4LeftWhatHelm3Installed"),
		breaks("I4", "a created object is not handed over to Helm's server-side apply",
			edit{write, `	if err != nil || !r.ServerSide {
		return done, err`, `	if err != nil || done != nil {
		return done, err`}, order, "TestI4_AsHelm4LeftWhatItTookOverFromHelm3"),
		breaks("I4", "the hand-over to Helm is given up when a controller wrote before it",
			edit{"pkg/enforce/ownership.go", `			return adopt(done, now, owned), nil
		case !apierrors.IsConflict(err) || attempt == attempts:`, `			return adopt(done, now, owned), nil
		case !apierrors.IsConflict(err) || attempt == 1:`}, order, "TestI4_AControllerWritesBeforeTheHandOver").
			and(edit{judged, `managers.Unfinished(r.managed)`, `managers.Unfinished(nil)`}, overlooked),
		breaks("I4", "a revert that was not completed counts as one that was",
			edit{judged, `managers.Unfinished(r.managed)`, `managers.Unfinished(nil)`}, order,
			"TestHostile_AnOperatorDiesWithinARevert/renamed_port/after_request_1|"+
				"TestHostile_AnOperatorDiesWithinARevert/deleted_services/after_request_2").and(overlooked),
		breaks("I4", "an event of an object that another manager owns by now is skipped",
			edit{"pkg/drift/digest.go", `			digest, end, err = w.collection(at, w.managed)
			return digest, true, end, err`, `			digest, end, err = w.collection(at, w.managed)
			return tagWord, true, end, err`}, drift, "TestI4_OwnershipIsPartOfTheDigest"),
		breaks("I4", "a controller that writes a status has the object judged",
			edit{"pkg/drift/digest.go", `status = string(content) == "status"`, `status = string(content) == "scale"`}, drift,
			"TestI4_OwnershipIsPartOfTheDigest"),
	}
}

// sharesOverlooked makes the ownership of an object in sync no drift.
func sharesOverlooked() edit {
	return edit{"pkg/judge/owned.go", `	if r.Changes = r.Owner.Unlike(`, `	if r.State == InSync {
		return
	}
	if r.Changes = r.Owner.Unlike(`}
}

// nextUpgrades are the mutants of I4 that make the next upgrade fail.
func nextUpgrades() []mutant {
	const name, own = "TestI4_TheNextUpgradeNeedsNoForce", "pkg/enforce/ownership.go"
	return []mutant{
		breaks("I4", "a share in declared nulls stays with another manager",
			edit{"pkg/drift/shared.go", `sent := withNulls(r.Desired, r.Blank)`, `sent := r.Desired`}, fidelity,
			name+"/patches_of_declared_nulls,_suspended_false"),
		breaks("I4", "a declared null is not applied",
			edit{"pkg/drift/request.go", `WithoutIgnored(withNulls(r.Desired, r.Blank), target`,
				`WithoutIgnored(r.Desired, target`}, fidelity,
			name+"/an_apply_of_other_values,_suspended_false"),
		breaks("I4", "a null inside of a map with one owner hides that others own it",
			edit{"pkg/drift/shared.go", `!equalButNulls(want, have)`, `!deepEqual(want, have)`},
			"./pkg/drift", "TestI4_ANullInAMapWithOneOwnerHidesNoShare"),
		breaks("I4", "data declared as null hides stringData",
			edit{"pkg/drift/request.go", `!isTree && !declared && sent(v)`, `!isTree && sent(v)`},
			"./pkg/drift", "TestI4_NullsBesideStringDataHideNoValue"),
		breaks("I4", "stringData is applied as data", edit{"pkg/drift/request.go", `	unfold(body, r.Desired, r.Blank)`, ``},
			fidelity, name+"/an_apply_of_other_values,_suspended_false"),
		breaks("I4", "a map that is one value to the API server is left to the manager that applied it",
			edit{"pkg/drift/ignored.go", `n.isWhole() && !n.hasDefaults() && !equalButNulls`, `n.isWhole() && !equalButNulls`}, fidelity,
			name+"/an_apply_of_the_same_values,_suspended_false"),
		breaks("I4", "a blank merge key is applied as declared",
			edit{"pkg/drift/ignored.go", `value := k.of(declared); value != nil`,
				`value := declared[k.field]; k.field != ""`}, drift,
			"TestWithoutIgnoredSendsTheDefaultOfABlankMergeKey"),
		breaks("I4", "what others own of declared content is no drift",
			sharesOverlooked(), "./pkg/judge", "TestI4_OwnershipIsJudged"),
		breaks("I4", "cleared managed fields are no drift",
			edit{"pkg/drift/shared.go", `	if !slices.ContainsFunc(managedFields, applied) {`,
				`	if len(managedFields) > 1<<20 && !slices.ContainsFunc(managedFields, applied) {`}, "./pkg/judge",
			"TestI4_OwnershipIsJudged"),
		breaks("I4", "what is ignored is taken from its owner",
			edit{"pkg/drift/shared.go", `return s.ignore != nil && s.ignore(path)`, `return s.ignore == nil && len(path) == 0`},
			drift, "TestI4_WhatOthersOwnOfARequest"),
		breaks("I3", "the share of another tool that is built on Helm is drift",
			edit{"pkg/drift/shared.go", `		return likeHelm(&e)`, `		return likeHelm(&e) && e.Manager == ""`}, "./pkg/judge",
			"TestI4_OwnershipIsJudged"),
		breaks("I3", "a map whose parts were all let go of is taken for one that is owned",
			edit{"pkg/drift/shared.go", `len(x) == 0 || n == nil || n.isOneValue()`, `true`}, drift,
			"TestI4_WhatOthersOwnOfARequest"),
		breaks("I4", "a declared blank caBundle is not created again",
			edit{"pkg/revert/revert.go", `drift.Created(c.desired, c.blank)`,
				`drift.Created(c.desired, map[string]any{"none": c.blank})`}, fidelity,
			"TestI4_ABlankCABundleIsCreatedAgain"),
		breaks("I4", "others are disowned before Helm's manager owns what they did",
			edit{"pkg/enforce/write.go", `		done, err = w.apply(ctx, r, dryRun)`, `		done, err = w.disown(ctx, r, r.Live)
		if err == nil && dryRun {
			done, err = w.apply(ctx, r, dryRun)
		}`}, fidelity, name+"/replicas_there_and_back,_suspended_true"),
		breaks("I5", "a field that another manager wrote after Helm's apply is taken from it",
			edit{own, `own.Has(path) || hasParts(fields, path)`, `len(path) > 0`}, "./pkg/enforce",
			"TestI5_OnlySharesOfFieldsThatHelmOwnsAreTaken"),
		breaks("I4", "a revert leaves RevertManager its share",
			edit{own, `		if e.Manager == managers.Revert {`, `		if e.Manager == "nobody" {`}, order,
			"TestI4_AsHelm4LeftWhatItTookOverFromHelm3"),
	}
}
