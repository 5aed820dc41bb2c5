package whole

import (
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func encoded(json string) []byte { return []byte(base64.StdEncoding.EncodeToString([]byte(json))) }

const detailed = `{"name":"web","namespace":"apps","version":3,
"info":{"status":"failed","description":"boom","notes":"hello","last_deployed":"2026-01-02T03:04:05Z"},
"chart":{"metadata":{"name":"web","version":"1.2.3","appVersion":"v9"},"templates":[{"name":"x","data":"eA=="}]},
"config":{"a":{"b":1},"c":"d"},"manifest":"kind: X\n","apply_method":"ssa",
"hooks":[{"name":"migrate","kind":"Job","path":"web/templates/job.yaml","manifest":"kind: Secret","events":["pre-upgrade"],"weight":-5}]}`

func TestDetailsHoldWhatPeopleAskFor(t *testing.T) {
	d, err := Decode(encoded(detailed), release.DefaultLimit)
	check.NoError(t, err)
	check.That(t,
		d.Name == "web" && d.Revision == 3 && d.Status == release.StatusFailed && d.AppVersion == "v9" &&
			d.ChartVersion == "1.2.3" && d.Notes == "hello", "release is %+v", d.Release)
	check.Equal(t, string(d.Values), `{"a":{"b":1},"c":"d"}`, "values are %s", d.Values)
	want := []Hook{{Name: "migrate", Kind: "Job", Path: "web/templates/job.yaml", Manifest: "kind: Secret",
		Events: []helmrelease.HookEvent{helmrelease.HookPreUpgrade}, Weight: -5}}
	check.That(t, reflect.DeepEqual(d.Hooks, want), "hooks are %+v", d.Hooks)
}

func TestDetailsOfHooksOnlyComeWithAnError(t *testing.T) {
	d, err := Decode(encoded(strings.Replace(detailed, "kind: X\\n", "", 1)), release.DefaultLimit)
	check.That(t, errors.Is(err, release.ErrNoManifest) && d != nil && len(d.Hooks) == 1, "details are %+v, error is %v",
		d, err)
}

func TestDetailsAreBoundedAndNeverQuoted(t *testing.T) {
	for name, tc := range map[string]struct {
		payload string
		limit   int64
		want    error
	}{
		"too large": {detailed, 100, release.ErrTooLarge},
		"values of a list": {strings.Replace(detailed, `{"a":{"b":1},"c":"d"}`, `["hunter2"]`, 1), release.DefaultLimit,
			release.ErrFormat},
		"hooks of a text": {strings.Replace(detailed, `"weight":-5`, `"weight":"hunter2"`, 1), release.DefaultLimit, release.ErrFormat},
		"cut off":         {detailed[:len(detailed)-40], release.DefaultLimit, release.ErrTruncated},
		"no name": {strings.Replace(detailed, `"name":"web","namespace"`, `"namespace"`, 1), release.DefaultLimit,
			release.ErrIncomplete},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Decode(encoded(tc.payload), tc.limit)
			check.That(t, errors.Is(err, tc.want) && d == nil, "details are %+v, error is %v", d, err)
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error quotes the payload: %v", err)
			}
		})
	}
}
