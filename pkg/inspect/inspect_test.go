package inspect

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestSimilar(t *testing.T) {
	keys := map[release.Key]bool{}
	for _, key := range []string{"apps/web", "apps/wed", "apps/web-api", "apps/cache", "other/web", "other/wep",
		"apps/w"} {
		namespace, name, _ := strings.Cut(key, "/")
		keys[release.Key{Namespace: namespace, Name: name}] = true
	}
	for asked, want := range map[string]string{
		"apps/webb": "[apps/web apps/web-api apps/w apps/wed]",
		"here/web":  "[apps/web other/web]",
		"apps/zzzz": "[]",
		"/cahce":    "[apps/cache]",
	} {
		namespace, name, _ := strings.Cut(asked, "/")
		got := Similar(release.Key{Namespace: namespace, Name: name}, keys)
		if asked == "apps/webb" {
			check.That(t, len(got) >= 2 && (got[0].String() == "apps/web" || got[0].String() == "apps/w"), "%s: %v", asked, got)
			continue
		}
		check.That(t, fmt.Sprint(got) == want, "%s: %v, want %s", asked, got, want)
	}
}

func TestCurrentIsTheNewestDeployedRevision(t *testing.T) {
	record := func(revision int, status release.Status) release.Record {
		return release.Record{Revision: revision, Status: status, UID: types.UID(fmt.Sprint(revision))}
	}
	for name, tc := range map[string]struct {
		records []release.Record
		want    int
	}{
		"none":            {nil, 0},
		"deployed":        {[]release.Record{record(2, release.StatusDeployed), record(1, release.StatusSuperseded)}, 2},
		"a failed one":    {[]release.Record{record(1, release.StatusDeployed), record(2, release.StatusFailed)}, 1},
		"an upgrade":      {[]release.Record{record(3, release.StatusPendingUpgrade), record(2, release.StatusDeployed)}, 2},
		"all uninstalled": {[]release.Record{record(1, release.StatusSuperseded), record(2, release.StatusUninstalled)}, 2},
	} {
		got, _ := Current(tc.records)
		check.That(t, got.Revision == tc.want, "%s: revision %d", name, got.Revision)
	}
}

// changing is a source whose objects change a number of times while they are compared.
type changing struct {
	*Dump
	times int
}

func (c *changing) DryRun(context.Context, *enforce.Revert) (*unstructured.Unstructured, string, error) {
	if c.times > 0 {
		c.times--
		return nil, "", errChanged
	}
	return nil, "nobody asked", nil
}

func details(manifest string) *whole.Release {
	return &whole.Release{Release: release.Release{Key: release.Key{Namespace: "apps", Name: "web"}, Revision: 1,
		Manifest: manifest}}
}

func saved(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	s, err := ReadSaved(strings.NewReader(text), "the test")
	check.NoError(t, err)
	return s.Objects
}

const liveWeb = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  namespace: apps
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: apps}
data: {a: "2", b: "2"}
`

func TestCompareLooksAgainAtWhatChanges(t *testing.T) {
	release := details("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: '1'}\n")
	for times, failures := range map[int]int{0: 0, attempts - 1: 0, attempts: 1} {
		source := &changing{Dump: NewDump(saved(t, liveWeb)), times: times}
		c, err := Compare(t.Context(), source, release, CompareOptions{Masker: report.NewMasker([]byte("key"))})
		check.That(t, err == nil && len(c.Failures) == failures && len(c.Differences) == 1-failures,
			"%d changes: %v, %+v", times, err, c)
		if failures == 1 && !errors.Is(c.Failures[0].Err, errChanged) {
			t.Errorf("failure is %v", c.Failures[0].Err)
		}
	}
}

func TestCompareWithRulesAndWithoutObjects(t *testing.T) {
	release := details(`apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {a: "1", b: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: gone}
---
apiVersion: batch/v1
kind: Job
metadata: {name: ran}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: web}
---
apiVersion: example.org/v1
kind: Unknown
metadata: {name: web}
---
apiVersion: v1
kind: Pod
metadata: {name: test, annotations: {helm.sh/hook: test}}
`)
	compiled, err := rules.Compile([]v1alpha1.IgnoreRule{
		{Paths: []string{"/data/a"}}, {Paths: []string{""}, Target: &v1alpha1.IgnoreTarget{Name: "gone"}},
	})
	check.NoError(t, err)
	calls := 0
	c, err := Compare(t.Context(), NewDump(saved(t, liveWeb)), release, CompareOptions{
		Masker: report.NewMasker([]byte("key")), Rules: compiled, Progress: func(done, all int) { calls++ },
	})
	check.NoError(t, err)
	var found []string
	for _, d := range c.Differences {
		found = append(found, fmt.Sprintf("%s %s %s", d.State, d.ID, d.Note))
		for _, change := range d.Changes {
			found = append(found, string(change.Op)+" "+change.Path)
		}
	}
	want := []string{"Missing ClusterRole web ", "Modified ConfigMap apps/web ", "Modified /data/b",
		"Missing Unknown.example.org web no object of this kind was saved"}
	check.That(t, reflect.DeepEqual(found, want), "differences are %q, want %q", found, want)
	left := []string{"ConfigMap apps/gone: spec.ignore exempts the object",
		"Job apps/ran: the Job is gone and may have run; it is not run again",
		"Pod test in document 6: it is a hook: Helm runs it and does not manage it"}
	check.That(t, reflect.DeepEqual(c.Left, left), "left are %q, want %q", c.Left, left)
	check.That(t, calls == 3 && c.Compared == 4 && c.Local == "saved objects are compared",
		"%d calls, %d compared, local %q", calls, c.Compared, c.Local)
	_, err = Compare(t.Context(), NewDump(nil), details("kind: ["), CompareOptions{})
	check.That(t, err != nil && strings.Contains(err.Error(), "does not parse"), "error is %v", err)
}

// A comparison that is bounded keeps no content of large objects: a tenant may make many of them.
func TestABoundedComparisonKeepsNoLargeObject(t *testing.T) {
	small, large := map[string]any{"data": "x"}, map[string]any{"data": strings.Repeat("x", 1<<20)}
	for name, test := range map[string]struct {
		most       int
		want, have map[string]any
		left       bool
	}{
		"small objects":                    {50, small, small, false},
		"a large live object":              {50, small, large, true},
		"a large declared object":          {50, large, nil, true},
		"a comparison that has no bound":   {0, large, large, false},
		"an object that does not exist":    {50, small, nil, false},
		"an object whose deletion pending": {50, large, large, true},
	} {
		c := &comparer{options: CompareOptions{Most: test.most}}
		c.differs(&Difference{Want: test.want, Have: test.have})
		d := c.Differences[0]
		check.That(t, d.TooLarge == test.left && (d.Want == nil) == test.left,
			"%s: too large is %v, content is kept: %v", name, d.TooLarge, d.Want != nil)
	}
}
