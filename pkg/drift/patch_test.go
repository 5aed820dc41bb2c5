package drift

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestMergePatch(t *testing.T) {
	for name, tc := range map[string]struct{ live, target, want string }{
		"equal objects need none":          {`{a: {b: 1}, l: [1]}`, `{a: {b: 1.0}, l: [1]}`, ``},
		"only what differs is in it":       {`{a: {b: 1, c: 2}, d: 3}`, `{a: {b: 1, c: 4}, d: 3}`, `{a: {c: 4}}`},
		"a removed key is null":            {`{a: {b: 1, c: 2}}`, `{a: {b: 1}}`, `{a: {c: null}}`},
		"a list is in it as a whole":       {`{l: [1, 2, 3]}`, `{l: [1, 3]}`, `{l: [1, 3]}`},
		"an added empty map":               {`{}`, `{a: {}}`, `{a: {}}`},
		"a map in place of a scalar":       {`{a: 1}`, `{a: {b: 1}}`, `{a: {b: 1}}`},
		"a scalar in place of a map":       {`{a: {b: 1}}`, `{a: 1}`, `{a: 1}`},
		"an unchanged null is left alone":  {`{a: null, b: 1}`, `{a: null, b: 2}`, `{b: 2}`},
		"a null that cannot be set is not": {`{b: 1}`, `{a: null, b: 1}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			got := MergePatch(obj(t, tc.live), obj(t, tc.target))
			if tc.want == "" {
				check.That(t, got == nil, "got %v", got)
				return
			}
			check.That(t, deepEqual(got, obj(t, tc.want)), "got %v", got)
		})
	}
}

func TestDescribe(t *testing.T) {
	list := []Change{
		{"/spec/replicas", Modified},
		{"/metadata/labels/app", Removed},
		{"/metadata/annotations/meta.helm.sh~1release-name", Removed},
		{"/spec/template/spec/containers/0/image", Modified},
		{"/spec/selector/matchLabels/app", Modified},
		{"/spec/ports/0", Added},
		{"/spec/ports/0", Removed},
		{"/data/a\nb", Modified},
	}
	for limit, want := range map[int]string{
		2: "spec.replicas, metadata.labels[app] and 5 more",
		9: `spec.replicas, metadata.labels[app], metadata.annotations[meta.helm.sh/release-name], ` +
			`spec.template.spec.containers[0].image, spec.selector.matchLabels[app], spec.ports[0], data["a\nb"]`,
	} {
		got := Describe(list, limit)
		check.That(t, got == want, "limit %d:\n got  %s\n want %s", limit, got, want)
	}
	check.Equal(t, Describe(nil, 3), "", "no changes")
}
