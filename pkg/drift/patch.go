package drift

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rancher/helm-locker/pkg/plain"
)

// MergePatch returns the smallest JSON merge patch (RFC 7386) from live to target, or nil when they are equal. It
// replaces lists as a whole. It shares memory with target. A merge patch cannot set a null, so it leaves out a null in
// target that live lacks.
func MergePatch(live, target map[string]any) map[string]any {
	patch := map[string]any{}
	for key := range live {
		if _, kept := target[key]; !kept {
			patch[key] = nil
		}
	}
	for key, want := range target {
		have, present := live[key]
		if present && deepEqual(have, want) {
			continue
		}
		if want == nil {
			if present {
				patch[key] = nil
			}
			continue
		}
		w, isMap := want.(map[string]any)
		h, wasMap := have.(map[string]any)
		switch {
		case isMap && wasMap:
			if sub := MergePatch(h, w); sub != nil {
				patch[key] = sub
			}
		case isMap:
			if sub := MergePatch(nil, w); sub != nil {
				patch[key] = sub
			} else {
				patch[key] = map[string]any{}
			}
		default:
			patch[key] = want
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// Describe returns the changed paths in a short form for people, at most limit of them:
//
//	spec.replicas, metadata.labels[app], spec.template.spec.containers[0].image and 3 more
//
// It never holds a value, and no key that could break a line of text.
func Describe(changes []Change, limit int) string {
	var paths []string
	for _, change := range changes {
		if text := describePath(parsePointer(change.Path)); !slices.Contains(paths, text) {
			paths = append(paths, text)
		}
	}
	return plain.Names(paths, limit)
}

// plainKey matches keys that need no brackets.
var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// bracketed are the maps with keys that users choose.
var bracketed = []string{
	"labels", "annotations", "matchLabels", "nodeSelector", "selector", "data", "binaryData", "stringData",
	"limits", "requests",
}

func describePath(path []string) string {
	var b strings.Builder
	for i, segment := range path {
		switch {
		case i > 0 && slices.Contains(bracketed, path[i-1]) && segment != "matchLabels" &&
			segment != "matchExpressions",
			!plainKey.MatchString(segment):
			fmt.Fprintf(&b, "[%s]", printable(segment))
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(segment)
		}
	}
	return b.String()
}

// printable quotes a key with characters unfit for a message, and cuts very long ones.
func printable(key string) string {
	const longest = 253 + 1 + 63 // of a label or annotation key
	if len(key) > longest {
		key = key[:longest]
	}
	if quoted := fmt.Sprintf("%q", key); quoted != `"`+key+`"` {
		return quoted
	}
	return key
}
