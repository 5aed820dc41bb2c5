package status

import (
	"slices"
	"strings"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
)

// exceptions returns the current exceptions of a locked release, ordered by object: of the manifest and the spec, of
// live autoscalers, of Jobs that have run, and of managed fields.
func (v *View) exceptions(live func(manifest.ID) *judge.Range) []v1alpha1.Exception {
	all := slices.Clone(v.Lock.Exceptions)
	for id, declared := range v.Sum.Scalable {
		if r := judge.ScaledBy(declared, live(id)); r != declared {
			all = append(all, judge.ExceptionOf(id, v1alpha1.ExceptionAutoscaled, r.String(), "/spec/replicas"))
		}
	}
	for _, p := range v.Sum.Problems {
		if p.Reason == v1alpha1.ReasonNotRecreated {
			all = append(all, judge.ExceptionOf(p.ID, v1alpha1.ExceptionRunsOnce, p.Message))
		}
	}
	for _, e := range v.Sum.Excused {
		all = append(all, judge.ExceptionOf(e.ID, v1alpha1.ExceptionLeftByHelm,
			"differs from the manifest; by its managed fields no one but Helm wrote it since the revision was deployed",
			e.Paths[:min(len(e.Paths), plain.MaxNamed)]...))
	}
	slices.SortFunc(all, func(a, b v1alpha1.Exception) int {
		return strings.Compare(a.Object.String()+string(a.Reason), b.Object.String()+string(b.Reason))
	})
	return all
}
