package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Without awaitStopped a few threads still run in most of these pauses: the API server has requests to answer, and
// there are more of them than processors.
func TestPauseReturnsWhenEveryThreadHasStopped(t *testing.T) {
	ctx := testContext(t)
	c := ForTest(t, Options{})
	client := clientFor(t, c.RESTConfig())
	asking, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for asking.Err() == nil {
				_, err := client.CoreV1().Namespaces().Get(asking, "default", metav1.GetOptions{})
				if err != nil && asking.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer work.Wait()
	defer cancel()
	for range 50 {
		check.NoError(t, c.Pause())
		states, err := threadStates(c.apiServer.process.pid)
		check.NoError(t, err)
		rest := bytes.Trim(states, "T")
		check.Must(t, len(states) > 0 && len(rest) == 0, "threads of a paused API server are in the states %s", states)
		check.NoError(t, c.Resume())
	}
}

// threadStates returns the state of each thread of a process, a letter each (proc_pid_stat(5)).
func threadStates(pid int) ([]byte, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return nil, err
	}
	var states []byte
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		// The name, in parentheses, may hold anything.
		end := bytes.LastIndexByte(content, ')')
		if end < 0 || len(content) < end+3 {
			return nil, fmt.Errorf("%s holds %q", file, content)
		}
		states = append(states, content[end+2])
	}
	return states, nil
}
