package bucket

import (
	"os"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/bucket"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/notify"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The process of notifications copies what it kept when it is stopped, over restarts, and drift is in the copies.
func TestBucket_TheProcessThatNotifies(t *testing.T) {
	s := newServer(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "root")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "root-secret")
	w := kit.Start(t, kit.Events)
	w.Forged("app", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: declared}\n")
	account, dir := w.EvidenceReader("sink"), t.TempDir()
	v := &volume{server: s, dir: dir, said: &kit.LogBuffer{}}
	for i, user := range []string{"alice", "bob"} {
		sink := kit.StartSink(t, account, w.Operator, notify.EvidenceOptions{
			Directory: dir, Cluster: "prod", BucketCAFile: s.ca,
			Bucket: bucket.Options{URL: "s3://audit/clusters/", Endpoint: "https://" + s.address, Region: "us-east-1"}})
		w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"`+user+`"}}`)
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		w.Until("the revert is on the volume", func() (any, bool) {
			names, err := evidence.Files(os.DirFS(dir))
			return err, len(names) > 0 && reverts(t, dir) == i+1
		})
		sink.Stop()
		text := sink.Log()
		check.That(t, !strings.Contains(text, "root-secret"), "the log has the key: %s", text)
	}
	v.n = v.verify(dir).Lines
	v.expect(2)
	n := reverts(t, s.download("clusters/prod"))
	check.That(t, n == 2, "the bucket has %d reverts", n)
}

// reverts returns the number of reverts in a directory of evidence.
func reverts(t *testing.T, dir string) (n int) {
	t.Helper()
	_, err := evidence.Read(os.DirFS(dir), func(l *evidence.Line) error {
		if l.Type == message.DriftReverted {
			n++
		}
		return nil
	})
	check.NoError(t, err)
	return n
}
