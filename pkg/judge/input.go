package judge

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
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
