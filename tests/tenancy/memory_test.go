package tenancy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/bombs"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// The operator's memory limit in this test: three quarters of the chart's default. Its Go runtime has a soft limit
// below half of that default. It stays below with a spare core (198 MiB), and exceeds it when other suites leave too
// little time for garbage collection (268 MiB was seen). The test measures the peak resident size, because control
// groups need rights that a test machine may not give, without the pages of the program's file: a system without
// memory drops these before it kills a process.
const (
	memoryLimit   = 384 << 20
	goMemoryLimit = "GOMEMLIMIT=200MiB"
)

// I12: all attacks that once exceeded the operator's memory limit, at once, by a user who may write Secrets and
// ConfigMaps in one namespace, while releases of another namespace are tampered with: the operator is never killed,
// and they are restored.
func TestI12_NobodyExhaustsTheMemoryOfTheOperator(t *testing.T) {
	const releases = 20
	e := kit.New(t, kit.Shared)
	attack := &bombs.Attack{Env: e}
	attack.Write()
	defer attack.Erase()
	victim := e.At(e.Namespace(e.Apps + "-victim"))
	for i := range releases {
		name := fmt.Sprintf("victim-%d", i)
		victim.Forge(kit.ForgedRecord{Name: name, Manifest: kit.ConfigMap(name, "declared")})
	}

	operator := startProcess(e)
	for i := range releases {
		victim.CreateHelmRelease(fmt.Sprintf("victim-%d", i))
	}
	attack.Lock()
	for i := range releases {
		victim.WaitReady(fmt.Sprintf("victim-%d", i), 1)
	}
	tampered := 0
	tamper := func() {
		tampered++
		for i := range releases {
			victim.Patch(kit.ConfigMaps, fmt.Sprintf("victim-%d", i), fmt.Sprintf(`{"data":{"key":"tampered %d"}}`, tampered))
		}
		for i := range releases {
			victim.WaitField(kit.ConfigMaps, fmt.Sprintf("victim-%d", i), "data.key", "declared")
		}
		check.Must(t, operator.Running(), "the operator is dead")
	}
	tamper()
	attack.Survived(tamper)
	expectMemory(e, operator)
}

// expectMemory fails the test when the operator is dead, or has exceeded its limit.
func expectMemory(e *kit.Env, operator *process.Operator) {
	e.Helper()
	check.Must(e, operator.Running(), "the operator is dead")
	memory, err := operator.Memory()
	check.NoError(e, err)
	most := memory.Most - memory.Program
	e.Logf("at most %d MiB, and %d MiB of the program's file; now %d MiB", most>>20, memory.Program>>20, memory.Own()>>20)
	check.That(e, most <= memoryLimit, "the operator took %d MiB, more than %d", most>>20, memoryLimit>>20)
}

// startProcess starts the program, with more flags, in the namespace of an environment; it is stopped at the end of the
// test.
func startProcess(e *kit.Env, flags ...string) *process.Operator {
	e.Helper()
	dir := e.TempDir()
	path, err := process.Build(e.Ctx, dir)
	check.NoError(e, err)
	kubeconfig, err := e.Cluster.KubeconfigFor(e.Operator+"-memory", e.OperatorConfig())
	check.NoError(e, err)
	log, err := os.Create(filepath.Join(dir, "operator.log"))
	check.NoError(e, err)
	operator := &process.Operator{
		Path: path, Kubeconfig: kubeconfig, Namespace: e.Operator, Log: log, Env: []string{goMemoryLimit},
		// A busy machine may keep it from renewing its lease for longer than the default.
		Args: append([]string{"--log-level", "debug", "--lease-duration", "10m"}, flags...),
	}
	begun := time.Now()
	check.NoError(e, operator.Start(e.Ctx))
	e.Logf("the operator began within %s", time.Since(begun).Round(time.Millisecond))
	e.Cleanup(func() {
		check.Report(e, operator.Stop())
		if text, err := os.ReadFile(log.Name()); err == nil && e.Failed() {
			e.Logf("log of the operator:\n%s", text[max(0, len(text)-8000):])
		}
		check.Report(e, log.Close())
	})
	return operator
}

// I12: users of several namespaces change objects of the maximum size at once, with reviews of 12 MiB, or objects
// with the maximum number of values: the guard answers within the operator's memory limit.
func TestI12_ReviewsDoNotExhaustTheMemoryOfTheOperator(t *testing.T) {
	const namespaces, objects = 3, 3
	e := kit.New(t, kit.Shared)
	e.Patience = 5 * time.Minute // the API server is busy, too
	address, err := process.FreeAddress()
	check.NoError(t, err)
	operator := startProcess(e, "--guard-address", address, "--guard-url", "https://"+address)
	escaped := fmt.Appendf(nil, `{"data":{"key":"tampered","pad":"%s"}}`, strings.Repeat("<", 1000<<10))
	var values strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&values, `,"k%d":""`, i)
	}
	many := []byte(`{"data":{"key":"tampered"` + values.String() + `}}`)
	var tenants []*kit.Env
	for n := range namespaces {
		tenant := e.At(e.Namespace(fmt.Sprintf("%s-%d", e.Apps, n)))
		var manifest strings.Builder
		for i := range objects {
			manifest.WriteString(kit.ConfigMap(fmt.Sprintf("large-%d", i), "declared"))
		}
		tenant.Forge(kit.ForgedRecord{Name: "large", Manifest: manifest.String()})
		name := fmt.Sprintf("large-%d", n)
		tenant.CreateHelmRelease(name, func(hr *v1alpha1.HelmRelease) {
			hr.Spec.Release, hr.Spec.Guard = v1alpha1.ReleaseReference{Namespace: tenant.Apps, Name: "large"},
				v1alpha1.GuardDeny
		})
		tenant.WaitReady(name, 1)
		tenant.WaitReason(name, v1alpha1.ConditionGuarded, v1alpha1.ReasonGuarded)
		tenants = append(tenants, tenant)
	}
	var flood sync.WaitGroup
	for _, tenant := range tenants {
		for i := range objects {
			flood.Go(func() {
				for _, patch := range [][]byte{escaped, many} {
					// It is refused, or passes when the machine takes too long for it.
					_, _ = tenant.In(kit.ConfigMaps, tenant.Apps).Patch(t.Context(), fmt.Sprintf("large-%d", i),
						types.MergePatchType, patch, metav1.PatchOptions{})
				}
			})
		}
	}
	flood.Wait()
	for _, tenant := range tenants {
		for i := range objects {
			tenant.WaitField(kit.ConfigMaps, fmt.Sprintf("large-%d", i), "data.key", "declared")
		}
	}
	expectMemory(e, operator)
}
