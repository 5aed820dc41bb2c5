package cli

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/values"
)

// valuesOf returns the masked live and declared values of a changed field; nil for none. objects are those of the
// manifest. The values are not known for an element of a list without names: its place can differ between the objects.
func valuesOf(
	objects []manifest.Object, o *inspect.Difference, change drift.Change,
) (live, declared any, known bool) {
	path := change.Segments()
	i := slices.IndexFunc(objects, func(of manifest.Object) bool { return of.ID == o.ID })
	if i < 0 {
		return nil, nil, false
	}
	content := objects[i].Content
	parents := path
	if change.Op == drift.Added && len(path) > 0 {
		parents = path[:len(path)-1]
	}
	if !isNamed(content, parents) {
		return nil, nil, false
	}
	if change.Op == drift.Added {
		live, _ = values.Get(liveValue(content, o.Have, parents), path[len(parents):])
		return live, nil, true
	}
	declared = liveValue(content, o.Want, path)
	if change.Op != drift.Removed {
		live = liveValue(content, o.Have, path)
	}
	return live, declared, true
}

// isNamed reports whether each element of a list on a path has a name.
func isNamed(content any, path []string) bool {
	for _, segment := range path {
		_, isList := content.([]any)
		content, _ = values.Get(content, []string{segment})
		if isList && nameOf(content) == nil {
			return false
		}
	}
	return true
}

// liveValue returns the live value at a path of the declared object. Elements of lists are found by their names.
func liveValue(declared, live any, path []string) any {
	for _, segment := range path {
		next := segment
		want, _ := values.Get(declared, []string{segment})
		if list, ok := live.([]any); ok {
			if name := nameOf(want); name != nil {
				if i := slices.IndexFunc(list, func(e any) bool { return nameOf(e) == name }); i >= 0 {
					next = strconv.Itoa(i)
				}
			}
		}
		live, _ = values.Get(live, []string{next})
		declared = want
	}
	return live
}

func nameOf(element any) any {
	m, _ := element.(map[string]any)
	return m["name"]
}

func shownField(value any, there bool) string {
	if !there {
		return "not set"
	}
	return shownValue(value)
}

// masked matches the marker of a value of a Secret.
var masked = regexp.MustCompile(`^<secret [0-9a-f]+>$`)

// shownValue prints a value in one line.
func shownValue(value any) string {
	if text, ok := value.(string); ok && (harmless.MatchString(text) || masked.MatchString(text)) {
		return text
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "?"
	}
	const most = 160
	return plain.Cut(strings.TrimSpace(b.String()), most)
}
