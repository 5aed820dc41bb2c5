package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestKilledTestLeavesNothingRunning(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs a signal for the death of the parent, which only Linux has")
	}
	_, err := Build(t.Context(), os.Stderr)
	check.NoError(t, err)
	child := exec.CommandContext(testContext(t), os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+filepath.Join(t.TempDir(), "cluster"))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	check.NoError(t, err)
	check.NoError(t, child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	check.NoError(t, err)
	var etcd, apiServer int
	_, err = fmt.Sscan(line, &etcd, &apiServer)
	check.NoError(t, err)
	check.Must(t, running(etcd) && running(apiServer), "the child's control plane does not run")
	check.NoError(t, child.Process.Kill())
	err = child.Wait()
	check.Must(t, err != nil, "the child was not killed")
	eventually(t, "the control plane ends with the process that started it", func() bool {
		return !running(etcd) && !running(apiServer)
	})
}

func TestDetachedClusterIsBroughtDown(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	c, err := Start(testContext(t), Options{Dir: dir, Detach: true, Log: os.Stderr})
	check.NoError(t, err)
	t.Cleanup(func() { check.Report(t, Down(dir)) })
	up, err := Running(dir)
	check.That(t, err == nil && up, "running %t (error %v), want true", up, err)
	check.NoError(t, Down(dir))
	check.That(t, c.etcd.waitEnded(t) && c.apiServer.process.waitEnded(t), "a process still runs")
	up, err = Running(dir)
	check.That(t, err == nil && !up, "running %t (error %v) after Down, want false", up, err)
	err = c.Stop()
	check.That(t, err != nil, "Stop does not tell that the processes had ended")
	check.Report(t, Down(dir))
	err = Down(t.TempDir())
	check.That(t, err != nil, "Down removed a directory that holds no cluster")
}

func (p *Process) waitEnded(t *testing.T) bool {
	t.Helper()
	select {
	case <-p.done:
		return true
	case <-testContext(t).Done():
		return false
	}
}

func TestDirectoriesOfKilledTestsAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	used, release, err := TemporaryDir(os.Stderr)
	check.NoError(t, err)
	left := filepath.Join(os.TempDir(), temporaryPrefix+"left")
	unknown := filepath.Join(os.TempDir(), temporaryPrefix+"unknown")
	for _, dir := range []string{left, unknown} {
		check.NoError(t, os.Mkdir(dir, 0o700))
	}
	// A killed process leaves the file without a lock on it.
	check.NoError(t, os.WriteFile(filepath.Join(left, ownerFile), nil, 0o600))
	second, releaseSecond, err := TemporaryDir(os.Stderr)
	check.NoError(t, err)
	for dir, want := range map[string]bool{used: true, second: true, unknown: true, left: false} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", filepath.Base(dir), err == nil, want)
		}
	}
	check.Report(t, errors.Join(release(), releaseSecond()))
	_, err = os.Stat(used)
	check.That(t, errors.Is(err, os.ErrNotExist), "a released directory is left: %v", err)
}
