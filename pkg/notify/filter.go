package notify

import (
	"path"
	"slices"

	"github.com/rancher/helm-locker/pkg/severity"
)

// filter selects the messages of a receiver.
type filter struct {
	least      severity.Level // of a drift
	namespaces []string       // patterns for the namespace of a release; empty for all
}

// take reports whether a message is for the receiver. One about no release, such as that of lost messages, is for all.
func (f filter) take(e event) bool {
	if e.Severity != "" && !e.Severity.AtLeast(f.least) {
		return false
	}
	return len(f.namespaces) == 0 || e.Release == nil || slices.ContainsFunc(f.namespaces, func(pattern string) bool {
		matches, err := path.Match(pattern, e.Release.Namespace)
		return err == nil && matches
	})
}
