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
		check.Equal(t, set.Objects[0].Keep, want, "policy %s: keep is %v", policy, !want)
	}
	set := mustParse(t,
		"apiVersion: v1\nkind: List\nmetadata: {annotations: {helm.sh/resource-policy: keep}}\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]")
	check.That(t, set.Objects[0].Keep, "an item of a kept List is not kept")
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
		check.Equal(t, set.Objects[0].OptedOut, want, "%v", annotation)
		resolved, _, err := set.Resolve(podinfo, always(true))
		check.NoError(t, err)
		check.Equal(t, resolved[0].OptedOut, want, "%s, resolved", annotation)
		asLabel := mustParse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  "+
			strings.Replace(annotations, "annotations", "labels", 1)+"\n")
		check.That(t, !asLabel.Objects[0].OptedOut, "the label %s opts out", annotation)
	}
	set := mustParse(t, `
apiVersion: v1
kind: List
metadata: {annotations: {helmreleases.cattle.io/lock: disabled}}
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {helmreleases.cattle.io/lock: disabled}}}
`)
	check.That(t, !set.Objects[0].OptedOut && set.Objects[1].OptedOut,
		"a List speaks for its items, or an item not for itself")
}
