package kit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// Shared is the control plane of a suite, started by Main; nil with -short.
var Shared *cluster.Cluster

// Main is the TestMain of a suite with a shared control plane.
func Main(m *testing.M, options cluster.Options) { os.Exit(Run(m, options)) }

// Run is Main for a suite with more steps: it returns the exit code.
func Run(m *testing.M, options cluster.Options) int {
	return cluster.Main(m, options, func(c *cluster.Cluster) { Shared = c })
}

// Fixture is the setup of most tests: an environment, and an operator behind a proxy.
type Fixture struct {
	*Env
	Proxy   *cluster.Proxy
	Running *Operator
	Fenced  Fence
}

// Start returns a new environment on the shared control plane with a running operator.
func Start(t testing.TB, options ...func(*operator.ControllerOptions)) *Fixture {
	t.Helper()
	e := New(t, Shared)
	f := &Fixture{Env: e, Proxy: e.NewProxy()}
	f.Running = StartOperator(t, f.Proxy.RESTConfig(), e.Operator, options...)
	return f
}

// StartBoth is Start, with the process of policies beside the operator.
func StartBoth(t testing.TB, options ...func(*operator.ControllerOptions)) *Fixture {
	t.Helper()
	f := Start(t, options...)
	f.Running.Policies = StartPolicies(t, f.Proxy.RESTConfig(), f.Operator, options...)
	return f
}

// On returns the fixture for a subtest and reports failures there.
func (f *Fixture) On(t testing.TB) *Fixture {
	sub := *f
	sub.Env = f.For(t)
	return &sub
}

// LockFence locks a release of one ConfigMap for PassFence, where the first call of that were too late for it.
func (f *Fixture) LockFence() {
	f.Helper()
	f.Fenced.Lock(f.Env)
}

// PassFence returns when the operator has acted on all changes of ConfigMaps before the call.
func (f *Fixture) PassFence() {
	f.Helper()
	f.Fenced.Pass(f.Env)
}

// RefusedService is a manifest document refused by the API server: Helm fails at it.
const RefusedService = `
---
apiVersion: v1
kind: Service
metadata: {name: broken}
spec: {ports: [{port: 123456}]}
`

// ExpectNoWrites fails the test when the operator wrote to objects of releases since the proxy's Reset, the fence
// excepted. It returns their number.
func (f *Fixture) ExpectNoWrites() (writes int) {
	f.Helper()
	for _, r := range ObjectWrites(f.Proxy) {
		if !strings.HasSuffix(r.Path, "/configmaps/fence") && !bytes.Contains(r.Body, []byte(`"name":"fence"`)) {
			f.Errorf("unexpected write: %s %s", r, r.Body)
			writes++
		}
	}
	return writes
}

// ExpectKey fails the test when the key of a ConfigMap in Apps is not the wanted one now.
func (e *Env) ExpectKey(name, want string) {
	e.Helper()
	if got := Field(e.Get(ConfigMaps, name), "data.key"); got != want {
		e.Errorf("ConfigMap %s: key is %v, want %s", name, got, want)
	}
}

// EachHelm runs a test with every Helm version in parallel. Without a control plane there is one skipped test.
func EachHelm(t *testing.T, do func(t *testing.T, h cluster.Helm)) {
	t.Helper()
	for name, h := range Helms(Shared) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			do(t, h)
		})
	}
}

// Reverts tampers with the key of a ConfigMap in Apps and waits until it has the wanted value again.
func (e *Env) Reverts(name, want string) {
	e.Helper()
	e.Patch(ConfigMaps, name, `{"data":{"key":"tampered"}}`)
	e.WaitField(ConfigMaps, name, "data.key", want)
}

// Says waits until a condition has a reason and a message with all of the parts.
func (e *Env) Says(name, condition, reason string, parts ...string) {
	e.Helper()
	e.waitCondition(name, condition, reason, parts)
}

// WaitObserved waits until the status of a HelmRelease is of its newest spec.
func (e *Env) WaitObserved(name string) {
	e.Helper()
	e.Until("the operator has seen the change of HelmRelease "+name, func() (any, bool) {
		hr := e.HelmRelease(name)
		return hr.Status, hr.Status.ObservedGeneration == hr.Generation
	})
}

// WaitLog waits until the log of an operator has a text.
func (e *Env) WaitLog(o *Operator, text string) {
	e.Helper()
	e.Until(fmt.Sprintf("the log has %q", text), func() (any, bool) {
		log := o.Log()
		return tail(log, 4000), strings.Contains(log, text)
	})
}

// WaitState waits until a HelmRelease has a state.
func (e *Env) WaitState(name string, want v1alpha1.State) {
	e.Helper()
	e.Until(fmt.Sprintf("state of HelmRelease %s is %s", name, want), func() (any, bool) {
		got := e.HelmRelease(name).Status.State
		return got, got == want
	})
}

// WaitHeld waits until n requests have arrived at a hold.
func (e *Env) WaitHeld(h *cluster.Hold, n int) {
	e.Helper()
	check.NoError(e, h.Wait(e.Ctx, n))
}

// Kubectl runs kubectl in the Apps namespace, as the administrator, and returns its output.
func (e *Env) Kubectl(args ...string) string {
	e.Helper()
	out, err := e.TryKubectl(args...)
	check.NoError(e, err)
	return out
}

// TryKubectl is Kubectl for a command that may fail.
func (e *Env) TryKubectl(args ...string) (string, error) {
	all := append([]string{"--kubeconfig", e.Cluster.Kubeconfig(), "-n", e.Apps}, args...)
	out, err := exec.CommandContext(e.Ctx, e.Cluster.Binaries().Kubectl, all...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("kubectl %v: %w: %s", args, err, failed.Stderr)
	}
	return string(out), err
}
