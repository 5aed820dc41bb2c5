package judge

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

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
	case r.State != Drifted && in.First && (in.Strict || manifest.DeclaresNull(r.Desired)):
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
	return Result{Result: drift.Compare(desired, in.Live.Object, options), Desired: desired, Options: options}
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

// HasAdditions reports whether an object has fields of others. Scope Declared leaves them alone, and in scope Strict
// they are drift, so it returns false there. live is the object, or the answer to its revert.
func (in Input) HasAdditions(r Result, live *unstructured.Unstructured) bool {
	in.managed = r.managed
	return !in.Strict && in.strictly(live).HasAdditions(r.Desired, live.Object, r.Options)
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
