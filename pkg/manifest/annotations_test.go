package manifest_test

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestKeepIsReadAsHelmReadsIt(t *testing.T) {
	for policy, want := range map[string]bool{"keep": true, "Keep": true, "' keep '": true, "delete": false,
		"''": false, "true": false} {
		set := mustParse(t,
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {helm.sh/resource-policy: "+policy+"}}")
		if set.Objects[0].Keep != want {
			t.Errorf("policy %s: keep is %v", policy, !want)
		}
	}
	set := mustParse(t,
		"apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/resource-policy: keep}}\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]")
	if !set.Objects[0].Keep {
		t.Error("an item of a kept List is not kept")
	}
}

func TestOptedOutIsWhatTheObjectItselfSays(t *testing.T) {
	for annotation, want := range map[string]bool{
		"helmreleases.cattle.io/lock: disabled": true, "helm.toolkit.fluxcd.io/driftDetection: disabled": true,
		"{helmreleases.cattle.io/lock: enabled, helm.toolkit.fluxcd.io/driftDetection: disabled}": true,
		"helmreleases.cattle.io/lock: Disabled":                                                   false,
		"helmreleases.cattle.io/lock: 'disabled '":                                                false,
		"helmreleases.cattle.io/lock: ''":                                                         false,
		"helmreleases.cattle.io/lock:":                                                            false,
		"helmreleases.cattle.io/lock: enabled":                                                    false,
		"helmreleases.cattle.io/lock: 'false'":                                                    false,
		"helmreleases.cattle.io/lock: false":                                                      false,
		"helmreleases.cattle.io/lock: [disabled]":                                                 false,
		"helmreleases.cattle.io/Lock: disabled":                                                   false,
		"lock: disabled":                                                                          false, "{}": false,
	} {
		annotations := "annotations:\n    " + annotation
		set := mustParse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  "+annotations+"\n")
		if got := set.Objects[0].OptedOut; got != want {
			t.Errorf("%s: %v", annotation, got)
		}
		resolved, _, err := set.Resolve(podinfo, always(true))
		check.NoError(t, err)
		if got := resolved[0].OptedOut; got != want {
			t.Errorf("%s, resolved: %v", annotation, got)
		}
		asLabel := mustParse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  "+
			strings.Replace(annotations, "annotations", "labels", 1)+"\n")
		if asLabel.Objects[0].OptedOut {
			t.Errorf("the label %s opts out", annotation)
		}
	}
	set := mustParse(t, `
apiVersion: v1
kind: List
metadata: {annotations: {helmreleases.cattle.io/lock: disabled}}
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {helmreleases.cattle.io/lock: disabled}}}
`)
	if set.Objects[0].OptedOut || !set.Objects[1].OptedOut {
		t.Error("a List speaks for its items, or an item not for itself")
	}
}
