package tenancy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
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

// memoryAttack is the attack of a user who may write Secrets and ConfigMaps in one namespace.
type memoryAttack struct {
	*kit.Env
	group errgroup.Group
}

const attackHead = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\n"

// invalidManifests returns refused manifests, each with the expected message of the condition.
func invalidManifests() map[string]struct{ manifest, message string } {
	return map[string]struct{ manifest, message string }{
		"carriage-returns": {attackHead + "data:\r" + strings.Repeat("- a: b\r", 2<<20), "may begin an element"},
		"next-lines":       {attackHead + "data:\u0085" + strings.Repeat("-\u0085", 4<<20), "may begin an element"},
		"separators":       {strings.Repeat("---\n", 4<<20-20), "documents"},
		"json-documents":   {strings.Repeat("{}", 8<<20), "documents"},
	}
}

// within is a manifest just within the limits.
func within() string {
	var b strings.Builder
	for i := range 4 {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: within-%d}\ndata: [%s]\n", i,
			strings.Repeat("{a},", 32_000))
	}
	return b.String()
}

// names is the manifest of as many objects as a release may have.
func names(revision int) string {
	var b strings.Builder
	for i := range 19_999 {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: r%d-%d}\n", revision, i)
	}
	return b.String()
}

func (a *memoryAttack) write() {
	a.Helper()
	for name, bad := range invalidManifests() {
		a.Forge(kit.ForgedRecord{Name: name, Manifest: bad.manifest})
	}
	for i := range 4 {
		a.Forge(kit.ForgedRecord{Name: fmt.Sprintf("within-%d", i), Manifest: within()})
	}
	for revision := 1; revision <= 40; revision++ {
		a.Forge(kit.ForgedRecord{Name: "history", Revision: revision, Status: "superseded", Manifest: names(revision)})
	}
	a.Forge(kit.ForgedRecord{Name: "history", Revision: 41, Manifest: kit.ConfigMap("history", "declared")})
	a.Forge(kit.ForgedRecord{Name: "records", Revision: 1000, Manifest: kit.ConfigMap("records", "declared")})
	a.group.SetLimit(8)
	for i := range 300 {
		a.group.Go(func() error { return a.annotatedRecord(i + 1) })
	}
	var large strings.Builder
	for i := range 250 {
		large.WriteString(kit.ConfigMap(fmt.Sprintf("large-%d", i), "declared"))
		a.group.Go(func() error { return a.largeConfigMap(i) })
	}
	a.Forge(kit.ForgedRecord{Name: "large", Manifest: large.String()})
	a.Forge(kit.ForgedRecord{Name: "claims", Manifest: kit.ConfigMap("claims", "declared")})
	check.NoError(a, a.group.Wait())
}

func (a *memoryAttack) annotatedRecord(revision int) error {
	_, err := a.Kube.CoreV1().Secrets(a.Apps).Create(a.Ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("sh.helm.release.v1.records.v%d", revision),
			Labels: map[string]string{"owner": "helm", "name": "records", "version": fmt.Sprint(revision),
				"status": "superseded"},
			Annotations: map[string]string{"note": strings.Repeat("a", 255<<10)},
		},
		Type: "helm.sh/release.v1",
	}, metav1.CreateOptions{})
	return err
}

// largeConfigMap creates an object as Helm does, and enlarges it in the name of another user.
func (a *memoryAttack) largeConfigMap(i int) error {
	name := fmt.Sprintf("large-%d", i)
	_, err := a.Kube.CoreV1().ConfigMaps(a.Apps).Create(a.Ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
			Annotations: map[string]string{"meta.helm.sh/release-name": "large",
				"meta.helm.sh/release-namespace": a.Apps},
		},
		Data: map[string]string{"key": "declared"},
	}, metav1.CreateOptions{FieldManager: "helm"})
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"data":{"key":%q}}`, strings.Repeat("x", 900<<10))
	_, err = a.Kube.CoreV1().ConfigMaps(a.Apps).Patch(a.Ctx, name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: kit.Tamperer})
	return err
}

// erase frees the control plane for other tests.
func (a *memoryAttack) erase() {
	everything := metav1.ListOptions{}
	check.Report(a, a.Kube.CoreV1().Secrets(a.Apps).DeleteCollection(a.Ctx, metav1.DeleteOptions{}, everything))
	check.Report(a, a.Kube.CoreV1().ConfigMaps(a.Apps).DeleteCollection(a.Ctx, metav1.DeleteOptions{}, everything))
}

// I12: all attacks that once exceeded the operator's memory limit, at once, by a user who may write Secrets and
// ConfigMaps in one namespace, while releases of another namespace are tampered with: the operator is never killed,
// and they are restored.
func TestI12_NobodyExhaustsTheMemoryOfTheOperator(t *testing.T) {
	const releases = 20
	e := kit.New(t, kit.Shared)
	attack := &memoryAttack{Env: e}
	attack.write()
	defer attack.erase()
	victim := *e
	victim.Apps = e.Namespace(e.Apps + "-victim")
	for i := range releases {
		name := fmt.Sprintf("victim-%d", i)
		victim.Forge(kit.ForgedRecord{Name: name, Manifest: kit.ConfigMap(name, "declared")})
	}

	operator := startProcess(e)
	for i := range releases {
		victim.CreateHelmRelease(fmt.Sprintf("victim-%d", i))
	}
	attackers := []string{"history", "records", "large", "claims"}
	for name := range invalidManifests() {
		attackers = append(attackers, name)
	}
	for i := range 4 {
		attackers = append(attackers, fmt.Sprintf("within-%d", i))
	}
	for _, name := range attackers {
		e.CreateHelmRelease(name)
	}
	for i := range releases {
		victim.WaitReady(fmt.Sprintf("victim-%d", i), 1)
	}
	tampered := 0
	tamper := func() {
		tampered++
		for i := range releases {
			victim.Patch(kit.ConfigMaps, fmt.Sprintf("victim-%d", i),
				fmt.Sprintf(`{"data":{"key":"tampered %d"}}`, tampered))
		}
		for i := range releases {
			victim.WaitField(kit.ConfigMaps, fmt.Sprintf("victim-%d", i), "data.key", "declared")
		}
		if !operator.Running() {
			t.Fatal("the operator is dead")
		}
	}
	tamper()
	e.WaitReady("claims", 1)
	// The object names a release whose record has the maximum size.
	for i := range 4 {
		e.Patch(kit.ConfigMaps, "claims", fmt.Sprintf(
			`{"metadata":{"annotations":{"meta.helm.sh/release-name":"within-%d"}},"data":{"key":"tampered %d"}}`, i,
			i))
		tamper()
		e.WaitField(kit.ConfigMaps, "claims", "data.key", "declared")
	}
	for name, bad := range invalidManifests() {
		condition := e.WaitReason(name, v1alpha1.ConditionReady, v1alpha1.ReasonManifestInvalid)
		if !strings.Contains(condition.Message, bad.message) {
			t.Errorf("%s: %s", name, condition.Message)
		}
	}
	for i := range 250 {
		e.WaitField(kit.ConfigMaps, fmt.Sprintf("large-%d", i), "data.key", "declared")
		if i%50 == 0 {
			tamper()
		}
	}
	e.WaitField(kit.ConfigMaps, "records", "data.key", "declared")
	tamper()
	memory, err := operator.Memory()
	check.NoError(t, err)
	most := memory.Most - memory.Program
	t.Logf("at most %d MiB, and %d MiB of the program's file; now %d MiB", most>>20, memory.Program>>20, memory.Own()>>20)
	if most > memoryLimit {
		t.Errorf("the operator took %d MiB, more than %d", most>>20, memoryLimit>>20)
	}
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
		Args: append([]string{"--log-level", "debug"}, flags...),
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
