package drift

import (
	"strconv"
)

// withoutIgnored returns a copy of a declared value that the live object lacks, without the ignored fields. It also
// reports whether there is anything left to restore.
func (c *cursor) withoutIgnored(want any) (any, bool) {
	declared, ok := want.(map[string]any)
	if !ok || c.ignore == nil {
		return deepCopy(want), true
	}
	kept := make(map[string]any, len(declared))
	for key, v := range declared {
		c.push(key)
		if !c.ignored() {
			if v, needed := c.withoutIgnored(v); needed {
				kept[key] = v
			}
		}
		c.pop()
	}
	return kept, len(kept) > 0 || len(declared) == 0
}

// adopt returns a copy of a desired value with the live values of ignored fields.
func (c *cursor) adopt(want, have any) any {
	switch w := want.(type) {
	case map[string]any:
		if h, ok := have.(map[string]any); ok && c.ignore != nil {
			return c.adoptMap(w, h)
		}
	case []any:
		h, ok := have.([]any)
		if !ok || c.ignore == nil || len(h) != len(w) {
			break
		}
		out := make([]any, len(w))
		for i := range w {
			out[i] = c.adoptAt(i, w[i], h[i])
		}
		return out
	}
	return deepCopy(want)
}

// adoptAt is adopt for element i of a list.
func (c *cursor) adoptAt(i int, want, have any) any {
	c.push(strconv.Itoa(i))
	defer c.pop()
	if c.ignored() {
		return have
	}
	return c.adopt(want, have)
}

func (c *cursor) adoptMap(want, have map[string]any) map[string]any {
	out := make(map[string]any, len(want))
	for key, w := range want {
		c.push(key)
		if !c.ignored() {
			if have[key] != nil {
				out[key] = c.adopt(w, have[key])
			} else if v, needed := c.withoutIgnored(w); needed {
				out[key] = v
			}
		}
		c.pop()
	}
	for key, h := range have {
		_, declared := want[key]
		sub, isMap := h.(map[string]any)
		c.push(key)
		if c.ignored() {
			out[key] = h
		} else if isMap && !declared {
			if kept := c.adoptMap(nil, sub); len(kept) > 0 {
				out[key] = kept
			}
		}
		c.pop()
	}
	return out
}
