package bucket

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// Ended files are copied, those of an earlier process too, and the last one when another one follows it.
func TestBucket_EachFileIsCopiedOnce(t *testing.T) {
	s := newServer(t)
	v := newVolume(s, t.TempDir())
	v.add(10)
	v.add(20) // before the first copier
	c, stop := v.startCopier("root")
	v.attempts(true, true)
	v.expect(2)
	v.add(30)
	c.Wake()
	v.attempts(true)
	v.expect(3)
	v.add(40) // and its process ends before it is copied
	stop()
	v.attempts(true) // in the last attempt
	check.NoError(t, v.log.Close())
	v.open()
	v.add(50) // by the next process, which ends without an attempt
	_, stop = v.startCopier("root")
	v.attempts(true)
	stop()
	v.expect(5)
}

// A server that is down holds nothing up, and gets everything when it is up again.
func TestBucket_AServerThatIsDown(t *testing.T) {
	s := newServer(t)
	v := newVolume(s, t.TempDir())
	v.add(10)
	c, stop := v.startCopier("root")
	v.attempts(true)
	s.stop()
	v.add(20)
	c.Wake()
	v.attempts(false)
	v.add(30)
	v.attempts(false)
	s.start()
	for !<-v.counts.attempts { // those before the server was up
	}
	v.attempts(true)
	v.expect(3)
	stop()
	for _, want := range []string{"connection refused", "copied to the bucket again"} {
		text := v.said.String()
		check.That(t, strings.Contains(text, want), "the log lacks %q: %s", want, text)
	}
	check.That(t, v.counts.waiting == 0, "%d files wait", v.counts.waiting)
}

// A wrong key is an error that names the server's reason, and the files stay for the right one.
func TestBucket_AWrongKey(t *testing.T) {
	s := newServer(t)
	v := newVolume(s, t.TempDir())
	v.add(10)
	for _, tc := range []struct{ key, secret, want string }{
		{"nobody", "nobody-secret", "InvalidAccessKeyId"}, {"root", "another-secret", "SignatureDoesNotMatch"},
		{"locker", "locker-secret", "AccessDenied"}, // of an account without rights
	} {
		stop := v.run(v.copier(tc.key, tc.secret))
		v.attempts(false)
		stop()
		for len(v.counts.attempts) > 0 {
			v.attempts(false)
		}
		text := v.said.String()
		check.That(t, strings.Contains(text, "s3://audit/clusters/prod/") && strings.Contains(text, tc.want),
			"the log lacks %s: %s", tc.want, text)
	}
	check.That(t, v.counts.waiting == 1, "%d files wait", v.counts.waiting)
	got := s.objects()
	check.That(t, len(got) == 0, "the bucket has %d objects", len(got))
	_, stop := v.startCopier("root")
	v.attempts(true)
	stop()
	v.expect(1)
}

// A process that is killed in the middle of a file leaves no part of it in the bucket, and the next one copies it.
func TestBucket_AKilledProcess(t *testing.T) {
	s := newServer(t)
	v := newVolume(s, t.TempDir())
	v.add(10)
	v.add(3 << 20)
	v.add(20)
	address, stalled := s.stall(1 << 20)
	cmd := v.startProcess(address)
	select {
	case <-stalled:
	case <-time.After(time.Minute):
		t.Fatalf("the process sends nothing: %s", v.said)
	}
	check.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	got := s.objects()
	check.That(t, len(got) == 1, "the bucket has %d objects: %s", len(got), v.said)
	_, stop := v.startCopier("root")
	v.attempts(true, true)
	stop()
	v.expect(3)
}

// What is in the bucket is not replaced: neither by another volume, nor where one of the two was changed.
func TestBucket_NothingIsReplaced(t *testing.T) {
	s := newServer(t)
	v := newVolume(s, t.TempDir())
	v.add(10)
	v.add(20)
	_, stop := v.startCopier("root")
	v.attempts(true, true)
	stop()
	before := s.objects()
	refuses := func(v *volume, what string) {
		t.Helper()
		before := s.objects()
		_, stop := v.startCopier("root")
		v.attempts(false)
		stop()
		<-v.counts.attempts // the last one
		check.That(t, maps.Equal(before, s.objects()) && strings.Contains(v.said.String(), "nothing is replaced"),
			"%s: the bucket was changed, or the log does not say why it was not: %s", what, v.said)
	}
	again := newVolume(s, t.TempDir()) // of the same cluster
	again.add(11)
	refuses(again, "a volume that begins again")
	v.add(30)
	key := slices.Max(slices.Collect(maps.Keys(before)))
	s.put(key, "short")
	refuses(v, "a changed file")
	s.put(key, before[key])
	s.put(strings.Replace(key, "evidence-00000002", "evidence-00000009", 1), "")
	refuses(v, "a volume that is ahead")
}

// A file that another process stores after the list is not replaced either.
func TestBucket_NothingIsReplacedAtTheLastMoment(t *testing.T) {
	s := newServer(t)
	v := newVolume(s, t.TempDir())
	v.add(10)
	c, stop := v.startCopier("root")
	v.attempts(true) // the bucket is listed
	v.add(20)
	names, err := evidence.Files(os.DirFS(v.dir))
	check.NoError(t, err)
	s.put("clusters/prod/"+names[1], "of another process")
	before := s.objects()
	c.Wake()
	v.attempts(false)
	stop()
	check.That(t, maps.Equal(before, s.objects()) && strings.Contains(v.said.String(), "PreconditionFailed"),
		"the bucket was changed, or the log does not say why it was not: %s", v.said)
}

// The documented policy is all that a key needs.
func TestBucket_TheDocumentedPolicyIsEnough(t *testing.T) {
	s := newServer(t)
	v := newVolume(s, t.TempDir())
	v.add(10)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "evidence.md"))
	check.NoError(t, err)
	_, text, _ := strings.Cut(string(page), "```json\n")
	text, _, _ = strings.Cut(text, "```")
	var policy struct {
		Version   string
		Statement []map[string]any
	}
	check.NoError(t, json.Unmarshal([]byte(text), &policy))
	for _, statement := range policy.Statement {
		statement["Principal"] = map[string]any{"AWS": []string{"locker"}} // that of a user has none
	}
	encoded, err := json.Marshal(policy)
	check.NoError(t, err)
	check.NoError(t, s.as("root").SetBucketPolicy(t.Context(), "audit", string(encoded)))
	_, stop := v.startCopier("locker")
	v.attempts(true)
	stop()
	v.add(20)
	_, stop = v.startCopier("locker")
	v.attempts(true)
	stop()
	v.expect(2)
}
