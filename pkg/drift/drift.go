// Package drift decides what has to change in a live object so that it is again what Helm deployed.
//
// It is pure: objects, rules and managed fields go in, changes and the object to write come out. There is no
// client, no clock, no logging and no state but the caches that the caller holds ([Schemas], [Hasher]).
//
// # What is drift
//
// A desired object declares fields. In scope Declared only those are protected: what others added beside them
// stays, and is carried over into the target. Four rules make that precise. Scope Strict is below.
//
// Maps: every declared key must be there with an equal value. Numbers are compared by value (1 is 1.0), all
// other scalars by type and value.
//
// Some maps of built-in kinds are one value (selectors of Pods, rules of a NetworkPolicy or a Role): a key that
// others add there changes what the declared ones mean, so it is a change and is taken out.
//
// Lists: of a built-in kind as its Go type says, of a custom kind as its CustomResourceDefinition says, see
// [Schema]. Lists merged by key and sets only have to hold the declared elements. An undeclared element that took
// the place of a declared one is that one, edited, and goes; but not in finalizers, which every controller adds and
// removes. All others are atomic: same length, same order, primitives equal, and for maps the declared keys equal
// (the server adds defaults inside of elements). So is every list of which nothing is known, and every list merged by
// key of which two declared elements have the same key. A definition can call a map atomic, too: it has exactly the
// declared keys, apart from what the server defaults.
//
// Owner references: one that is not declared goes, with any owner. It is a deletion of the object by the garbage
// collector, now or later.
//
// Zero values: a declared zero value ("", 0, false, {}, []) that the live object lacks is no drift where the Go
// type of a built-in kind holds the field by value: such a field cannot tell zero from absent, so the server may
// drop it and no client can take it away. Labels and annotations are of that sort on every kind. In all other places
// absent differs from zero (emptyDir: {} is a volume source, replicas: 0 is not the default 1, a custom resource
// keeps what it is given), so there it is a change. Where the server drops it all the same, [Learn] accepts that,
// and only that.
//
// Exclusive fields: of a volume's sources, an env's value and valueFrom and the like only one may be set. When a
// declared one is gone and another is there in its place, that other one replaced it: it is taken out, since both
// together are invalid. This holds for declared zero values and for learnt absences too.
//
// # Scope Strict
//
// With [Options.Strict] everything else that others added goes as well, as an Added change: labels, annotations, keys
// of a ConfigMap, variables, containers, volumes, ports, finalizers, any field that is not declared. Who added what
// is read from the managed fields of the live object, in which the API server records the owners of each field.
// An undeclared field goes when foreign managers own it, and no other does:
//
//	owned by                                                  Declared  Strict
//	a foreign manager: kubectl, a person, another controller  stays     goes
//	a foreign manager and Helm, or Kubernetes, or Keep        stays     stays
//	no manager: a default of the server                       stays     stays
//	no known manager: before-first-apply, unknown             stays     stays
//	kube-controller-manager and the like, helm-locker         stays     stays
//	a manager that Strict.Keep names                          stays     stays
//	a foreign manager through the status subresource          stays     stays
//
// A list element that a webhook injected has no owner, so it stays. If a foreign manager owns a part of it, or its
// content is no longer the learnt one, it was changed: it goes if a dry run shows that the webhook injects it again.
//
// In other words, for a manifest with the label a and one container:
//
//	kubectl label b=c, kubectl annotate, kubectl set env      goes
//	a sidecar, with the volume and the mount for it           goes
//	kubectl scale, where the manifest has no replicas         goes, and the server's default comes back
//	imagePullPolicy, revisionHistoryLimit, a Service's type   goes, and the server's default comes back
//	annotation deployment.kubernetes.io/revision              stays: kube-controller-manager
//	finalizer example.com/hold                                goes
//	finalizer foregroundDeletion, kubernetes.io/pvc-protection  stays: of Kubernetes itself
//	clusterIP, nodePort, volumeName, an injected caBundle     stays with any owner, see keptFields
//
// A list element goes or stays as a whole. A map in which another manager owns something loses the foreign fields
// only. Atomic lists have one owner. When that one is foreign, an undeclared field inside of their elements is
// a change, unless it was learnt with the value that it has, and the list is restored as a whole. Managers are
// names that clients choose: who writes as Helm or as kube-controller-manager is taken for it. Against changes of
// what is declared that is no help.
//
// # What the server does to our desired state
//
// Differences that remain directly after the desired state was applied come from the API server (normalisation,
// pruning, mutating webhooks). [Learn] records them as a [Baseline]; only a departure from it is drift. That holds for
// additions, too: a default that a foreign manager owns, or what a webhook puts in again, is still there afterwards.
package drift

import (
	"cmp"
	"slices"
)

// Operation says how the live object departed from the desired one at a path.
type Operation string

const (
	// Modified means that a declared value is there and differs. For lists: its elements or their order differ.
	Modified Operation = "Modified"
	// Removed means that a declared key or list element is missing.
	Removed Operation = "Removed"
	// Added means that something undeclared has to go. It took the place of something declared: a list element
	// whose merge key was edited, an environment variable that overrides a declared one of the same name, a
	// field that excludes a declared one, a key of an atomic map. Or the scope is Strict and another manager added it.
	Added Operation = "Added"
	// Shared means that the value is as declared, and that another manager owns the field, alone or beside Helm's: see
	// Request.Shares. Compare never returns it.
	Shared Operation = "Shared"
)

// Change is one departure from the desired state. It never holds a value.
type Change struct {
	// Path is an RFC 6901 pointer. List indexes are those of the desired list, except in the last segment of the
	// path of an Added list element, which is the index in the live list.
	Path string
	// Op says what happened at Path.
	Op Operation
}

// Segments returns the keys and indexes of the path, unescaped.
func (c Change) Segments() []string { return parsePointer(c.Path) }

// Result is what Compare found.
type Result struct {
	// Changes are sorted by path. Empty means that nothing drifted.
	Changes []Change
	// Target is the live object with every change reverted, or nil without changes. It shares the unchanged
	// parts with the live object, so treat it as read-only, or copy it first.
	Target map[string]any
	// RemovesForeign is set when Target lacks something that others put into the live object: an element taken out
	// of a merged list, an exclusive field, an addition. A three-way merge or a server-side apply would leave it
	// there. It is also set when a list changed of which it is not known whether the API server merges it.
	RemovesForeign bool
	// Unproven is set when Target lacks an injected list element for a webhook to inject again: see injected.go.
	// A dry run has to show that one does.
	Unproven bool
}

// Options are the rules of a comparison. The zero value compares everything, with all lists atomic.
type Options struct {
	// Schema holds the list semantics of the object's kind, from Schemas.For.
	Schema Schema
	// Accepted are the differences that are normal for this desired object.
	Accepted Baseline
	// Ignore, if set, reports whether the declared field at path (unescaped segments, list indexes those of the
	// desired list) is left alone, with all that is below it: neither compared nor written. A missing list element is
	// restored whole, since an element without its ignored fields may not be valid. Ignore must not keep the slice.
	Ignore func(path []string) bool
	// Adopted, if set, reports whether an owner reference that is not declared stays.
	Adopted func(ref map[string]any) bool
	// Strict, if set, also takes out what others added (scope Strict). Ignore is asked for that too, with the keys
	// and indexes of the live object where a part of a path is not declared; inside of an added list element it is
	// not asked, such an element goes or stays as a whole.
	Strict *Strict
}

// Compare finds where live departed from desired, both in unstructured form, and never changes either.
//
// Both must be the same object at the same apiVersion: apiVersion, kind, name, namespace, status and the metadata
// that the server owns are not compared.
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
	return c.result(c.withoutOwners(desired, live, target))
}

func newComparer(opt Options) comparer {
	return comparer{ignore: opt.Ignore, adopted: opt.Adopted, accepted: opt.Accepted, complete: opt.Schema.complete,
		path: make([]string, 0, 16)}
}

// comparer holds the state of one comparison. Its merge methods find the changes and build the target.
type comparer struct {
	ignore   func([]string) bool
	adopted  func(map[string]any) bool
	complete bool // see Schema
	accepted Baseline
	learnt   Baseline // when set, report records what it sees here

	path    []string // where we are, in desired
	buf     []byte   // scratch for pointers
	asking  bool     // only whether something changed is asked for: nothing is recorded, and the target does not matter
	quiet   bool     // report records nothing
	tries   int      // similarity comparisons so far, see maxTries
	changes []Change
	foreign bool
	// unproven is Result.Unproven.
	unproven bool
}

func (c *comparer) result(target map[string]any) Result {
	if len(c.changes) == 0 {
		return Result{}
	}
	slices.SortFunc(c.changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Op, b.Op))
	})
	return Result{Changes: slices.Compact(c.changes), Target: target, RemovesForeign: c.foreign,
		Unproven: c.unproven}
}

func (c *comparer) push(segment string) { c.path = append(c.path, segment) }
func (c *comparer) pop()                { c.path = c.path[:len(c.path)-1] }

// ignored reports whether the current path is out of bounds.
func (c *comparer) ignored() bool { return c.ignore != nil && c.ignore(c.path) }

// ignoredAt is ignored for a child of the current path.
func (c *comparer) ignoredAt(segment string) bool {
	if c.ignore == nil {
		return false
	}
	c.push(segment)
	defer c.pop()
	return c.ignore(c.path)
}

func (c *comparer) silent() bool { return c.asking || c.quiet }

// report records a change at the current path. seen gives the fingerprint of what is there now.
func (c *comparer) report(op Operation, seen func() uint64) {
	if c.silent() {
		return
	}
	pointer := Pointer(c.path...)
	c.changes = append(c.changes, Change{Path: pointer, Op: op})
	if c.learnt != nil {
		c.learnt[pointer] = seen()
	}
}

// reportAdded records that the child of the current path called segment has to go.
func (c *comparer) reportAdded(segment string) {
	c.push(segment)
	defer c.pop()
	if c.silent() {
		return
	}
	c.changes = append(c.changes, Change{Path: Pointer(c.path...), Op: Added})
	c.foreign = true
}

// outside reports whether a key at the current path is never compared: what identifies the object, and what the
// server owns.
func (c *comparer) outside(key string) bool {
	switch len(c.path) {
	case 0:
		return key == "apiVersion" || key == "kind" || key == "status"
	case 1:
		if c.path[0] != "metadata" {
			return false
		}
		switch key {
		case "name", "namespace", "generateName", "uid", "resourceVersion", "generation", "managedFields",
			"selfLink", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds":
			return true
		}
	}
	return false
}
