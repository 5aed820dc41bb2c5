package guard

import (
	"bytes"
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// The operator in a separate process is frozen, disconnected from the API server, and killed. Every write to the
// cluster succeeds meanwhile, within the timeout of the webhook, and drift is reverted afterwards.
func TestI13_AProcessThatIsFrozenCutOffOrKilledBlocksNothing(t *testing.T) {
	t.Parallel()
	f := &fixture{Fixture: &kit.Fixture{Env: kit.New(t, kit.Shared)}, front: newFront(t)}
	f.Proxy = f.NewProxy()
	program := f.startProgram()
	f.guarded(kit.Shared.Helm3(), "shop", shop)
	var reconnect func()
	for _, c := range []struct {
		name          string
		breaks, mends func()
	}{
		{"frozen", func() { check.NoError(t, program.Freeze()) }, func() { check.NoError(t, program.Thaw()) }},
		{"cut off", func() {
			reconnect = f.Proxy.Intercept(func(*http.Request) cluster.Action { return cluster.Drop() })
			f.Proxy.CutWatches(nil)
		}, func() { reconnect() }},
		{"killed", func() { check.NoError(t, program.Kill()) }, func() { check.NoError(t, program.Start(f.Ctx)) }},
	} {
		f.inForce(kit.ConfigMaps, "settings")
		old := f.Get(kit.Secrets, "password").GetUID()
		c.breaks()
		for what, write := range f.writes() {
			begun := time.Now()
			err := write()
			check.That(t, err == nil && time.Since(begun) <= bound, "%s: to %s took %s: %v", c.name, what,
				time.Since(begun), err)
		}
		c.mends()
		f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		f.WaitField(kit.Deployments, "web", "spec.replicas", int64(2))
		f.WaitNewObject(kit.Secrets, "password", old)
	}
}

// program builds the operator for all tests of the package, into programDir.
var (
	program = sync.OnceValues(func() (path string, err error) {
		if programDir, err = os.MkdirTemp("", "helm-locker-guard-"); err != nil {
			return "", err
		}
		return process.Build(context.Background(), programDir)
	})
	programDir string
)

// startProgram starts the operator in a separate process, behind the front and with the proxy as its way to the API
// server.
func (f *fixture) startProgram() *process.Operator {
	f.Helper()
	path, err := program()
	check.NoError(f, err)
	address, err := process.FreeAddress()
	check.NoError(f, err)
	log, err := os.Create(filepath.Join(f.TempDir(), "operator.log"))
	check.NoError(f, err)
	config := f.kubeconfig()
	program := &process.Operator{Path: path, Kubeconfig: config, Namespace: f.Operator, Log: log, Args: []string{
		"--controller-name", f.Operator, "--leader-elect=false", "--skip-crd",
		"--guard-address", address, "--guard-url", "https://" + f.front.address()}}
	check.NoError(f, program.Start(f.Ctx))
	f.front.to(address)
	f.Cleanup(func() {
		check.Report(f, program.Stop())
		if f.Failed() {
			text, err := os.ReadFile(log.Name())
			f.Logf("log of the operator (%v):\n%s", err, text)
		}
		check.Report(f, log.Close())
	})
	return program
}

// kubeconfig returns the path of config as a file.
func (f *fixture) kubeconfig() string {
	f.Helper()
	kubeconfig, err := f.Cluster.KubeconfigFor("helm-locker:"+f.Operator, f.config())
	check.NoError(f, err)
	return kubeconfig
}

// writes are drifting writes to guarded objects.
func (f *fixture) writes() map[string]func() error {
	patch := func(p types.PatchType, body string, subresource ...string) func() error {
		return func() error {
			_, err := f.In(kit.Deployments, f.Apps).Patch(f.Ctx, "web", p, []byte(body), metav1.PatchOptions{}, subresource...)
			return err
		}
	}
	return map[string]func() error{
		"change a field": func() error {
			return f.TryPatch(kit.ConfigMaps, "settings", changed)
		},
		"scale": patch(types.MergePatchType, `{"spec":{"replicas":7}}`, "scale"),
		"change an image": patch(types.StrategicMergePatchType,
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.com/evil:1"}]}}}}`),
		"delete": func() error {
			return f.In(kit.Secrets, f.Apps).Delete(f.Ctx, "password", metav1.DeleteOptions{})
		},
	}
}

// behind is a clock that is slow.
type behind struct {
	clock.RealClock
	by time.Duration
}

func (b behind) Now() time.Time                  { return b.RealClock.Now().Add(-b.by) }
func (b behind) Since(t time.Time) time.Duration { return b.Now().Sub(t) }

// The certificate of the guard has expired and the operator does not know, as its clock is slow. The API server does
// not trust it, and every write passes.
func TestI13_AnExpiredCertificateBlocksNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *operator.ControllerOptions) {
		o.Guard.CertManager = true // which is to renew it, and does not
		o.Clock = behind{by: 45 * time.Minute}
	})
	host, _, err := net.SplitHostPort(f.front.address())
	check.NoError(t, err)
	chain, key, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{
		Host: host, AlternateIPs: []net.IP{net.ParseIP(host)}, MaxAge: 30 * time.Minute, // it begins an hour ago
	})
	check.NoError(t, err)
	_, authority := pem.Decode(chain)
	_, err = f.Kube.CoreV1().Secrets(f.Operator).Create(f.Ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: f.Operator + "-guard"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: chain, corev1.TLSPrivateKeyKey: key,
			"ca.crt": bytes.TrimSpace(authority)},
	}, metav1.CreateOptions{})
	check.NoError(t, err)
	f.guarded(kit.Shared.Helm3(), "shop", shop)
	f.Until("the API server asks the guard", func() (any, bool) {
		begun := time.Now()
		err := f.TryPatch(kit.ConfigMaps, "settings", changed)
		took := time.Since(begun)
		check.Must(t, err == nil && took <= bound, "after %s: %v", took, err)
		return nil, f.front.accepted.Load() > 0
	})
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	for what, write := range f.writes() {
		err := write()
		check.That(t, err == nil, "to %s: %v", what, err)
	}
	f.WaitField(kit.Deployments, "web", "spec.replicas", int64(2))
}

// A change passes when its check fails, however soon the error arrives.
func TestI13_AnErrorOfTheCheckPasses(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	remove := f.Proxy.On(isCheck, cluster.Fail(http.StatusInternalServerError, "broken"))
	f.passes("patch", "configmap", "settings", "-p", changed)
	remove()
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	text := kit.Metrics(f, f.Running)
	check.That(t, strings.Contains(text, `guard_decisions_total{reason="NotKnown",result="allowed"}`),
		"the metrics do not count what could not be checked:\n%s", text)
}
