package drift

import (
	"testing"
)

func TestEditedElementsOfSets(t *testing.T) {
	schema := Schema{root: &node{object: &object{fields: map[string]*node{"set": {list: setList, edited: true}}}},
		complete: true}
	for name, tc := range map[string]comparison{
		"one was edited": {
			foreign: true,
			desired: "{set: [a, b, c]}", live: "{set: [a, x, c]}", target: "{set: [a, b, c]}",
			want: []string{"Added /set/1", "Removed /set/1"},
		},
		"all were edited": {
			foreign: true,
			desired: "{set: [1, 2]}", live: "{set: [3, 4]}", target: "{set: [1, 2]}",
			want: []string{"Added /set/0", "Removed /set/0", "Added /set/1", "Removed /set/1"},
		},
		"one was removed, and another had been added": {
			desired: "{set: [a, b]}", live: "{set: [a, x, z]}", target: "{set: [a, b, x, z]}",
			want: []string{"Removed /set/1"},
		},
		"one was removed": {
			desired: "{set: [a, b]}", live: "{set: [b]}", target: "{set: [a, b]}",
			want: []string{"Removed /set/0"},
		},
		"one was removed, and another one comes first": {
			desired: "{set: [a, b]}", live: "{set: [x, a]}", target: "{set: [x, a, b]}",
			want: []string{"Removed /set/1"},
		},
		"additions beside what is declared": {desired: "{set: [a]}", live: "{set: [x, a]}"},
	} {
		tc.with = func(o *Options) { o.Schema = schema }
		t.Run(name, tc.run)
	}
}
