package drift

import (
	"testing"
)

func TestOwnersThatAreNotDeclaredGo(t *testing.T) {
	object := func(uids ...string) string {
		refs := "["
		for _, uid := range uids {
			refs += "{apiVersion: v1, kind: ConfigMap, name: owner-" + uid + ", uid: " + uid + "}, "
		}
		return "{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, ownerReferences: " + refs + "]}}"
	}
	none, one, other, both := object(), object("u1"), object("u2"), object("u2", "u1")
	added := []string{"Added /metadata/ownerReferences/0"}
	comesBack := func(o *Options) { o.Accepted = Learn(obj(t, none), obj(t, one), *o) }
	for name, tc := range map[string]comparison{
		"none":              {desired: none, live: none},
		"one":               {desired: none, live: one, want: added},
		"a declared one":    {desired: one, live: one},
		"beside a declared": {desired: one, live: both, want: added},
		"instead of another": {desired: one, live: other,
			want: []string{"Added /metadata/ownerReferences/0", "Removed /metadata/ownerReferences/0"}},
		"one that is adopted": {desired: none, live: both,
			with: func(o *Options) { o.Adopted = func(ref map[string]any) bool { return ref["uid"] == "u2" } },
			want: []string{"Added /metadata/ownerReferences/1"}},
		"ignored": {desired: none, live: one,
			with: func(o *Options) { o.Ignore = ignoring("/metadata/ownerReferences") }},
		"one that comes back":                  {desired: none, live: one, with: comesBack},
		"another than the one that comes back": {desired: none, live: other, with: comesBack, want: added},
	} {
		tc.foreign = len(tc.want) > 0 // a merge would leave the reference there
		t.Run(name, tc.run)
	}
}
