package values

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/charts"
	"github.com/rancher/helm-locker/tests/lib/check"
)

var (
	measure = flag.Bool("measure", false, "write the table of docs/values.md; public charts come from the Go module proxy")
	sample  = flag.Int("sample", 1000, "how many leaves of each chart are asked about")
)

// tally counts answers.
type tally struct{ leaves, asked, explained, alone, named, wrong, renders int }

// TestMeasure asks for the value behind each leaf but names, labels and selectors, and checks each answer by Helm's
// engine alone.
func TestMeasure(t *testing.T) {
	chosen := charts.Local()[:1]
	if *measure {
		chosen = charts.All()
	}
	rows := []string{
		"| chart | leaves | asked | a value, verified | of these, changing nothing else | another reason named | wrong | renders for one |",
		"|---|--:|--:|--:|--:|--:|--:|--:|"}
	for _, m := range chosen {
		n := measured(t, recorded(t, m.Path(t), `{}`))
		check.That(t, n.wrong <= 0, "%s: %d answers are wrong", m.Name, n.wrong)
		percent := func(of int) string { return fmt.Sprintf("%d %%", 100*of/max(n.asked, 1)) }
		rows = append(rows, fmt.Sprintf("| %s | %d | %d | %s | %s | %s | %d | %d |", m.Name, n.leaves, n.asked,
			percent(n.explained), percent(n.alone), percent(n.named), n.wrong, n.renders/max(n.asked, 1)))
		t.Log(rows[len(rows)-1])
	}
	if *measure {
		const begin, end = "<!-- measured -->\n", "<!-- /measured -->\n"
		text, err := os.ReadFile("../../docs/values.md")
		check.NoError(t, err)
		before, rest, _ := strings.Cut(string(text), begin)
		_, after, found := strings.Cut(rest, end)
		check.Must(t, found, "docs/values.md has no place for the table")
		table := strings.Join(rows, "\n") + "\n"
		check.NoError(t, os.WriteFile("../../docs/values.md", []byte(before+begin+table+end+after), 0o600))
	}
}

func measured(t *testing.T, s *Source) (n tally) {
	f, err := newFinder(s, nil)
	check.NoError(t, err)
	var questions []Question
	for _, o := range f.recorded.objects {
		for pointer, value := range leavesOf(o.Content) {
			if path := segments(pointer); !isIdentity(path) {
				wanted := changedValue(value)
				if o.ID.Kind == "Secret" && path[0] == "data" {
					wanted = "b3RoZXI="
				}
				questions = append(questions, Question{Field{o.ID, path}, wanted})
			}
		}
	}
	slices.SortFunc(questions, func(a, b Question) int { return strings.Compare(a.at(), b.at()) })
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(questions), func(i, j int) {
		questions[i], questions[j] = questions[j], questions[i]
	})
	n.leaves, n.asked = len(questions), min(len(questions), *sample)
	for _, q := range questions[:n.asked] {
		a := f.answer(q)
		n.renders += a.Renders
		switch {
		case len(a.Settings) == 0 && !strings.HasPrefix(a.Governor, "no value that was tried"):
			n.named++
		case len(a.Settings) == 0:
			t.Logf("unexplained: %s -> %v", q.at(), q.Wanted)
		default:
			n.explained++
			if len(a.Others) == 0 {
				n.alone++
			}
			if !replayed(t, s, a) {
				n.wrong++
				t.Errorf("wrong: %s -> %v by %+v", q.at(), q.Wanted, a.Settings)
			}
		}
	}
	return n
}

// isIdentity reports whether a path is part of an object's identity, its labels or a selector.
func isIdentity(path []string) bool {
	return slices.ContainsFunc(path, func(key string) bool {
		return slices.Contains([]string{"apiVersion", "kind", "name", "namespace", "labels", "selector", "matchLabels"}, key)
	})
}

// changedValue returns another value of the same type.
func changedValue(value any) any {
	switch v := value.(type) {
	case string:
		switch {
		case v == "true":
			return "false"
		case v == "false":
			return "true"
		}
		return v + "1"
	case bool:
		return !v
	case int64:
		return v + 1
	case map[string]any:
		return map[string]any{"added": "1"}
	case []any:
		return []any{"added"}
	}
	return "added"
}

// replayed renders with the printed flags, as another finder would, and reports whether the field is as wanted.
func replayed(t *testing.T, s *Source, a Answer) bool {
	t.Helper()
	r, err := newRenderer(s, nil)
	check.NoError(t, err)
	config, err := s.config()
	check.NoError(t, err)
	config, err = apply(config, a.Settings)
	check.NoError(t, err)
	after, err := r.render(task{config: config, upgrade: true})
	check.NoError(t, err)
	o, found := after.find(a.ID)
	value, declared := Get(o.Content, a.Path)
	return found && declared && same(value, a.Wanted)
}
