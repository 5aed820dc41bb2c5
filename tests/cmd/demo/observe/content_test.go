package observe

import (
	"reflect"
	"testing"
	"time"
)

func object(data map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": map[string]any{"a.b/c": "x"}}, "data": data}
}

func TestDescribe(t *testing.T) {
	want := object(map[string]any{"a": "1", "b": "2"})
	for _, c := range []struct {
		name, kind string
		have       map[string]any
		changes    []string
	}{
		{"an object that was deleted", "ConfigMap", nil, []string{"deleted"}},
		{"a value that differs", "ConfigMap", object(map[string]any{"a": "1", "b": "3"}), []string{"data.b: 2 → 3"}},
		{"a value of a Secret stays out", "Secret", object(map[string]any{"a": "1", "b": "3"}),
			[]string{"data.b: **** → ****"}},
		{"keys that came and went", "ConfigMap", object(map[string]any{"a": "1", "z": "9"}),
			[]string{"data.b removed", "data.z added"}},
		{"a label that went", "ConfigMap", map[string]any{"data": want["data"]},
			[]string{"metadata.labels[a.b/c] removed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := describe(c.kind, want, c.have); !reflect.DeepEqual(got, c.changes) {
				t.Errorf("got %q, want %q", got, c.changes)
			}
		})
	}
}

func TestEpisodesAndFlaps(t *testing.T) {
	id := ID{"ConfigMap", "apps", "shop"}
	old, changed := object(map[string]any{"a": "1"}), object(map[string]any{"a": "2"})
	begin := time.Unix(100, 0)
	for _, c := range []struct {
		name     string
		contents []map[string]any
		lived    time.Duration // zero: never restored
		flaps    int
	}{
		{"an upgrade changes an object once", []map[string]any{changed}, 0, 0},
		{"a status changes and the content does not", []map[string]any{old, old}, 0, 0},
		{"a change is taken back", []map[string]any{changed, changed, old}, 2 * time.Second, 1},
		{"an object is deleted", []map[string]any{nil}, 0, 0},
		{"an object is deleted and comes back", []map[string]any{nil, old}, time.Second, 1},
		{"an object is deleted and comes back otherwise", []map[string]any{nil, changed}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &Observer{reference: map[ID]map[string]any{id: old}}
			for i, content := range c.contents {
				o.seen = append(o.seen, sighting{id: id, at: begin.Add(time.Duration(i) * time.Second),
					content: content})
			}
			e := o.episode(0, id)
			if restored := !e.Restored.IsZero(); restored != (c.lived > 0) ||
				restored && e.Restored.Sub(e.Drifted) != c.lived {
				t.Errorf("the episode is %+v, want it to live %s", e, c.lived)
			}
			if flaps := o.Flaps(0, "apps"); len(flaps) != c.flaps {
				t.Errorf("flaps %v, want %d", flaps, c.flaps)
			}
		})
	}
}
