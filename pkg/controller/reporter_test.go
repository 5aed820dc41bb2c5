package controller

import (
	"maps"
	"slices"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

func TestTheLogOfADriftHasNoEmptyFields(t *testing.T) {
	object := &lock.Object{ID: manifest.ID{Kind: "ConfigMap", Namespace: "apps", Name: "web"}}
	changed := &result{Work: &lock.Work{Object: object}, operation: v1alpha1.DriftModified,
		author: drift.Author{Manager: "kubectl"},
		found:  judge.Result{Changes: []drift.Change{{Path: "/data/key"}}}}
	deleted := &result{Work: &lock.Work{Object: object}, operation: v1alpha1.DriftDeleted}
	for name, tc := range map[string]struct {
		of    *result
		lived time.Duration
		want  []string
	}{
		"changed": {changed, time.Second,
			[]string{"lived", "manager", "object", "operation", "paths", "release"}},
		"deleted":           {deleted, time.Second, []string{"lived", "object", "operation", "release"}},
		"only reported":     {changed, 0, []string{"manager", "object", "operation", "paths", "release"}},
		"reported deletion": {deleted, 0, []string{"object", "operation", "release"}},
	} {
		if got := slices.Sorted(maps.Keys(tc.of.logged(&lock.Lock{}, tc.lived))); !slices.Equal(got, tc.want) {
			t.Errorf("%s: logged %v, want %v", name, got, tc.want)
		}
	}
}
