// Package guard tests the promise "the guard never refuses Helm, and never blocks a cluster" (I13), and the guard's
// refusals, with real Helm and kubectl against a real API server that calls an operator of the test.
package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestMain(m *testing.M) {
	code := kit.Run(m, cluster.Options{ControllerManager: true,
		// There are no nodes that forward connections to a Service: the API server connects to its endpoints itself.
		ExtraAPIServerArgs: []string{"--enable-aggregator-routing=true"}})
	if err := os.RemoveAll(programDir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// fixture is kit.Fixture with an operator that guards. Its user is not the administrator who runs kubectl and Helm:
// the guard has to review the administrator's requests.
type fixture struct {
	*kit.Fixture
	front *front
}

func newFixture(t *testing.T, options ...func(*operator.ControllerOptions)) *fixture {
	t.Helper()
	return newFixtureOn(t, kit.Shared, options...)
}

// newFixtureOn is newFixture on another control plane than the shared one.
func newFixtureOn(t *testing.T, c *cluster.Cluster, options ...func(*operator.ControllerOptions)) *fixture {
	t.Helper()
	f := &fixture{Fixture: &kit.Fixture{Env: kit.New(t, c)}, front: newFront(t)}
	f.Proxy = f.NewProxy()
	f.startServed(options...)
	return f
}

// startServed is start for an operator that the front forwards to.
func (f *fixture) startServed(options ...func(*operator.ControllerOptions)) {
	f.Helper()
	f.start(options...)
	f.front.to(f.guardAddress(f.Running))
}

// start starts an operator behind the front.
func (f *fixture) start(options ...func(*operator.ControllerOptions)) {
	f.Helper()
	f.Running = kit.StartOperator(f, f.config(), f.Operator, append([]func(*operator.ControllerOptions){
		func(o *operator.ControllerOptions) {
			o.SkipCRD = true
			o.Guard = operator.GuardOptions{Address: "127.0.0.1:0", URL: "https://" + f.front.address()}
			o.MetricsAddress = "127.0.0.1:0"
		}}, options...)...)
}

// config returns that of the operator as its own user, by the proxy if there is one.
func (f *fixture) config() *rest.Config {
	f.Helper()
	config, err := f.Cluster.UserConfig("helm-locker:"+f.Operator, "system:masters", cluster.OperatorsGroup)
	check.NoError(f, err)
	if f.Proxy == nil {
		return config
	}
	return f.Proxy.Via(config)
}

var guardOn = regexp.MustCompile(`guard on (127\.0\.0\.1:\d+)`)

// guardAddress returns where an operator serves its guard.
func (f *fixture) guardAddress(o *kit.Operator) (address string) {
	f.Helper()
	f.Until("the operator serves the guard", func() (any, bool) {
		found := guardOn.FindStringSubmatch(o.Log())
		if found == nil {
			return "", false
		}
		address = found[1]
		return address, true
	})
	return address
}

// guarded installs a chart of a template, locks the release with a guard and waits until the guard is in force.
func (f *fixture) guarded(h cluster.Helm, name, template string, change ...func(*v1alpha1.HelmRelease)) (chart string) {
	f.Helper()
	chart = f.Chart(name, template)
	f.Helm(h, "install", name, chart)
	f.guard(name, change...)
	return chart
}

func (f *fixture) guard(name string, change ...func(*v1alpha1.HelmRelease)) {
	f.Helper()
	f.CreateHelmRelease(name, append([]func(*v1alpha1.HelmRelease){func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Guard = v1alpha1.GuardDeny
	}}, change...)...)
	f.WaitReady(name, 0)
	f.WaitReason(name, v1alpha1.ConditionGuarded, v1alpha1.ReasonGuarded)
}

// kubectl runs kubectl as the administrator, and returns its output, and its errors or warnings. The editor of kubectl
// edit changes the declared values.
func (f *fixture) kubectl(args ...string) (out, complaint string) {
	f.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(f.Ctx, f.Cluster.Binaries().Kubectl,
		append([]string{"--kubeconfig", f.Cluster.Kubeconfig(), "-n", f.Apps}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "KUBE_EDITOR=sed -i s/declared/edited/")
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			f.Fatal(err)
		}
		if stderr.Len() == 0 {
			f.Errorf("kubectl %v failed without a word", args)
		}
	}
	return stdout.String(), stderr.String()
}

// refused runs kubectl, and fails the test unless the guard refuses the request with all the wanted parts in its
// message, and the object is unchanged.
func (f *fixture) refused(gvr schema.GroupVersionResource, name, words string, args ...string) {
	f.Helper()
	before := content(f.Get(gvr, name))
	out, complaint := f.kubectl(args...)
	if !strings.Contains(complaint, "denied the request: helm-locker: ") || !strings.Contains(complaint, words) {
		f.Errorf("kubectl %v: %s%s, want a refusal with %q", args, out, complaint, words)
	}
	if after := content(f.Get(gvr, name)); !reflect.DeepEqual(before, after) {
		f.Errorf("kubectl %v was refused, and %s changed from %v to %v", args, name, before, after)
	}
}

// content returns the fields of an object that users change; nil for no object. Its controller changes the others at
// any time.
func content(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	return map[string]any{"uid": u.GetUID(), "labels": u.GetLabels(), "deleted": u.GetDeletionTimestamp(),
		"release": u.GetAnnotations()["meta.helm.sh/release-name"], "spec": u.Object["spec"], "data": u.Object["data"],
		"immutable": u.Object["immutable"]}
}

// passes runs kubectl, and fails the test unless that succeeds without a message of the guard.
func (f *fixture) passes(args ...string) {
	f.Helper()
	if out, complaint := f.kubectl(args...); complaint != "" {
		f.Errorf("kubectl %v: %s%s", args, out, complaint)
	}
}

// inForce waits until the API server asks about an object: it learns of the registration a moment after it is written.
func (f *fixture) inForce(gvr schema.GroupVersionResource, name string) {
	f.Helper()
	f.Until("the API server asks the guard about "+name, func() (any, bool) {
		err := f.TryPatch(gvr, name, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"not-helm"}}}`)
		return err, err != nil && strings.Contains(err.Error(), "helm-locker: ")
	})
}

// front is the guard's address for the API server: a listener of the test that forwards connections, or not.
type front struct {
	t        testing.TB
	listener net.Listener
	accepted atomic.Int64

	mu      sync.Mutex
	targets []string // none to cut connections off
	open    []net.Conn
	held    bool // take connections, and pass nothing on
}

func newFront(t testing.TB) *front {
	t.Helper()
	var lc net.ListenConfig
	listener, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	check.NoError(t, err)
	f := &front{t: t, listener: listener}
	var running sync.WaitGroup
	running.Go(func() { f.accept(&running) })
	t.Cleanup(func() {
		check.Report(t, listener.Close())
		f.to("")
		running.Wait()
	})
	return f
}

func (f *front) address() string { return f.listener.Addr().String() }

// to forwards new connections to an address, or none for "", and cuts existing ones.
func (f *front) to(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.targets, f.held = nil, false
	if address != "" {
		f.targets = []string{address}
	}
	for _, c := range f.open {
		_ = c.Close() // it may be closed already
	}
	f.open = nil
}

// add forwards new connections to another address as well, to one of all at random. Those that exist stay.
func (f *front) add(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.targets = append(f.targets, address)
}

// remove forwards no new connections to an address. Those that exist stay.
func (f *front) remove(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.targets = slices.DeleteFunc(f.targets, func(target string) bool { return target == address })
}

// hold cuts all connections and takes new ones without ever answering.
func (f *front) hold() {
	f.to("")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = true
}

func (f *front) accept(running *sync.WaitGroup) {
	for {
		from, err := f.listener.Accept()
		if err != nil {
			return // the test is over
		}
		f.accepted.Add(1)
		f.mu.Lock()
		target, held := "", f.held
		if n := len(f.targets); n > 0 {
			target = f.targets[rand.IntN(n)]
		}
		f.open = append(f.open, from)
		f.mu.Unlock()
		if held {
			continue
		}
		running.Go(func() { f.pass(running, from, target) })
	}
}

func (f *front) pass(running *sync.WaitGroup, from net.Conn, target string) {
	defer func() { _ = from.Close() }() // both ends may have closed it
	if target == "" {
		return
	}
	var d net.Dialer
	to, err := d.DialContext(context.Background(), "tcp", target)
	if err != nil {
		return // the guard is down, which is what some tests want
	}
	defer func() { _ = to.Close() }()
	f.mu.Lock()
	f.open = append(f.open, to)
	f.mu.Unlock()
	running.Go(func() {
		_, _ = io.Copy(to, from) // ends when either is closed
		_ = to.Close()
	})
	_, _ = io.Copy(from, to)
}
