package drift

import (
	"cmp"
	"slices"
)

// recorder records the departures of an object that one comparison finds.
type recorder struct {
	cursor
	adopted func(map[string]any) bool // Options.Adopted
	learnt  Baseline                  // when set, report records the live values here
	asking  bool                      // stop at the first change: nothing is recorded, and the target does not matter
	quiet   bool                      // record nothing

	changes  []Change
	foreign  bool // Result.RemovesForeign
	unproven bool // Result.Unproven
}

func (c *recorder) result(target map[string]any) Result {
	if len(c.changes) == 0 {
		return Result{}
	}
	slices.SortFunc(c.changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Op, b.Op))
	})
	return Result{Changes: slices.Compact(c.changes), Target: target, RemovesForeign: c.foreign,
		Unproven: c.unproven}
}

func (c *recorder) silent() bool { return c.asking || c.quiet }

// report records a change at the current path. seen returns the fingerprint of the live value.
func (c *recorder) report(op Operation, seen func() uint64) {
	if c.silent() {
		return
	}
	pointer := Pointer(c.path...)
	c.changes = append(c.changes, Change{Path: pointer, Op: op})
	if c.learnt != nil {
		c.learnt[pointer] = seen()
	}
}

// reportAdded records the removal of the child segment of the current path.
func (c *recorder) reportAdded(segment string) {
	c.push(segment)
	defer c.pop()
	if c.silent() {
		return
	}
	c.changes = append(c.changes, Change{Path: Pointer(c.path...), Op: Added})
	c.foreign = true
}
