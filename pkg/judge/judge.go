package judge

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
)

// Input is all that a judgement depends on.
type Input struct {
	ID      manifest.ID
	Release release.Key // the release that the object belongs to
	Desired map[string]any
	// Live is the object as it exists; nil when it does not. Last is then its last known state; nil when unknown.
	Live, Last *unstructured.Unstructured
	// GoneFor is the time since the object was reported as gone.
	GoneFor time.Duration

	Schema drift.Schema
	Rules  *rules.Matcher
	// Strict is set in scope Strict.
	Strict bool
	// ServerSide is set when Helm applied the release by server-side apply.
	ServerSide bool
	// Manager returns Helm's field manager of the release, for an object without a known owner; empty when unknown.
	Manager func() string

	// Scalable and Replicas are those of the Object. LiveRange is the range of a live autoscaler, nil for none, and
	// Wanted what it wanted last, zero when unknown. Chosen is the last number of replicas that was seen within the
	// range; nil for none. ScalersUnknown is set when it is not known which live autoscalers there are: no answer is
	// not "none", so the number of replicas is left alone.
	Scalable       bool
	Replicas       *Range
	LiveRange      *Range
	Wanted         int64
	Chosen         *int64
	ScalersUnknown bool

	// First is set when the object was not judged before. Baseline, Owner and Excused are what was learnt when it was.
	First    bool
	Baseline drift.Baseline
	Owner    drift.Owner
	Excused  bool

	// Left are the paths of declared fields that are neither compared nor written: see Leaving.
	Left [][]string

	// owners reports whether an owner reference that is not declared stays; nil for those that Adopted lets stay.
	owners func(ref map[string]any) bool

	// managed are the decoded managed fields of Live; nil when not decoded yet. Judge decodes them once, as that takes
	// longer than the comparison of a small object.
	managed []metav1.ManagedFieldsEntry
}

// State is what an object is, compared with what Helm deployed.
type State string

const (
	// InSync means that the object is as declared, or in the API server's form of that.
	InSync State = "InSync"
	// BeingDeleted says that the content is as declared, and that the deletion of the object is pending.
	BeingDeleted State = "BeingDeleted"
	// Unclear says that the differences may be only the form that the API server gives to what Helm applied, or that a
	// webhook gives to what it injects. A dry run of the revert shows that: see AfterDryRun.
	Unclear State = "Unclear"
	// Drifted means that the object was changed.
	Drifted State = "Drifted"
	// Missing means that the object does not exist, and is to be created.
	Missing State = "Missing"
	// NotRecreated says that the object does not exist, and stays away; Result.Why says why.
	NotRecreated State = "NotRecreated"
)

// Result is the answer to one Input.
type Result struct {
	State State
	// Why is set for NotRecreated.
	Why string
	// Claimant is the other release that the object says it belongs to; zero for none. If the newest record of that
	// release declares the object, the object is left alone.
	Claimant release.Key
	// Deletion describes a pending deletion; empty for none.
	Deletion string
	// Changes are the departures from the desired state; none but for Unclear and Drifted.
	Changes []drift.Change
	// Desired is what to restore: the input's, but for what an autoscaler chose and finalizers that are done.
	Desired map[string]any
	// Target, RemovesForeign and Unproven are those of drift.Result.
	Target         map[string]any
	RemovesForeign bool
	Unproven       bool
	// Options are the rules of the comparison.
	Options drift.Options
	// Owner is Helm's field manager on the object. Unfinished is set when the content is as declared, and Helm does not
	// own all of it yet by server-side apply, because an earlier revert was not completed.
	Owner      drift.Owner
	Unfinished bool
	// Baseline is what is normal for the object, and Chosen the number of its replicas, if an autoscaler may choose
	// it.
	Baseline drift.Baseline
	Chosen   *int64
	// Excused is set when managed fields alone say that a part of Baseline is normal: see Excuse.
	Excused bool

	managed []metav1.ManagedFieldsEntry // those of the input
}

// Judge compares an object with what Helm deployed.
func Judge(in Input) Result {
	if in.Live == nil {
		return in.absent()
	}
	in.managed = in.Live.GetManagedFields()
	r := in.compared()
	r.managed, r.Claimant, r.Deletion = in.managed, in.claimant(), in.deletion()
	r.Owner, r.Baseline, r.Chosen = in.owner(in.Live, r.Changes), in.Baseline, in.ChosenIn(in.Live)
	r.Excused = in.Excused
	r.decide()
	switch {
	case r.State == Drifted && (in.First || r.Unproven):
		r.State = Unclear
	case r.State != Drifted && in.First && (in.Strict || drift.DeclaresNull(r.Desired)):
		r.Baseline = drift.Learn(r.Desired, in.Live.Object, r.Options)
	}
	return r
}

// compared compares the live object with the desired state. Its result has the differences, but no State yet.
func (in *Input) compared() Result {
	desired := in.Desired
	if in.Live.GetDeletionTimestamp() != nil {
		desired = drift.WithoutDoneFinalizers(desired, in.Live)
	}
	desired = in.rescaled(desired)
	options := drift.Options{
		Schema: in.Schema, Accepted: in.Baseline, Ignore: in.Ignore(desired), Strict: in.strict(in.Live),
		Adopted: in.adopted(),
	}
	r := Result{Desired: desired, Options: options}
	r.found(drift.Compare(desired, in.Live.Object, options))
	return r
}

// found takes over what a comparison found.
func (r *Result) found(found drift.Result) {
	r.Changes, r.Target = found.Changes, found.Target
	r.RemovesForeign, r.Unproven = found.RemovesForeign, found.Unproven
}

// decide sets what the object is, by what differs, who owns it, and whether it is being deleted.
func (r *Result) decide() {
	r.Unfinished = false
	switch {
	case len(r.Changes) > 0:
		r.State = Drifted
	case r.Deletion != "":
		r.State = BeingDeleted
	default:
		r.State = InSync
		r.Unfinished = r.Owner.Operation == metav1.ManagedFieldsOperationApply && drift.Unfinished(r.managed)
	}
}

// Restored returns what is normal for an object once it is as done, the answer to its revert.
func (in Input) Restored(r Result, done *unstructured.Unstructured) drift.Baseline {
	options := r.Options
	options.Schema, options.Accepted, options.Strict = in.Schema, nil, nil
	if in.Live != nil {
		options.Strict = in.strict(done)
	}
	return drift.Learn(r.Desired, done.Object, options)
}

func (in *Input) absent() Result {
	if why := in.staysAway(); why != "" {
		return Result{State: NotRecreated, Why: why}
	}
	return Result{State: Missing, Desired: in.recreatedScaled(in.Desired), Owner: in.owner(in.Last, nil)}
}

func (in *Input) strict(live *unstructured.Unstructured) *drift.Strict {
	if !in.Strict {
		return nil
	}
	return in.strictly(live)
}

func (in *Input) strictly(live *unstructured.Unstructured) *drift.Strict {
	return &drift.Strict{ManagedFields: in.managedFieldsOf(live), Helm: in.Owner, Keep: in.Rules.Keeps}
}

// managedFieldsOf returns the managed fields of the live object, or of another state of it.
func (in *Input) managedFieldsOf(live *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	if in.managed != nil && live == in.Live {
		return in.managed
	}
	return live.GetManagedFields()
}

// HasAdditions reports whether others added something to an object that scope Declared leaves alone, and scope Strict
// removes. live is the object, or the answer to its revert. In scope Strict there is no such thing: it is drift.
func (in Input) HasAdditions(r Result, live *unstructured.Unstructured) bool {
	in.managed = r.managed
	return !in.Strict && in.strictly(live).HasAdditions(r.Desired, live.Object, r.Options)
}

// Ignore returns what of the object is not compared: what the rules say, a number of replicas that an autoscaler chose,
// annotations that controllers of Kubernetes write, and finalizers that must stay; nil for nothing.
func (in *Input) Ignore(desired map[string]any) func(path []string) bool {
	var ownership *drift.Ownership
	if in.Rules.NeedsOwnership() {
		ownership = drift.NewOwnership(in.managedFieldsOf(in.Live), desired, in.Live.Object)
	}
	ignored := in.Rules.Bind(ownership)
	if in.keepsFinalizers() {
		ignored = also(ignored, isFinalizer)
	}
	if names := ofControllers(in.ID, desired); len(names) > 0 {
		ignored = also(ignored, annotated(names))
	}
	if in.autoscaled() {
		ignored = also(ignored, in.isReplicas)
	}
	if len(in.Left) > 0 {
		ignored = also(ignored, in.left)
	}
	return ignored
}

// also returns a function that ignores what one of two does; a may be nil.
func also(a, b func(path []string) bool) func(path []string) bool {
	if a == nil {
		return b
	}
	return func(path []string) bool { return a(path) || b(path) }
}

// owner returns Helm's field manager on the object. What was learnt while the object was as desired is trusted more
// than what a drifted object says, whose ownership metadata may be what was tampered with.
func (in *Input) owner(live *unstructured.Unstructured, changes []drift.Change) drift.Owner {
	if in.Owner.Manager != "" && len(changes) > 0 {
		return in.Owner
	}
	if live != nil {
		if owner := drift.ManagedBy(in.managedFieldsOf(live)); owner.Known {
			return owner
		}
	}
	if in.Owner.Manager != "" {
		return in.Owner
	}
	owner := drift.ManagedBy(nil)
	if in.Manager != nil {
		owner.Manager = cmp.Or(in.Manager(), owner.Manager)
	}
	if in.ServerSide {
		owner.Operation = metav1.ManagedFieldsOperationApply
	}
	return owner
}

// Owned returns whether Helm's manager owns a field of the live object by server-side apply; nil where that does not
// matter.
func (in Input) Owned(r Result) func(path []string) bool {
	in.managed = r.managed
	return r.Owner.Applied(in.managedFieldsOf(in.Live), r.Desired, in.Live.Object)
}

// claimant returns the other release that the live object says it belongs to, the zero Key for none.
func (in *Input) claimant() release.Key {
	other := ClaimedBy(in.Live)
	if other == in.Release {
		return release.Key{}
	}
	return other
}

// ClaimedBy returns the release that an object says it belongs to; the zero Key where Helm could have no such release.
// Any writer of the object may have made that up.
func ClaimedBy(obj metav1.Object) release.Key {
	annotations := obj.GetAnnotations()
	return release.KeyOf(annotations[manifest.ReleaseNamespaceAnnotation],
		annotations[manifest.ReleaseNameAnnotation])
}
