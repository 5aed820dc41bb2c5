package cli

import (
	"fmt"
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
)

// describe returns paths in a short form for people; more is how many are not among them.
func describe(paths []string, more int) string {
	const most = 3
	changes := make([]drift.Change, 0, len(paths))
	for _, path := range paths[:min(len(paths), most)] {
		changes = append(changes, drift.Change{Path: path})
	}
	text := drift.Describe(changes, most)
	if more += max(len(paths)-most, 0); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// whatDrifted says what was changed, and by whom, for example "spec.replicas changed by kubectl-scale (scale)".
func whatDrifted(r v1alpha1.DriftRecord) string {
	var text string
	switch r.Operation {
	case v1alpha1.DriftDeleted:
		text = "deleted"
	case v1alpha1.DriftLeftover:
		text = "left over from an earlier revision"
	case v1alpha1.DriftRemoved:
		text = describe(r.Paths, r.MorePaths) + " removed"
	case v1alpha1.DriftAdded:
		text = describe(r.Paths, r.MorePaths) + " added"
	default:
		text = describe(r.Paths, r.MorePaths) + " changed"
	}
	if r.FieldManager != "" {
		text += " by " + r.FieldManager
	}
	if r.Subresource != "" {
		text += " (" + r.Subresource + ")"
	}
	return text
}

// outcome says what was done about a drift, for example "reverted after 12ms".
func outcome(r v1alpha1.DriftRecord) string {
	text := strings.ToLower(string(r.Action))
	if r.Duration != nil {
		text += " after " + r.Duration.Round(100*time.Microsecond).String()
	}
	return text
}
