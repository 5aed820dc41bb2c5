package remediate

import (
	"slices"
	"strings"

	"github.com/rancher/helm-locker/pkg/drift"
)

// contested returns the changed paths of the object for its budget. An addition counts as its parent, because its
// writer may choose another key each time; a deletion has the empty path.
func (v *result) contested() []string {
	paths := make([]string, 0, len(v.Found.Changes)+1)
	for _, c := range v.Found.Changes {
		path := c.Path
		if c.Op == drift.Added {
			path = path[:max(0, strings.LastIndexByte(path, '/'))]
		}
		paths = append(paths, path)
	}
	if v.Live == nil || len(paths) == 0 {
		return append(paths[:0], "")
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
