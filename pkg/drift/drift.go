// Package drift computes the changes that restore a live object to the state that Helm deployed.
//
// It is pure: objects, rules and managed fields go in, changes and the object to write come out. It has no client, no
// clock, no logging and no state except the caller's caches ([Schemas], [Hasher]).
//
// # Drift
//
// A desired object declares fields. Scope Declared protects only those: additions of others stay, and are carried over
// into the target. Scope Strict is below. The rules:
//
// Maps: every declared key must exist with an equal value. Numbers are compared by value (1 is 1.0), all other scalars
// by type and value.
//
// Some maps of built-in kinds are one value (selectors of Pods, rules of a NetworkPolicy or a Role). An added key
// changes the meaning of the declared ones there, so it is a change and is removed.
//
// Lists: the Go type of a built-in kind, or the CustomResourceDefinition of a custom kind, defines their semantics; see
// [Schema]. Lists merged by key and sets only have to hold the declared elements. An undeclared element in the place of
// a declared one is its edited form, and is removed; but not in finalizers, which every controller adds and removes.
// All other lists are atomic: same length, same order, primitives equal, and for maps the declared keys equal (the
// server adds defaults inside of elements). A list of unknown semantics is atomic, too, and so is a list merged by key
// in which two declared elements have the same key. A definition can make a map atomic: it has exactly the declared
// keys, apart from the server's defaults.
//
// Owner references: an undeclared one is removed, with any owner. It would make the garbage collector delete the
// object, now or later. Likewise an undeclared "immutable: true" of a ConfigMap or Secret: it would forbid every later
// change of the data.
//
// Zero values: a declared zero value ("", 0, false, {}, []) that the live object lacks is no drift if the Go type of a
// built-in kind holds the field by value. Such a field has no difference between zero and absent, so the server may
// drop it, and no client can remove it. Labels and annotations are of that sort on every kind. Everywhere else absent
// differs from zero, so it is a change there (emptyDir: {} is a volume source, replicas: 0 is not the default 1, a
// custom resource keeps its values). If the server drops it all the same, [Learn] accepts exactly that.
//
// Exclusive fields: only one of a volume's sources, or of an env's value and valueFrom, may be set. If a declared one
// is missing and another one is set, the other one has replaced it. It is removed, because both together are invalid.
// This holds for declared zero values and for learnt absences too.
//
// # Scope Strict
//
// With [Options.Strict] all other additions of others are removed as well, as Added changes: labels, annotations, keys
// of a ConfigMap, variables, containers, volumes, ports, finalizers, any undeclared field. The managed fields of the
// live object show the owners of each field. An undeclared field is removed if foreign managers own it, and no other
// manager does:
//
//	owned by                                                  Declared  Strict
//	a foreign manager: kubectl, a person, another controller  stays     removed
//	a foreign manager and Helm, or Kubernetes, or Keep        stays     stays
//	no manager: a default of the server                       stays     stays
//	no known manager: before-first-apply, unknown             stays     stays
//	kube-controller-manager and the like, helm-locker         stays     stays
//	a manager that Strict.Keep names                          stays     stays
//	a foreign manager through the status subresource          stays     stays
//
// A list element injected by a webhook has no owner, so it stays. If a foreign manager owns a part of it, or its
// content differs from the learnt one, it was changed. Then it is removed if a dry run shows that the webhook injects
// it again.
//
// For example, for a manifest with the label a and one container:
//
//	kubectl label b=c, kubectl annotate, kubectl set env      removed
//	a sidecar, with the volume and the mount for it           removed
//	kubectl scale, without replicas in the manifest           removed, and the server's default comes back
//	imagePullPolicy, revisionHistoryLimit, a Service's type   removed, and the server's default comes back
//	annotation deployment.kubernetes.io/revision              stays: kube-controller-manager
//	finalizer example.com/hold                                removed
//	finalizer foregroundDeletion, kubernetes.io/pvc-protection  stays: of Kubernetes itself
//	clusterIP, nodePort, volumeName, an injected caBundle     stays with any owner, see keptFields
//
// A list element is removed or stays as a whole. A map with fields of another manager loses only the foreign fields.
// Atomic lists have one owner. If that owner is foreign, an undeclared field inside of their elements is a change,
// unless it was learnt with its value, and the list is restored as a whole. Clients choose the names of managers: a
// client with the name of Helm or of kube-controller-manager counts as that manager. Changes of declared fields are
// drift under any name.
//
// # Normalization
//
// Differences that remain directly after an apply of the desired state come from the API server (normalization,
// pruning, mutating webhooks). [Learn] records them as a [Baseline]; only a departure from it is drift. That holds for
// additions, too: a default of a foreign manager, or an element injected again by a webhook, is still present
// afterwards.
package drift

// Compare finds the departures of live from desired, both in unstructured form. It changes neither.
//
// Both must be the same object at the same apiVersion. Compare skips apiVersion, kind, name, namespace, status and the
// metadata that the server owns.
func Compare(desired, live map[string]any, opt Options) Result {
	found := compareDeclared(desired, live, opt)
	if opt.Strict == nil {
		return found
	}
	return opt.Strict.compare(desired, live, found, opt)
}

func compareDeclared(desired, live map[string]any, opt Options) Result {
	c := newComparer(opt)
	target, changed := c.mergeMap(desired, live, opt.Schema.root)
	if changed {
		target = c.withoutConsequences(desired, live, target)
	}
	target = c.withoutOwners(desired, live, target)
	return c.result(c.withoutFreeze(desired, live, target))
}
