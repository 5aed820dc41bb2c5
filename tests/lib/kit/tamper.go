package kit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher/helm-locker/pkg/drift"
)

// Tampering is one way to damage an object: an edit of a declared scalar, or the removal of something declared.
type Tampering struct {
	// Path leads to it in the declared object: keys, and list indexes as decimal numbers.
	Path []string
	// Remove deletes the value; without it, the value is changed.
	Remove bool
}

// String returns, for example, "edit /spec/ports/0/port".
func (t Tampering) String() string {
	if t.Remove {
		return "remove " + drift.Pointer(t.Path...)
	}
	return "edit " + drift.Pointer(t.Path...)
}

// shape is the path without list indexes: paths that differ only in indexes count as one shape.
func (t Tampering) shape() string {
	segments := []string{strconv.FormatBool(t.Remove)}
	for _, s := range t.Path {
		if _, err := strconv.Atoi(s); err == nil {
			s = "*"
		}
		segments = append(segments, s)
	}
	return strings.Join(segments, "/")
}

// Tamperings returns every way to damage the declared fields of an object, in a fixed order: an edit of each scalar,
// and a removal of each scalar, map and list element. Identifying fields, null and status are left out.
func Tamperings(declared map[string]any) []Tampering {
	var found []Tampering
	var walk func(path []string, value any)
	walk = func(path []string, value any) {
		if identifies(path) || value == nil {
			return
		}
		path = slices.Clip(path)
		switch v := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(append(path, key), v[key])
			}
		case []any:
			for i, element := range v {
				walk(append(path, strconv.Itoa(i)), element)
			}
		default:
			found = append(found, Tampering{Path: path})
		}
		if len(path) > 1 {
			found = append(found, Tampering{Path: path, Remove: true})
		}
	}
	walk(nil, declared)
	return found
}

func identifies(path []string) bool {
	switch strings.Join(path, "/") {
	case "apiVersion", "kind", "status", "metadata/name", "metadata/namespace", "metadata/creationTimestamp":
		return true
	}
	return false
}

// Sample returns at most limit different tamperings: one of each shape before a second of any, spread evenly over the
// object.
func Sample(all []Tampering, limit int) []Tampering {
	if len(all) <= limit {
		return all
	}
	rounds, seen := map[int][]Tampering{}, map[string]int{}
	for _, t := range all {
		shape := t.shape()
		rounds[seen[shape]] = append(rounds[seen[shape]], t)
		seen[shape]++
	}
	var chosen []Tampering
	for round := 0; len(chosen) < limit; round++ {
		candidates, free := rounds[round], limit-len(chosen)
		if len(candidates) <= free {
			chosen = append(chosen, candidates...)
			continue
		}
		for i := range free {
			chosen = append(chosen, candidates[i*len(candidates)/free])
		}
	}
	return chosen
}

// Patches returns JSON patches for a tampering with the live form of the declared object, starting with the likeliest
// to be accepted; none when the live object lacks the declared value.
func (t Tampering) Patches(declared, live map[string]any) ([][]byte, error) {
	path, value, found := t.Locate(declared, live)
	if !found {
		return nil, nil
	}
	operations := []map[string]any{{"op": "remove", "path": drift.Pointer(path...)}}
	if !t.Remove {
		operations = nil
		for _, other := range others(value) {
			operations = append(operations, map[string]any{"op": "replace", "path": drift.Pointer(path...), "value": other})
		}
	}
	patches := make([][]byte, 0, len(operations))
	for _, op := range operations {
		patch, err := json.Marshal([]any{op})
		if err != nil {
			return nil, fmt.Errorf("encode a patch: %w", err)
		}
		patches = append(patches, patch)
	}
	return patches, nil
}

// Locate returns the path and the value of the tampering in the live object, whose list elements may have other
// indexes; not found when the live object lacks the declared value.
func (t Tampering) Locate(declared, live any) (path []string, value any, found bool) {
	for _, segment := range t.Path {
		switch d := declared.(type) {
		case map[string]any:
			l, ok := live.(map[string]any)
			if !ok || l[segment] == nil {
				return nil, nil, false
			}
			declared, live = d[segment], l[segment]
		case []any:
			l, ok := live.([]any)
			i, err := strconv.Atoi(segment)
			if !ok || err != nil || len(l) == 0 {
				return nil, nil, false
			}
			declared = d[i]
			i = likest(declared, l, i)
			segment, live = strconv.Itoa(i), l[i]
		default:
			return nil, nil, false
		}
		path = append(path, segment)
	}
	return path, live, true
}

// likest returns the index of the element most similar to the declared one; its own index on a tie.
func likest(declared any, live []any, at int) int {
	best, most := min(at, len(live)-1), -1
	for i, l := range live {
		if n := agreement(declared, l); n > most || n == most && i == at {
			best, most = i, n
		}
	}
	return best
}

func agreement(declared, live any) int {
	sum := 0
	switch d := declared.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			for key, value := range d {
				sum += agreement(value, l[key])
			}
		}
	case []any:
		if l, ok := live.([]any); ok {
			for i, value := range d {
				if i < len(l) {
					sum += agreement(value, l[i])
				}
			}
		}
	default:
		if fmt.Sprint(declared) == fmt.Sprint(live) {
			sum = 1
		}
	}
	return sum
}
