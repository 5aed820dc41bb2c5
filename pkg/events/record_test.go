package events

import (
	"maps"
	"slices"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestTheLogOfADriftHasNoEmptyFields(t *testing.T) {
	object := &lock.Object{ID: manifest.ID{Kind: "ConfigMap", Namespace: "apps", Name: "web"}}
	changed := &Drift{Work: &lock.Work{Object: object}, Operation: v1alpha1.DriftModified,
		Authors: []drift.Attribution{{Author: drift.Author{Manager: "kubectl"},
			Changes: []drift.Change{{Path: "/data/key"}}}}}
	second := Life{time.Second, v1alpha1.DriftSinceObserved}
	deleted := &Drift{Work: &lock.Work{Object: object}, Operation: v1alpha1.DriftDeleted}
	for name, tc := range map[string]struct {
		of    *Drift
		lived Life
		want  []string
	}{
		"changed":           {changed, second, []string{"lived", "manager", "object", "operation", "paths", "release", "since"}},
		"deleted":           {deleted, second, []string{"lived", "object", "operation", "release", "since"}},
		"only reported":     {changed, Life{}, []string{"manager", "object", "operation", "paths", "release"}},
		"reported deletion": {deleted, Life{}, []string{"object", "operation", "release"}},
	} {
		fields := tc.of.Portions()[0].Logged(&lock.Lock{}, object.ID, tc.lived)
		got := slices.Sorted(maps.Keys(fields))
		check.That(t, slices.Equal(got, tc.want), "%s: logged %v, want %v", name, got, tc.want)
	}
}
