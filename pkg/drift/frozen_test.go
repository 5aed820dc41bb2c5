package drift

import (
	"slices"
	"testing"
)

// TestUndeclaredImmutable compares objects that someone made immutable, in both scopes.
func TestUndeclaredImmutable(t *testing.T) {
	const settings = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: dmFsdWU=}`
	const secret = `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {key: dmFsdWU=}`
	const account = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}`
	const custom = `{apiVersion: example.com/v1, kind: ConfigMap, metadata: {name: a}`
	added := []string{"Added /immutable"}
	for name, tc := range map[string]comparison{
		"a ConfigMap":      {desired: settings + `}`, live: settings + `, immutable: true}`, want: added},
		"a Secret":         {desired: secret + `}`, live: secret + `, immutable: true}`, want: added},
		"declared as null": {desired: settings + `, immutable: null}`, live: settings + `, immutable: true}`, want: added},
		"false":            {desired: settings + `}`, live: settings + `, immutable: false}`},
		"declared":         {desired: settings + `, immutable: true}`, live: settings + `, immutable: true}`},
		"declared false": {desired: settings + `, immutable: false}`, live: settings + `, immutable: true}`,
			want: []string{"Modified /immutable"}},
		"another kind of that name": {desired: custom + `}`, live: custom + `, immutable: true}`},
		"another kind":              {desired: account + `}`, live: account + `, immutable: true}`},
		"ignored": {desired: settings + `}`, live: settings + `, immutable: true}`,
			with: func(o *Options) { o.Ignore = ignoring("/immutable") }},
	} {
		tc.foreign = slices.Equal(tc.want, added) // a merge would leave the field there
		t.Run(name, func(t *testing.T) {
			tc.run(t)
			ignored := tc.with
			tc.with = func(o *Options) {
				o.Strict = &Strict{ManagedFields: entries{wrote("helm", update, "", 1,
					`{"f:immutable":{},"f:data":{"f:key":{}}}`)}}
				if ignored != nil {
					ignored(o)
				}
			}
			tc.run(t)
		})
	}
}
