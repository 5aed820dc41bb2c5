package drift

import (
	"maps"
)

// mapMerge is a copy-on-write map: it copies live at the first change.
type mapMerge struct {
	live, target map[string]any
	changed      bool
}

func (m *mapMerge) own() {
	if !m.changed {
		m.changed = true
		if m.target = maps.Clone(m.live); m.target == nil {
			m.target = map[string]any{}
		}
	}
}

func (m *mapMerge) set(key string, v any) {
	m.own()
	m.target[key] = v
}
