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

// departs reports whether the live value at the current path is not the learnt one, and records the change if so.
func (c *recorder) departs(op Operation, have any) bool {
	if c.accepts("", have) {
		return false
	}
	c.report(op)
	c.learn("", have)
	return true
}

// learn records a live value of the current path; suffix is as in accepts.
func (c *recorder) learn(suffix string, have any) {
	if c.learnt != nil && !c.silent() {
		c.learnt[Pointer(c.path...)+suffix] = fingerprint(have)
	}
}

// report records a change at the current path.
func (c *recorder) report(op Operation) {
	if !c.silent() {
		c.changes = append(c.changes, Change{Path: Pointer(c.path...), Op: op})
	}
}

// reportAdded records the removal of the child segment of the current path.
func (c *recorder) reportAdded(segment string) {
	c.push(segment)
	c.report(Added)
	c.pop()
	c.foreign = c.foreign || !c.silent()
}
