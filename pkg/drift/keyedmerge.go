package drift

import (
	"slices"
)

// keyedMerge is the work on one list merged by key.
type keyedMerge struct {
	c          *comparer
	n          *node
	want, have []any
	partner    []int  // by desired index: the live element, or -1
	owner      []int  // by live index: the desired element with its key, or -1
	skip       []bool // by desired index: ignored
	out        []bool // by live index: to be taken out
	value      []any  // by live index: what stands there in the target
	slot       []int  // by live index: the missing desired element that comes back there, or -1
	changed    bool
}

// none returns n indexes of nothing.
func none(n int) []int { return slices.Repeat([]int{-1}, n) }

// isPartner reports whether live element j is the one compared with the desired element of its key.
func (m *keyedMerge) isPartner(j int) bool { return m.owner[j] >= 0 && m.partner[m.owner[j]] == j }

func (m *keyedMerge) declared(i int) map[string]any { return m.want[i].(map[string]any) }

func (m *keyedMerge) live(j int) map[string]any { return mapOf(m.have[j]) }
