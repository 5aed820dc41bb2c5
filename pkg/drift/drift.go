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

// Operation classifies the departure of a live object at a path.
type Operation string

const (
	// Modified means that a declared value exists and differs. For lists: its elements or their order differ.
	Modified Operation = "Modified"
	// Removed means that a declared key or list element is missing.
	Removed Operation = "Removed"
	// Added means that an undeclared value has to be removed. It took the place of a declared one: a list element with
	// an edited merge key, an environment variable that overrides a declared one of the same name, a field that
	// excludes a declared one, a key of an atomic map. Or the scope is Strict and another manager added it.
	Added Operation = "Added"
	// Shared means that the value is as declared, and another manager owns the field, alone or beside Helm's: see
	// Request.Shares. Compare never returns it.
	Shared Operation = "Shared"
)

// Change is one departure from the desired state. It never holds a value.
type Change struct {
	// Path is an RFC 6901 pointer. List indexes are those of the desired list. The last segment of the path of an Added
	// list element is the index in the live list instead.
	Path string
	// Op is the departure at Path.
	Op Operation
}

// Segments returns the keys and indexes of the path, unescaped.
func (c Change) Segments() []string { return parsePointer(c.Path) }

// Result is the result of Compare.
type Result struct {
	// Changes are sorted by path. They are empty without drift.
	Changes []Change
	// Target is the live object with every change reverted, or nil without changes. It shares the unchanged
	// parts with the live object, so treat it as read-only, or copy it first.
	Target map[string]any
	// RemovesForeign is set when Target lacks additions of others to the live object: an element of a merged list, an
	// exclusive field, an addition. A three-way merge or a server-side apply would not remove them. It is also set
	// after the change of a list that the API server may or may not merge.
	RemovesForeign bool
	// Unproven is set when Target lacks an injected list element for a webhook to inject again: see injected.go. A dry
	// run must confirm that a webhook does so.
	Unproven bool
}

// Options are the rules of a comparison. The zero value compares everything, with all lists atomic.
type Options struct {
	// Schema holds the list semantics of the object's kind, from Schemas.For.
	Schema Schema
	// Accepted are the normal differences of this desired object.
	Accepted Baseline
	// Ignore, if set, reports whether to ignore the declared field at path (unescaped segments, list indexes those of
	// the desired list) with everything below it: it is neither compared nor written. A missing list element is
	// restored whole, since an element without its ignored fields may not be valid. Ignore must not keep the slice.
	Ignore func(path []string) bool
	// Adopted, if set, reports whether an undeclared owner reference stays.
	Adopted func(ref map[string]any) bool
	// Strict, if set, also removes additions of others (scope Strict). Ignore applies to those too, with the keys and
	// indexes of the live object for undeclared parts of a path. It does not apply inside of an added list element,
	// which is removed or stays as a whole.
	Strict *Strict
}

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
