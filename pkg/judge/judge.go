package judge

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
)

// Input holds everything that a judgement depends on.
type Input struct {
	ID      manifest.ID
	Release release.Key // the release that the object belongs to
	Desired map[string]any
	// Blank is what Helm sends beside Desired, see manifest.Object.
	Blank map[string]any
	// Live is the live object; nil when it does not exist. Last is then its last known state; nil when unknown.
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
	// Wanted the number in its status, zero when unknown. Chosen is the last observed number of replicas within the
	// range; nil for none. ScalersUnknown is set when the live autoscalers are unknown: there may be one, so the number
	// of replicas is left alone.
	Scalable       bool
	Replicas       *Range
	LiveRange      *Range
	Wanted         int64
	Chosen         *int64
	ScalersUnknown bool

	// First is set for the first judgement of the object. Otherwise Baseline, Owner and Excused are results of an
	// earlier one.
	First    bool
	Baseline drift.Baseline
	Owner    drift.Owner
	Excused  bool

	// Left are the paths of declared fields to leave alone, without comparison or write: see Leaving.
	Left [][]string

	// owners reports whether an undeclared owner reference may stay. When it is nil, Adopted decides.
	owners func(ref map[string]any) bool

	// managed are the decoded managed fields of Live; nil when not decoded yet. Judge decodes them once, as that takes
	// longer than the comparison of a small object.
	managed []metav1.ManagedFieldsEntry
}

// State is the state of an object compared with the manifest that Helm deployed.
type State string

const (
	// InSync means that the object is as declared, or in the API server's form of the declared state.
	InSync State = "InSync"
	// BeingDeleted means that the content is as declared, and the deletion of the object is pending.
	BeingDeleted State = "BeingDeleted"
	// Unclear means that the differences may be only normalization: the API server's form of the applied object, or a
	// webhook's form of an injected element. A dry run of the revert decides: see AfterDryRun.
	Unclear State = "Unclear"
	// Drifted means that the object was changed.
	Drifted State = "Drifted"
	// Missing means that the object does not exist, and is to be created.
	Missing State = "Missing"
	// NotRecreated means that the object does not exist, and is not to be created, by the reason in Result.Why.
	NotRecreated State = "NotRecreated"
)

// Result is the answer to one Input.
type Result struct {
	State State
	// Why is the reason for NotRecreated.
	Why string
	// Claimant is the other release in the object's metadata; zero for none. If the newest record of that release
	// declares the object, the object is left alone.
	Claimant release.Key
	// Deletion describes a pending deletion; empty for none.
	Deletion string
	// Changes are the differences from the desired state. Only Unclear and Drifted have some.
	Changes []drift.Change
	// Desired is the state to restore: the input's, with an autoscaler's choice of replicas and without done
	// finalizers.
	Desired map[string]any
	// Target, RemovesForeign and Unproven are those of drift.Result.
	Target         map[string]any
	RemovesForeign bool
	Unproven       bool
	// Options are the rules of the comparison.
	Options drift.Options
	// Owner is Helm's field manager on the object. Unfinished is set when the content is as declared, but Helm does not
	// own all of it by server-side apply yet, because an earlier revert was not completed.
	Owner      drift.Owner
	Unfinished bool
	// Baseline holds the normal departures of the object, and Chosen the number of its replicas, if an autoscaler may
	// choose it.
	Baseline drift.Baseline
	Chosen   *int64
	// Excused is set when managed fields alone justify a part of Baseline: see Excuse.
	Excused bool

	managed []metav1.ManagedFieldsEntry // those of the input
}

// Judge compares an object with the manifest that Helm deployed.
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
	in.owned(&r)
	return r
}

// compared compares the live object with the desired state. Its result has the differences, but no State yet.
func (in *Input) compared() Result {
	desired := in.Desired
	if in.Live.GetDeletionTimestamp() != nil {
		desired = drift.WithoutDoneFinalizers(desired, in.Live)
	}
	desired = in.scaling().rescaled(desired)
	options := drift.Options{
		Schema: in.Schema, Accepted: in.Baseline, Ignore: in.Ignore(desired), Strict: in.strict(in.Live),
		Adopted: in.adopted(),
	}
	r := Result{Desired: desired, Options: options}
	r.found(drift.Compare(desired, in.Live.Object, options))
	return r
}

// found copies the result of a comparison.
func (r *Result) found(found drift.Result) {
	r.Changes, r.Target = found.Changes, found.Target
	r.RemovesForeign, r.Unproven = found.RemovesForeign, found.Unproven
}

// decide sets the state by the changes, the owner, and a pending deletion.
func (r *Result) decide() {
	r.Unfinished = false
	switch {
	case len(r.Changes) > 0:
		r.State = Drifted
	case r.Deletion != "":
		r.State = BeingDeleted
	default:
		r.State = InSync
		r.Unfinished = r.Owner.Operation == metav1.ManagedFieldsOperationApply && managers.Unfinished(r.managed)
	}
}

// Restored returns the baseline of an object after its revert; done is the answer to the revert.
func (in Input) Restored(r Result, done *unstructured.Unstructured) drift.Baseline {
	options := r.Options
	options.Schema, options.Accepted, options.Strict = in.Schema, nil, nil
	if in.Live != nil {
		options.Strict = in.strict(done)
	}
	return drift.Learn(r.Desired, done.Object, options)
}

func (in *Input) absent() Result {
	if why := in.notRecreated(); why != "" {
		return Result{State: NotRecreated, Why: why}
	}
	return Result{State: Missing, Desired: in.scaling().recreated(in.Desired), Owner: in.owner(in.Last, nil)}
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

// HasAdditions reports whether an object has fields of others. Scope Declared leaves them alone, and in scope Strict
// they are drift, so it returns false there. live is the object, or the answer to its revert.
func (in Input) HasAdditions(r Result, live *unstructured.Unstructured) bool {
	in.managed = r.managed
	return !in.Strict && in.strictly(live).HasAdditions(r.Desired, live.Object, r.Options)
}

// Ignore returns a function for the ignored paths: those of the rules, the number of replicas of an autoscaler, the
// annotations of Kubernetes' controllers, and finalizers that must stay; nil for none.
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
	if scaling := in.scaling(); scaling.isLeft() {
		ignored = also(ignored, scaling.isAt)
	}
	if len(in.Left) > 0 {
		ignored = also(ignored, in.left)
	}
	return ignored
}

// also returns a function that ignores the paths of either function; a may be nil.
func also(a, b func(path []string) bool) func(path []string) bool {
	if a == nil {
		return b
	}
	return func(path []string) bool { return a(path) || b(path) }
}

// claimant returns the other release in the live object's metadata, the zero Key for none.
func (in *Input) claimant() release.Key {
	other := ClaimedBy(in.Live)
	if other == in.Release {
		return release.Key{}
	}
	return other
}

// ClaimedBy returns the release in an object's metadata; the zero Key if Helm could have no such release. Any writer of
// the object may have forged it.
func ClaimedBy(obj metav1.Object) release.Key {
	annotations := obj.GetAnnotations()
	return release.KeyOf(annotations[manifest.ReleaseNamespaceAnnotation],
		annotations[manifest.ReleaseNameAnnotation])
}
