package controller

import (
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
)

// summary says in words what changed and who did it, without any value.
func (v *verdict) summary() string {
	var b strings.Builder
	switch v.operation {
	case v1alpha1.DriftDeleted:
		b.WriteString("deleted")
	default:
		fmt.Fprintf(&b, "%s changed", drift.Describe(v.changes, 3))
	}
	if v.author.Manager != "" {
		fmt.Fprintf(&b, " by %s", v.author.Manager)
	}
	return b.String()
}

// paths returns the changed paths, each once, cut to what a status holds, and how many were left out.
func (v *verdict) paths() ([]string, int) {
	paths := make([]string, 0, len(v.changes))
	for _, ch := range v.changes {
		paths = append(paths, ch.Path)
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if len(paths) > v1alpha1.MaxDriftPaths {
		return paths[:v1alpha1.MaxDriftPaths], len(paths) - v1alpha1.MaxDriftPaths
	}
	return paths, 0
}
