package judge

import (
	"slices"

	"github.com/rancher/helm-locker/pkg/drift"
)

// Additions returns the undeclared fields and list elements of r.Target that a revert may remove, when the API server
// accepts none of the declared values beside them.
func (in Input) Additions(r Result) []drift.Addition {
	return drift.Additions(r.Desired, r.Target, r.managed, in.Rules.Keeps, r.Options)
}

// Without returns r after the removal of additions from its target. The removals are among its changes.
func (r Result) Without(additions []drift.Addition) Result {
	if len(additions) == 0 {
		return r
	}
	r.Target, r.RemovesForeign, r.Changes = drift.Without(r.Target, additions), true, slices.Clone(r.Changes)
	for _, a := range additions {
		r.Changes = append(r.Changes, a.Change)
	}
	return r
}

// Leaving returns the input for another judgement without the given changes: it neither compares nor writes them.
func (in Input) Leaving(changes []drift.Change) Input {
	in.First, in.Left = false, make([][]string, 0, len(changes))
	for _, ch := range changes {
		in.Left = append(in.Left, ch.Segments())
	}
	return in
}

// left reports whether a path is one of Left, or below one.
func (in *Input) left(path []string) bool {
	return slices.ContainsFunc(in.Left, func(l []string) bool {
		return len(path) >= len(l) && slices.Equal(path[:len(l)], l)
	})
}
