package main

// deleteLocked is a mutant's code that deletes every core-group object of the lock l for which the condition holds.
func deleteLocked(condition string) string {
	return `l.Recheck(rs.Clock.Now(), func(o *lock.Object) bool {
			if o.GVK.Group == "" && ` + condition + ` {
				_ = rs.clients.Kubernetes.CoreV1().RESTClient().Delete().
					Namespace(o.ID.Namespace).Resource(o.GVR.Resource).Name(o.ID.Name).Do(context.Background()).Error()
			}
			return false
		})`
}

// stayLocked keeps a lock, under the new record, when that record or its manifest cannot be read.
var stayLocked = edit{"pkg/controller/releases.go", `	if err != nil || prob.Reason != "" {
		rs.unlock(key, prob)`, `	if err != nil || prob.Reason != "" {
		if old := rs.table.Get(key); old != nil {
			rs.entries.update(key, func(e *entry) { e.Problem = prob })
			old.Record = rec
			return false, err
		}
		rs.unlock(key, prob)`}

// neverDelete are the mutants of I2. There is none for a release that stays locked while Helm uninstalls it: its
// state and the check before a write (I1) both prevent the re-creation of its objects, and the mutants of I1 break
// the check.
func neverDelete() []mutant {
	const reconcile = "pkg/controller/releases.go"
	return []mutant{
		breaks("I2", "after a creation that was not answered, whatever has its name is deleted",
			edit{"pkg/controller/takeback.go", `pr.mayBeResult(ctx, w, r, live)`, `pr.mayBeResult(ctx, w, r, nil)`}, ha,
			"TestI2_CreationThatFailedTakesNobodysObjectBack"),
		breaks("I2", "a revert whose changes all go with the refused one is written without a target",
			edit{"pkg/controller/refusal.go", `	if found.Target == nil {`, `	if found.Target == nil && false {`}, fidelity,
			"TestI2_AllChangesGoWithTheRefusedOne").
			and(edit{"pkg/enforce/write.go", `	if r.Target == nil { // a patch`, `	if r.Target == nil && false { // a patch`}),
		breaks("I2", "a patch to no target is written", edit{"pkg/enforce/write.go", `	if r.Target == nil { // a patch`,
			`	if r.Target == nil && false { // a patch`}, "./pkg/enforce", "TestI2_ARevertWithoutATargetIsNoPatch"),
		breaks("I2", "when the record of a release is lost, its objects are deleted", edit{reconcile, `	if !d.Lock {
`, `	if l := rs.table.Get(key); !found && l != nil {
		` + deleteLocked("true") + `
	}
	if !d.Lock {
`}, integration, "TestI2_LostReleaseSecretDeletesNothing"),
		breaks("I2", "when the record of a release is lost, the release stays locked", edit{
			"pkg/watch/store.go", `	s.releases.notify(s.releases.remove(placeOf(s.storage, m)))`, `	_ = m`,
		}, integration, "TestI2_LostReleaseSecretDeletesNothing"),
		breaks("I2", "when a HelmRelease is deleted, the objects of its release are deleted",
			edit{"pkg/controller/locking.go", `func (rs *releases) untrack(key string) {
`, `func (rs *releases) untrack(key string) {
	if l := rs.table.Get(key); l != nil {
		` + deleteLocked("true") + `
	}
`}, integration, "TestI2_DeletedHelmReleaseChangesNothing").
			and(edit{"pkg/controller/locking.go", `import (`, `import (
	"context"`}),
		breaks("I2", "when a HelmRelease is deleted, its release stays locked",
			edit{"pkg/controller/locking.go", `	rs.unlock(key, status.Problem{})
	e := rs.entries.forget(key)`, `	e := rs.entries.forget(key)`}, integration,
			"TestI2_DeletedHelmReleaseChangesNothing"),
		breaks("I2", "when a record cannot be decoded, the objects are deleted",
			edit{reconcile, `	if err != nil || prob.Reason != "" {
		rs.unlock(key, prob)`, `	if err != nil || prob.Reason != "" {
		if l := rs.table.Get(key); l != nil {
			` + deleteLocked("true") + `
		}
		rs.unlock(key, prob)`}, integration, "TestI2_DecodeErrorDeletesNothing"),
		breaks("I2", "when Helm uninstalls a release, objects with resource-policy keep are deleted",
			edit{"pkg/controller/locking.go", `	if rs.table.Drop(key) {`, `	if l := rs.table.Get(key); l != nil {
		` + deleteLocked("o.Keep") + `
	}
	if rs.table.Drop(key) {`}, integration, "TestI2_KeptObjectsSurviveUninstall/helm_3").
			and(edit{"pkg/controller/locking.go", `import (`, `import (
	"context"`}),
		breaks("I2", "when a record cannot be decoded, its release stays locked", stayLocked, integration,
			"TestI2_DecodeErrorDeletesNothing"),
		breaks("I2", "resource-policy keep is not read",
			edit{"pkg/manifest/parse.go", `	keep := from.keep || isKeep(annotations)`,
				`	keep := from.keep`}, manifest, "TestKeepIsReadAsHelmReadsIt"),
		breaks("I2", "a leftover that is to be kept is deleted",
			edit{"pkg/controller/pruning.go", `	case r.keep || manifest.Kept(live.GetAnnotations()):`,
				`	case r.keep && l.Closed():`}, integration, "TestI2_LeftoversOfEarlierRevisionsArePruned"),
		breaks("I2", "a leftover that another release has taken over is deleted",
			edit{"pkg/controller/pruning.go", ` || judge.ClaimedBy(live) != l.As {`, ` {`}, integration,
			"TestI2_LeftoversOfEarlierRevisionsArePruned"),
		breaks("I2", "leftovers that hold data are deleted",
			edit{"pkg/controller/pruning.go", `	case judge.HoldsData(o.ID.GroupKind()):`,
				`	case judge.HoldsData(o.ID.GroupKind()) && l.Closed():`}, integration,
			"TestI2_LeftoversOfEarlierRevisionsArePruned"),
		breaks("I2", "an object that the revision lists as a hook is a leftover",
			edit{"pkg/controller/pruning.go", `	case l.Hooks.Has(o.ID.Kind, o.ID.Name):`,
				`	case l.Closed() && l.Hooks.Has(o.ID.Kind, o.ID.Name):`}, integration, "TestI2_AHookIsNoLeftover"),
		breaks("I2", "an object that is younger than the record is a leftover",
			edit{"pkg/controller/pruning.go", `	case !live.GetCreationTimestamp().Time.Before(l.Record.Stored):`,
				`	case l.Closed():`}, integration, "TestI2_WhatWasMadeAfterTheRecordIsNoLeftover"),
		breaks("I2", "an object of an unknown kind is declared in no namespace only",
			edit{"pkg/manifest/manifest.go", `namespaced.Namespace = release.Namespace`, `namespaced.Namespace = ""`},
			controller, "TestI2_RecreatedObjectDeclaredAtAVersion|TestI2_ObjectTakenOverAtAVersion"),
		breaks("I2", "what the newest revision declares at a version that is not served is a prune candidate",
			edit{"pkg/manifest/manifest.go", `namespaced.Namespace = release.Namespace`, `namespaced.Namespace = ""`},
			integration, "TestI2_OlderDefinitionMakesNoPruneCandidate").
			and(edit{"pkg/controller/pruning.go", `	if unknown {
		if len(ids)`, `	if unknown && l.Closed() {
		if len(ids)`}),
		breaks("I2", "objects are pruned while a kind of the locked revision is unknown",
			edit{"pkg/controller/candidates.go", `	unknown := l.Unknown`, `	unknown := l.Unknown && l.Closed()`},
			controller, "TestI2_ObjectDeclaredAtAVersionThatIsNotServedIsNotPruned"),
		breaks("I2", "objects are pruned while a kind of an earlier revision is unknown",
			edit{"pkg/controller/candidates.go", `unknown || len(kinds) > 0`, `unknown || len(kinds) < 0`},
			controller, "TestI2_NothingIsPrunedWhileAKindOfAnEarlierRevisionIsNotKnown"),
		breaks("I2", "leftovers are deleted in mode Detect",
			edit{"pkg/controller/pruning.go", `	if l.Detect {`, `	if l.Closed() {`}, integration,
			"TestI2_DetectReportsLeftoversAndDeletesNothing"),
	}
}
