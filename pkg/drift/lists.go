package drift

import (
	"strconv"
)

func (c *comparer) mergeList(want, have []any, n *node) ([]any, bool) {
	switch c.kindOf(want, n) {
	case keyedList:
		return c.mergeKeyed(want, have, n)
	case setList:
		return c.mergeSet(want, have, n)
	}
	target, changed := c.mergeAtomic(want, have, n.element())
	if changed && (n == nil && !c.complete || n != nil && n.merged) && !c.silent() {
		// The API server merges the list, or may do so if it is one of a custom resource with unknown semantics. A
		// server-side apply of it would leave the edited element, or the foreign member, beside the declared one.
		c.foreign = true
	}
	return target, changed
}

// equalElement compares element i of the desired list with a live one.
func (c *comparer) equalElement(i int, want, have any, n *node) bool {
	c.push(strconv.Itoa(i))
	defer c.pop()
	return c.ignored() || c.equal(want, have, n)
}

// mergeAtomic restores a list that belongs to Helm as a whole. It keeps live elements with all declared content, with
// the server's additions to them, and replaces the others: in a half-merged element, remains of the tampering could
// contradict declared values.
func (c *comparer) mergeAtomic(want, have []any, n *node) ([]any, bool) {
	if c.asking {
		return have, !c.equalInPlace(want, have, n) && !c.accepts("", have)
	}
	partner, inPlace := c.align(want, have, n)
	if inPlace {
		return c.mergeInPlace(want, have, partner, n)
	}
	if !c.departs(Modified, have) {
		return have, false
	}
	target := make([]any, len(want))
	for i, w := range want {
		switch {
		case i < len(have) && c.ignoredAt(strconv.Itoa(i)):
			target[i] = have[i]
		case partner[i] >= 0:
			target[i] = have[partner[i]]
		case len(want) == len(have):
			target[i] = c.replacement(i, w, have[i], n)
		default:
			target[i] = deepCopy(w)
		}
	}
	return target, true
}

func (c *comparer) equalInPlace(want, have []any, n *node) bool {
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if !c.equalElement(i, want[i], have[i], n) {
			return false
		}
	}
	return true
}

// mergeInPlace reports the changes inside of the elements of a list of the same length and order.
func (c *comparer) mergeInPlace(want, have []any, partner []int, n *node) ([]any, bool) {
	target, changed := have, false
	for i, w := range want {
		if partner[i] == i {
			continue
		}
		c.push(strconv.Itoa(i))
		_, differs := c.mergeValue(w, have[i], n)
		c.pop()
		if !differs {
			continue
		}
		if !changed {
			target, changed = append([]any(nil), have...), true
		}
		target[i] = c.replacement(i, w, have[i], n)
	}
	return target, changed
}

// align finds for each desired element the live one with its declared content, or -1. inPlace is set when the lists
// differ at most inside of maps at the same index.
func (c *comparer) align(want, have []any, n *node) (partner []int, inPlace bool) {
	partner = make([]int, len(want))
	taken := make([]bool, len(have))
	inPlace = len(want) == len(have)
	for i, w := range want {
		partner[i] = -1
		if i < len(have) && c.equalElement(i, w, have[i], n) {
			partner[i], taken[i] = i, true
		}
	}
	for i, w := range want {
		if partner[i] >= 0 {
			continue
		}
		declared, ok := w.(map[string]any)
		if !ok || c.ignoredAt(strconv.Itoa(i)) { // an ignored element is the one at its place, not just any
			inPlace = false
			continue
		}
		if i >= len(have) {
			inPlace = false
		} else if _, ok := have[i].(map[string]any); !ok {
			inPlace = false
		}
		for j := range have {
			if !taken[j] && c.try() && c.equalElement(i, declared, have[j], n) {
				partner[i], taken[j], inPlace = j, true, false
				break
			}
		}
	}
	return partner, inPlace
}

// replacement returns element i of the desired list to replace a different live one: the declared content, with the
// live values of ignored fields. If those contradict the declared ones (they are in another member of a union), the
// element is replaced as a whole.
func (c *comparer) replacement(i int, want, have any, n *node) any {
	if adopted := c.adoptAt(i, want, have); c.equalElement(i, want, adopted, n) {
		return adopted
	}
	return deepCopy(want)
}
