package bucket

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/tests/lib/check"
)

type ignored struct{}

func (ignored) EvidenceCopied(bool) {}
func (ignored) EvidenceWaiting(int) {}

func newCopier(change func(*Options)) (*Copier, error) {
	o := Options{Directory: ".", URL: "s3://audit/clusters", Endpoint: "https://s3.example.com", Region: "eu", Cluster: "prod"}
	change(&o)
	return New(o, clock.RealClock{}, logrus.New(), ignored{})
}

// A mistake in the options is an error at the start that names it, and never the key.
func TestBadOptionsAreErrors(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "c4n4ry")
	for name, tc := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no scheme":              {func(o *Options) { o.URL = "audit/clusters" }, "s3://BUCKET/PREFIX"},
		"no bucket":              {func(o *Options) { o.URL = "s3:///clusters" }, "s3://BUCKET/PREFIX"},
		"no name of a bucket":    {func(o *Options) { o.URL = "s3://Audit" }, "s3://BUCKET/PREFIX"},
		"a query":                {func(o *Options) { o.URL = "s3://audit?x=y" }, "s3://BUCKET/PREFIX"},
		"a way out of the path":  {func(o *Options) { o.URL = "s3://audit/a/../b" }, "a/../b/prod"},
		"an empty part":          {func(o *Options) { o.URL = "s3://audit/a//b" }, "a//b/prod"},
		"a cluster of two parts": {func(o *Options) { o.Cluster = "a/b" }, `"a/b"`},
		"a cluster that is up":   {func(o *Options) { o.Cluster = ".." }, ".."},
		"plain text":             {func(o *Options) { o.Endpoint = "http://s3.example.com" }, "no https URL"},
		"a path":                 {func(o *Options) { o.Endpoint = "https://example.com/s3" }, "no https URL"},
		"no server":              {func(o *Options) { o.Endpoint = "" }, "no https URL"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newCopier(tc.change)
			check.That(t,
				err != nil && strings.Contains(err.Error(), tc.want) && !strings.Contains(err.Error(), "c4n4ry"),
				"the error is %v, want %s", err, tc.want)
		})
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	_, err := newCopier(func(*Options) {})
	check.That(t, err != nil && strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY"), "without a key the error is %v",
		err)
}

// The key of an object has the prefix and the cluster.
func TestAnObjectIsNamedAfterClusterAndFile(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	for url, want := range map[string]string{"s3://audit": "s3://audit/prod, west/f", "s3://audit/": "s3://audit/prod, west/f",
		"s3://audit/a/b/": "s3://audit/a/b/prod, west/f"} {
		c, err := newCopier(func(o *Options) { o.URL, o.Cluster = url, "prod, west" })
		check.NoError(t, err)
		check.Equal(t, c.store.url("f"), want, "%s: the object", url)
	}
}

// Files that are only in the bucket, or only on the volume, are no error while one chain explains both.
func TestTheBucketIsComparedWithTheVolume(t *testing.T) {
	const first, second, third, other = "evidence-00000001-20261001.jsonl", "evidence-00000002-20261001.jsonl",
		"evidence-00000003-20261002.jsonl", "evidence-00000002-20261009.jsonl"
	for name, tc := range map[string]struct {
		volume []string
		stored map[string]int64
		fails  bool
	}{
		"nothing is stored":             {[]string{first, second}, nil, false},
		"some is stored":                {[]string{first, second, third}, map[string]int64{first: 4}, false},
		"the volume lacks an old file":  {[]string{second, third}, map[string]int64{first: 9, second: 4}, false},
		"another size":                  {[]string{first, second}, map[string]int64{first: 5}, true},
		"the open file is stored":       {[]string{first, second}, map[string]int64{first: 4, second: 4}, true},
		"the bucket is ahead":           {[]string{first}, map[string]int64{second: 4}, true},
		"another file of that number":   {[]string{first, second, third}, map[string]int64{first: 4, other: 4}, true},
		"another file that is the last": {[]string{first, second}, map[string]int64{first: 4, other: 4}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Copier{dir: t.TempDir(), store: &store{bucket: "audit"}, stored: tc.stored}
			for _, name := range tc.volume {
				check.NoError(t, os.WriteFile(filepath.Join(c.dir, name), []byte("line"), 0o600))
			}
			err := c.compare(tc.volume)
			check.That(t, (err != nil) == tc.fails, "the error is %v", err)
		})
	}
}
