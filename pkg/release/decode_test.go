package release_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// leak stands for the secret values of a payload; no error may contain it.
const leak = "hunter2"

const minimal = `{"name":"podinfo","namespace":"apps","version":3,"info":{"status":"deployed"},"manifest":"kind: x"}`

func helmStorage(t *testing.T) (corev1.SecretInterface, *storage.Storage) {
	t.Helper()
	secrets := fake.NewClientset().CoreV1().Secrets("apps")
	return secrets, storage.Init(driver.NewSecrets(secrets))
}

func helmRelease(edit func(*helmrelease.Release)) *helmrelease.Release {
	deployed := helmtime.Time{Time: time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)}
	rel := &helmrelease.Release{
		Name: "podinfo", Namespace: "apps", Version: 3, Manifest: "---\nkind: ConfigMap # ünïcode \"quoted\"\n",
		Info: &helmrelease.Info{
			Status: helmrelease.StatusPendingUpgrade, Description: "Preparing upgrade", Notes: "visit us",
			LastDeployed: deployed,
		},
		Chart: &chart.Chart{
			Metadata:  &chart.Metadata{Name: "podinfo", Version: "6.14.1"},
			Templates: []*chart.File{{Name: "templates/a.yaml", Data: bytes.Repeat([]byte("x"), 10000)}},
			Values:    map[string]any{"deep": map[string]any{"list": []any{1, "two", nil, map[string]any{}}}},
		},
		Config: map[string]any{"name": "not the release's", "password": leak},
		Hooks:  []*helmrelease.Hook{{Name: "hook", Kind: "Job", Manifest: "kind: Job"}},
	}
	if edit != nil {
		edit(rel)
	}
	return rel
}

func pack(json string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(json)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return encode(b.Bytes())
}

func encode(b []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(b)) }

func unpack(payload []byte) []byte {
	b, err := base64.StdEncoding.DecodeString(string(payload))
	if err != nil {
		panic(err)
	}
	return b
}

func TestDecodeReadsAReleaseStoredByTrueHelm(t *testing.T) {
	secrets, storage := helmStorage(t)
	stored := helmRelease(nil)
	check.NoError(t, storage.Create(stored))
	secret, err := secrets.Get(context.Background(), release.ObjectName("podinfo", 3), metav1.GetOptions{})
	check.NoError(t, err)
	rel, err := release.DecodeRecord(secret.Data[release.DataKey], nil)
	check.NoError(t, err)
	want := release.Release{
		Key: release.Key{Namespace: "apps", Name: "podinfo"}, Revision: 3, Status: release.StatusPendingUpgrade,
		Description: "Preparing upgrade", Notes: "visit us", Manifest: stored.Manifest,
		ChartName: "podinfo", ChartVersion: "6.14.1", LastDeployed: stored.Info.LastDeployed.Time,
	}
	check.That(t, rel.Hooks.Has("Job", "hook") && !rel.Hooks.Has("Job", "other") && !rel.Hooks.Has("Pod", "hook"),
		"hooks are %+v", rel.Hooks)
	rel.Hooks = release.Hooks{}
	check.That(t, reflect.DeepEqual(*rel, want), "got  %+v\nwant %+v", *rel, want)
	rec, err := release.Secrets.RecordOf(secret)
	check.NoError(t, err)
	check.Report(t, rel.Matches(rec))
}

func TestDecodeUnderstandsEveryHelm(t *testing.T) {
	with := func(field string) string { return strings.Replace(minimal, `{"name"`, `{`+field+`,"name"`, 1) }
	for name, test := range map[string]struct {
		payload []byte
		check   func(*release.Release) bool
	}{
		"Helm 4 stores server-side apply": {pack(with(`"apply_method":"ssa"`)),
			func(r *release.Release) bool { return r.ApplyMethod == "ssa" }},
		"Helm 4 stores client-side apply": {pack(with(`"apply_method":"csa"`)),
			func(r *release.Release) bool { return r.ApplyMethod == "csa" }},
		"Helm 3 stores no apply method": {pack(minimal),
			func(r *release.Release) bool { return r.ApplyMethod == "" }},
		"the oldest Helm stores plain JSON": {encode([]byte(minimal)),
			func(r *release.Release) bool { return r.Name == "podinfo" }},
		"base64 in lines": {bytes.ReplaceAll(pack(minimal), []byte("A"), []byte("A\n")),
			func(r *release.Release) bool { return r.Name == "podinfo" }},
		"fields of a newer Helm are skipped": {pack(with(`"new":{"name":"no","list":[[{"name":[]}]]}`)),
			func(r *release.Release) bool { return r.Name == "podinfo" }},
		"a chart of null is no chart": {pack(with(`"chart":null`)),
			func(r *release.Release) bool { return r.ChartName == "" }},
		"a status of a newer Helm is unknown": {pack(strings.Replace(minimal, `"deployed"`, `"new"`, 1)),
			func(r *release.Release) bool { return r.Status == release.StatusUnknown }},
		"an empty time is zero": {pack(strings.Replace(minimal, `{"status"`,
			`{"last_deployed":"","status"`, 1)), func(r *release.Release) bool { return r.LastDeployed.IsZero() }},
		"a name in the values is not the release": {
			pack(with(`"config":{"name":"values"},"chart":{"values":{"metadata":{"name":"x"}}}`)),
			func(r *release.Release) bool { return r.Name == "podinfo" && r.ChartName == "" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			rel, err := release.Decode(test.payload, release.DefaultLimit, nil)
			check.NoError(t, err)
			check.That(t, test.check(rel), "got %+v", rel)
		})
	}
}

func TestDecodeExplainsBadPayloadsAndLeaksNothing(t *testing.T) {
	good := pack(minimal)
	replace := func(old, replacement string) []byte {
		if !strings.Contains(minimal, old) {
			panic(old)
		}
		return pack(strings.Replace(minimal, old, replacement, 1))
	}
	flipped := unpack(good)
	flipped[len(flipped)-6] ^= 0xff // in the checksum
	deep := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)

	for name, test := range map[string]struct {
		payload []byte
		is      error
		want    string
	}{
		"it is nil":                    {nil, release.ErrNoPayload, "missing or empty"},
		"it is blank":                  {[]byte(" \n"), release.ErrNoPayload, "missing or empty"},
		"it is not base64":             {[]byte("{" + leak + "}"), release.ErrFormat, "not base64 at byte 0"},
		"base64 breaks off":            {good[:len(good)-7], release.ErrTruncated, "ends before"},
		"gzip breaks off":              {encode(unpack(good)[:40]), release.ErrTruncated, "ends before"},
		"gzip is only a header":        {encode(unpack(good)[:5]), release.ErrTruncated, "ends before"},
		"the gzip checksum is missing": {encode(unpack(good)[:len(unpack(good))-8]), release.ErrTruncated, "ends before"},
		"the gzip checksum is wrong":   {encode(flipped), release.ErrFormat, "checksum"},
		"gzip is followed by garbage": {encode(append(unpack(good), strings.Repeat(leak, 5)...)),
			release.ErrFormat, "neither gzip nor JSON"},
		"plain text":                  {encode([]byte(leak)), release.ErrFormat, "not JSON at byte"},
		"text in gzip":                {pack(leak), release.ErrFormat, "not JSON at byte"},
		"JSON breaks off":             {pack(minimal[:60]), release.ErrTruncated, "ends before"},
		"JSON is followed by JSON":    {pack(minimal + minimal), release.ErrFormat, "more data"},
		"JSON is followed by garbage": {pack(minimal + leak), release.ErrFormat, "not JSON at byte"},
		"it is a list":                {pack(`["` + leak + `"]`), release.ErrFormat, "wrong type"},
		"it is a string":              {pack(`"` + leak + `"`), release.ErrFormat, "wrong type"},
		"it is null":                  {pack(`null`), release.ErrIncomplete, "no name"},
		"it is empty":                 {pack(`{}`), release.ErrIncomplete, "no name"},
		"the name is a number":        {replace(`"podinfo"`, `7212`), release.ErrFormat, `"name" has the wrong type`},
		"the version is text":         {replace(`3`, `"`+leak+`"`), release.ErrFormat, `"version" has the wrong type`},
		"the version is a fraction":   {replace(`3`, `7212.5`), release.ErrFormat, `"version" has the wrong type`},
		"the version is negative":     {replace(`3`, `-1`), release.ErrIncomplete, "no version"},
		"the manifest is an object": {replace(`"kind: x"`, `{"`+leak+`":1}`), release.ErrFormat,
			`"manifest" has the wrong type`},
		"the info is text":       {replace(`{"status":"deployed"}`, `"`+leak+`"`), release.ErrFormat, `"info" has the wrong type`},
		"the status is a number": {replace(`"deployed"`, `7212`), release.ErrFormat, `"info.status" has the wrong type`},
		"the chart is text": {replace(`{"name"`, `{"chart":"`+leak+`","name"`), release.ErrFormat,
			`"chart" has the wrong type`},
		"the time is no time": {replace(`{"status"`, `{"last_deployed":"`+leak+`","status"`),
			release.ErrFormat, `"info.last_deployed" is not a time`},
		"the apply method is unheard of": {replace(`{"name"`, `{"apply_method":"`+leak+`","name"`),
			release.ErrFormat, `"apply_method" is neither`},
		"a skipped value is nested too deeply": {replace(`{"name"`, `{"config":`+deep+`,"name"`), release.ErrFormat,
			"not JSON at byte"},
		"a wanted value is nested too deeply": {replace(`"deployed"`, deep), release.ErrFormat, "not JSON at byte"},
		"the name is missing":                 {replace(`"name":"podinfo",`, ``), release.ErrIncomplete, "no name"},
		"the namespace is missing":            {replace(`"namespace":"apps",`, ``), release.ErrIncomplete, "no namespace"},
		"the version is missing":              {replace(`"version":3,`, ``), release.ErrIncomplete, "no version"},
		"the status is missing":               {replace(`"status":"deployed"`, ``), release.ErrIncomplete, "no info.status"},
		"the manifest is missing":             {replace(`,"manifest":"kind: x"`, ``), release.ErrNoManifest, "nothing to lock"},
	} {
		t.Run(name, func(t *testing.T) {
			rel, err := release.Decode(test.payload, release.DefaultLimit, nil)
			check.Must(t, errors.Is(err, test.is) && strings.Contains(err.Error(), test.want),
				"got %v, want %v with %q", err, test.is, test.want)
			check.That(t, !strings.Contains(err.Error(), leak) && !strings.Contains(err.Error(), "7212"),
				"the error leaks the payload: %v", err)
			check.That(t, !strings.Contains(err.Error(), "'"), "the error quotes a character of the payload: %v", err)
			check.Equal(t, rel != nil, errors.Is(err, release.ErrNoManifest), "got the release %v with the error", rel)
		})
	}
}

func TestDecodeBoundsWhatItDecompresses(t *testing.T) {
	bomb := strings.Replace(minimal, `"kind: x"`, `"`+strings.Repeat("a", 8<<20)+`"`, 1)
	skipped := strings.Replace(minimal, `{"name"`, `{"config":"`+strings.Repeat("a", 8<<20)+`","name"`, 1)
	for name, json := range map[string]string{"a bomb in the manifest": bomb, "a bomb in a skipped value": skipped} {
		t.Run(name, func(t *testing.T) {
			payload := pack(json)
			check.Must(t, len(payload) <= 1<<20, "the bomb does not fit a Secret: %d bytes", len(payload))
			_, err := release.Decode(pack(json), 1<<20, nil)
			check.That(t, errors.Is(err, release.ErrTooLarge) && strings.Contains(err.Error(), "1048576 bytes"),
				"got %v", err)
		})
	}
	t.Run("exactly the limit is allowed", func(t *testing.T) {
		_, err := release.Decode(pack(minimal), int64(len(minimal)), nil)
		check.Report(t, err)
		_, err = release.Decode(pack(minimal), int64(len(minimal))-1, nil)
		check.That(t, errors.Is(err, release.ErrTooLarge), "one byte more: got %v", err)
		_, err = release.Decode(encode([]byte(minimal)), int64(len(minimal))-1, nil)
		check.That(t, errors.Is(err, release.ErrTooLarge), "one byte more of plain JSON: got %v", err)
	})
}
