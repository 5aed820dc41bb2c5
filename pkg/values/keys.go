package values

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/strvals"
)

// Setting is a value to set.
type Setting struct {
	// Key has the keys of maps on the way to the value; of a list the whole is set.
	Key []string
	// Present is the value now, Wanted the new one. Set reports whether there is a value now.
	Present, Wanted any
	Set             bool
}

// Name returns the key in the notation of Helm's documentation.
func (s Setting) Name() string { return keyName(s.Key) }

func keyName(key []string) string {
	var parts []string
	for _, segment := range key {
		parts = append(parts, escaped(segment, `.,=[]\`))
	}
	return strings.Join(parts, ".")
}

// escaped puts a backslash before each of some characters.
func escaped(text, special string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Flag returns the flag of Helm that sets the value, and its argument: the simplest one from which Helm's own parser
// gets the wanted value.
func (s Setting) Flag() (flag, argument string, err error) {
	tries := [...]struct {
		flag  string
		parse func(string, map[string]any) error
	}{{"--set", strvals.ParseInto}, {"--set-string", strvals.ParseIntoString}, {"--set-json", strvals.ParseJSON}}
	printed, scalar := text(integers(s.Wanted))
	for _, try := range tries {
		argument := s.Name() + "=" + escaped(printed, `,\`)
		switch encoded, err := json.Marshal(s.Wanted); {
		case err != nil:
			return "", "", fmt.Errorf("the value of %s is no JSON: %w", s.Name(), err)
		case try.flag == "--set-json":
			argument = s.Name() + "=" + string(encoded)
		case s.Wanted == nil && try.flag == "--set":
			argument = s.Name() + "=null"
		case !scalar || strings.ContainsAny(printed, "\n{}"):
			continue
		}
		values := map[string]any{}
		if err := try.parse(argument, values); err != nil {
			continue
		}
		if got, found := Get(values, s.Key); found && same(got, s.Wanted) {
			return try.flag, argument, nil
		}
	}
	return "", "", fmt.Errorf("no flag of Helm sets %s to that value", s.Name())
}

// apply returns the user's values after an upgrade with some settings by their flags and --reset-then-reuse-values.
func apply(config map[string]any, settings []Setting) (map[string]any, error) {
	values := map[string]any{}
	for _, s := range settings {
		flag, argument, err := s.Flag()
		if err != nil {
			return nil, err
		}
		parse := strvals.ParseInto
		switch flag {
		case "--set-string":
			parse = strvals.ParseIntoString
		case "--set-json":
			parse = strvals.ParseJSON
		}
		if err := parse(argument, values); err != nil {
			return nil, fmt.Errorf("set %s: %w", s.Name(), err)
		}
	}
	reused, _ := copyOf(config).(map[string]any)
	return chartutil.CoalesceTables(values, reused), nil
}

// setting returns the Setting for a path into the present values. The path may lead through lists.
func setting(present map[string]any, path []string, wanted any) Setting {
	for i := range path {
		parent, _ := Get(present, path[:i])
		list, isList := parent.([]any)
		if !isList {
			continue
		}
		changed := map[string]any{"list": copyOf(list)}
		if !put(changed, append([]string{"list"}, path[i:]...), wanted) {
			break
		}
		return Setting{Key: path[:i], Present: list, Wanted: changed["list"], Set: true}
	}
	now, found := Get(present, path)
	return Setting{Key: path, Present: copyOf(now), Wanted: wanted, Set: found}
}

// leafKeys returns the paths of all scalars and empty maps and lists in the present values, sorted.
func leafKeys(present map[string]any) [][]string {
	var found [][]string
	for pointer := range leavesOf(present) {
		if at := segments(pointer); len(at) > 0 {
			found = append(found, at)
		}
	}
	slices.SortFunc(found, slices.Compare)
	return found
}
