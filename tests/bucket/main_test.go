// Package bucket tests the copies of evidence in a bucket with a real S3 server: nothing is lost, whatever ends.
package bucket

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/bucket"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// gateway is the program of the S3 server, set by TestMain.
var gateway string

// copierVariable has this program be a process that copies the files of the directory in it, until it is killed.
const copierVariable = "HELM_LOCKER_TEST_COPIER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(copierVariable); dir != "" {
		copies(dir)
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "helm-locker-bucket-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if flag.Parse(); !testing.Short() {
		if err := build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return kit.Run(m, cluster.Options{})
}

// counts is an observer.
type counts struct {
	attempts chan bool
	mu       sync.Mutex
	waiting  int
}

func newCounts() *counts { return &counts{attempts: make(chan bool, 100)} }

func (c *counts) EvidenceCopied(success bool) { c.attempts <- success }

func (c *counts) EvidenceWaiting(files int) { c.mu.Lock(); defer c.mu.Unlock(); c.waiting = files }

// volume is a directory of evidence with a log and a copier.
type volume struct {
	*server
	dir    string
	log    *evidence.Log
	said   *kit.LogBuffer
	counts *counts
	n      int
}

func newVolume(s *server, dir string) *volume {
	s.Helper()
	v := &volume{server: s, dir: dir, said: &kit.LogBuffer{}, counts: newCounts()}
	v.open()
	return v
}

func (v *volume) open() {
	v.Helper()
	log, err := evidence.Open(v.dir, "prod", clock.RealClock{}, func(*evidence.Line) {})
	check.NoError(v, err)
	v.log = log
	v.Cleanup(func() { check.Report(v, log.Close()) })
}

// add ends a file with a line of some size.
func (v *volume) add(size int) {
	v.Helper()
	v.n++
	_, err := v.log.Append(&evidence.Line{ID: fmt.Sprint(v.n), Lease: strings.Repeat("x", size)})
	check.NoError(v, err)
	_, err = v.log.End(0)
	check.NoError(v, err)
}

// options are those of a copier to s3://audit/clusters/prod.
func options(dir, address string, transport http.RoundTripper) bucket.Options {
	return bucket.Options{URL: "s3://audit/clusters", Directory: dir, Cluster: "prod", Region: "us-east-1",
		Endpoint: "https://" + address, Transport: transport}
}

// copier returns a copier with the key of an account.
func (v *volume) copier(key, secret string) *bucket.Copier {
	v.Helper()
	v.Setenv("AWS_ACCESS_KEY_ID", key)
	v.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	log := logrus.New()
	log.SetOutput(v.said)
	c, err := bucket.New(options(v.dir, v.address, v.transport), clock.RealClock{}, log, v.counts)
	check.NoError(v, err)
	return c
}

// startCopier starts a copier with the key of an account; stop ends it.
func (v *volume) startCopier(account string) (c *bucket.Copier, stop func()) {
	v.Helper()
	c = v.copier(account, account+"-secret")
	return c, v.run(c)
}

// run runs a copier until the result is called.
func (v *volume) run(c *bucket.Copier) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(v.Context()))
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	stop = func() { cancel(); <-done }
	v.Cleanup(stop)
	return stop
}

// attempts waits for results of attempts.
func (v *volume) attempts(want ...bool) {
	v.Helper()
	for i, success := range want {
		select {
		case got := <-v.counts.attempts:
			if got != success {
				v.Fatalf("attempt %d: success is %v; %s", i, got, v.said)
			}
		case <-time.After(time.Minute):
			v.Fatalf("no attempt %d: %s", i, v.said)
		}
	}
}

// expect compares the bucket with the files of the volume but the last one, and the result of a check of both.
func (v *volume) expect(files int) {
	v.Helper()
	names, err := evidence.Files(os.DirFS(v.dir))
	check.NoError(v, err)
	want := map[string]string{}
	for _, name := range names[:len(names)-1] {
		text, err := os.ReadFile(filepath.Join(v.dir, name))
		check.NoError(v, err)
		want["clusters/prod/"+name] = string(text)
	}
	if got := v.objects(); !maps.Equal(got, want) || len(got) != files {
		v.Errorf("the bucket has %v, and the volume has ended %v, want %d", slices.Sorted(maps.Keys(got)),
			slices.Sorted(maps.Keys(want)), files)
	}
	here, there := v.verify(v.dir), v.verify(v.download("clusters/prod"))
	if here != there || here.Broken != "" || here.Lines != v.n {
		v.Errorf("the chain on the volume is %+v, and in the bucket %+v", here, there)
	}
	if strings.Contains(v.said.String(), "-secret") {
		v.Errorf("the log has the key: %s", v.said)
	}
}

func (v *volume) verify(dir string) evidence.Chain {
	v.Helper()
	chain, err := evidence.Read(os.DirFS(dir), func(*evidence.Line) error { return nil })
	check.NoError(v, err)
	return *chain
}

// copies is the process of copierVariable.
func copies(dir string) {
	go endWithInput()
	address := os.Getenv(copierVariable + "_TO")
	transport, err := trusting(os.Getenv(copierVariable + "_CA"))
	if err == nil {
		var c *bucket.Copier
		c, err = bucket.New(options(dir, address, transport), clock.RealClock{}, logrus.New(), newCounts())
		if err == nil {
			c.Run(context.Background())
		}
	}
	fmt.Fprintln(os.Stderr, errors.Join(err, errors.New("it ended by itself")))
	os.Exit(1)
}

// endWithInput ends this process with its standard input: it does not outlive the test.
func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

// startProcess starts a process that copies the files of the volume to an address.
func (v *volume) startProcess(address string) *exec.Cmd {
	v.Helper()
	cmd := exec.CommandContext(v.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), copierVariable+"="+v.dir, copierVariable+"_TO="+address, copierVariable+"_CA="+v.ca,
		"AWS_ACCESS_KEY_ID=root", "AWS_SECRET_ACCESS_KEY=root-secret")
	cmd.Stderr = v.said
	_, err := cmd.StdinPipe()
	check.NoError(v, err)
	check.NoError(v, cmd.Start())
	return cmd
}
