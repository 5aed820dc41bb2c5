package drift

import (
	"slices"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// A webhook injected the container b and the variable B: no manager owns them.
const (
	injectedWant = `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: a, env: [{name: A, value: "1"}]}]}}}}`
	injectedLive = `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: b, image: i, env: [{name: X, value: x}]}, ` +
		`{name: a, env: [{name: A, value: "1"}, {name: B, value: "1"}]}]}}}}`
	injectedOther = `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: b, image: evil}, ` +
		`{name: a, env: [{name: A, value: "1"}, {name: B, value: "2"}]}]}}}}`
)

func TestInjectedElements(t *testing.T) {
	const container = "/spec/template/spec/containers/0"
	const variable = container + "/env/1"
	image := by(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{"f:image":{}}}}}}}`)
	value := by(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:env":{"k:{\"name\":\"B\"}":{"f:value":{}}}}}}}}}`)
	status := by(`{"f:status":{}}`)
	for name, test := range map[string]struct {
		live   string
		fields entries
		learnt string // the object of which a baseline was learnt; empty for none
		want   []string
	}{
		"as injected":                       {live: injectedLive, fields: entries{status}},
		"as injected and learnt":            {live: injectedLive, fields: entries{status}, learnt: injectedLive},
		"a foreign image":                   {live: injectedLive, fields: entries{image}, want: []string{container}},
		"a foreign value of a variable":     {live: injectedLive, fields: entries{value}, want: []string{variable}},
		"both":                              {live: injectedLive, fields: entries{image, value}, want: []string{container, variable}},
		"a foreign image that was learnt":   {live: injectedLive, fields: entries{image}, learnt: injectedLive},
		"another content than learnt":       {live: injectedOther, fields: entries{status}, learnt: injectedLive, want: []string{container, variable}},
		"another content and never learnt":  {live: injectedOther, fields: entries{status}},
		"another content, and no one wrote": {live: injectedOther, learnt: injectedLive, want: []string{container, variable}},
	} {
		t.Run(name, func(t *testing.T) {
			desired, live := obj(t, injectedWant), obj(t, test.live)
			opt := strictOptions(t, desired, test.fields)
			if test.learnt != "" {
				opt.Accepted = Learn(desired, obj(t, test.learnt), opt)
			}
			found := Compare(desired, live, opt)
			got := paths(found.Changes)
			check.Must(t, slices.Equal(got, test.want) && found.Unproven == (len(test.want) > 0),
				"got %v, unproven %t; want %v", got, found.Unproven, test.want)
			if len(got) == 0 {
				return
			}
			again := opt
			again.Accepted = nil
			if rest := Compare(desired, found.Target, again); len(rest.Changes) > 0 && len(test.fields) > 0 {
				t.Errorf("the target differs by %v", rest.Changes)
			}
			opt.Accepted = Learn(desired, live, opt)
			rest := Compare(desired, live, opt)
			check.That(t, len(rest.Changes) == 0, "%v, although it is learnt", rest.Changes)
			if rest := opt.Accepted.WithoutInjected(); len(rest) > 0 || len(opt.Accepted.Injected()) != 2 {
				t.Errorf("learnt %v, of which %v is not injected", opt.Accepted.Paths(), rest.Paths())
			}
		})
	}
}

// A list with two declared elements of one key is compared and learnt as a whole: a webhook that renames the second one
// has injected nothing that could be removed.
func TestNothingIsInjectedIntoAListOfDuplicates(t *testing.T) {
	deployment := func(env string) map[string]any {
		return obj(t, `{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: a, env: [`+env+`]}]}}}}`)
	}
	desired := deployment(`{name: A}, {name: A}`)
	opt := strictOptions(t, desired, entries{by(`{"f:status":{}}`)})
	opt.Accepted = Learn(desired, deployment(`{name: A}, {name: B, value: "1"}`), opt)
	for _, c := range checkStrict(t, desired, deployment(`{name: A}, {name: B, value: "2"}`), opt).Changes {
		check.That(t, c.Op != Added, "%s is taken for an injected element", c.Path)
	}
}
