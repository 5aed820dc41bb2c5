package chart

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// install installs the operator's chart into the operator's namespace, or upgrades it.
func install(e *kit.Env, h cluster.Helm, values ...string) {
	e.Helper()
	args := []string{"upgrade", "--install", "helm-locker", operatorChart, "--namespace", e.Operator}
	for _, v := range values {
		args = append(args, "--values", valuesFile(e, v, e.Operator))
	}
	if _, err := h.Run(e.Ctx, args...); err != nil {
		e.Fatal(err)
	}
}

// installExample installs the chart that locks itself, and returns the name of its HelmRelease.
func installExample(e *kit.Env, h cluster.Helm) string {
	e.Helper()
	e.Helm(h, "install", "example", exampleChart, "--set", "operatorNamespace="+e.Operator)
	return e.Apps + "-example"
}

// cli runs the program's command line as the administrator, and returns both output streams.
func cli(e *kit.Env, args ...string) (stdout, stderr string) {
	e.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(e.Ctx, process.CLI(binary), args...)
	cmd.Env = []string{"HOME=" + e.TempDir(), "KUBECONFIG=" + kit.Shared.Kubeconfig(), "HELM_LOCKER_NAMESPACE=" +
		e.Operator}
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		e.Fatalf("helm-locker %s: %v\n%s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String(), errOut.String()
}

// holds tampers with the example, and expects it back.
func holds(e *kit.Env, helmRelease string) {
	e.Helper()
	const message = "Only Helm can change this"
	e.Patch(kit.ConfigMaps, "example", `{"data":{"message":"mine"}}`)
	e.WaitField(kit.ConfigMaps, "example", "data.message", message)
	before := e.Get(kit.ConfigMaps, "example")
	e.Delete(kit.ConfigMaps, "example")
	e.WaitNewObject(kit.ConfigMaps, "example", before.GetUID())
	// The chart's HelmRelease is part of the release, and is not locked.
	e.Eventually("the HelmRelease is an exception", func() error {
		exceptions := e.HelmRelease(helmRelease).Status.Exceptions
		if len(exceptions) != 1 || exceptions[0].Reason != v1alpha1.ExceptionReserved ||
			exceptions[0].Object.Name != helmRelease {
			return fmt.Errorf("the exceptions are %v", exceptions)
		}
		return nil
	})
	e.WaitReady(helmRelease, 0)
}

// outlives uninstalls the operator and expects the CustomResourceDefinition and the HelmReleases to stay as they are.
func outlives(e *kit.Env, h cluster.Helm, o *deployed, helmRelease string) {
	e.Helper()
	if _, err := h.Run(e.Ctx, "uninstall", "helm-locker", "--namespace", e.Operator); err != nil {
		e.Fatal(err)
	}
	o.stop()
	if _, err := e.Dynamic.Resource(kit.Definitions).Get(e.Ctx, "helmreleases.helm.cattle.io",
		metav1.GetOptions{}); err != nil {
		e.Errorf("the CustomResourceDefinition: %v", err)
	}
	hr := e.HelmRelease(helmRelease)
	if hr.DeletionTimestamp != nil || len(hr.Finalizers) > 0 {
		e.Errorf("HelmRelease %s is being deleted, or waits for somebody: %v", hr.Name, hr.Finalizers)
	}
	e.DeleteHelmRelease(helmRelease) // and nobody has to run for that
}

func TestProfile_ClusterAdmin(t *testing.T) {
	for version, h := range kit.Helms(kit.Shared) {
		t.Run(version, func(t *testing.T) {
			e := newEnv(t)
			install(e, h, freePorts(t))
			o := startDeployment(e, kit.Shared, "helm-locker")
			helmRelease := installExample(e, h)
			e.WaitReady(helmRelease, 1)
			holds(e, helmRelease)
			check.Report(t, get(o.metrics))
			lease, err := e.Kube.CoordinationV1().Leases(e.Operator).Get(e.Ctx, "helm-locker", metav1.GetOptions{})
			check.That(t, err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "",
				"nobody holds the lease: %v %v", lease, err)
			install(e, h, freePorts(t), "{replicas: 2}") // an upgrade of the chart
			holds(e, helmRelease)
			second := startDeployment(e, kit.Shared, "helm-locker")
			o.stop() // as a rolling update does
			holds(e, helmRelease)
			expectPermitted(e, "helm-locker", 0)
			outlives(e, h, second, helmRelease)
		})
	}
}

// The example under the profile scoped: nothing may be locked at first, and the condition names the missing rights;
// then the command prints them, helm upgrade -f grants them, and the running operator continues automatically.
func TestProfile_Scoped(t *testing.T) {
	e := newEnv(t)
	h := kit.Shared.Helm4()
	ports := freePorts(t)
	install(e, h, ports, "{rbac: {profile: scoped}}")
	o := startDeployment(e, kit.Shared, "helm-locker")
	helmRelease := installExample(e, h)
	c := e.WaitReason(helmRelease, v1alpha1.ConditionReady, v1alpha1.ReasonForbidden)
	if want := fmt.Sprintf(
		`User "system:serviceaccount:%s:helm-locker" cannot get resource "secrets" in API group "" in the namespace %q`, e.Operator, e.Apps,
	); !strings.Contains(c.Message, want) {
		t.Errorf("the condition does not say %q: %s", want, c.Message)
	}
	rules, notes := cli(e, "rbac", e.Apps+"/example", "-o", "values")
	check.Equal(t, notes, "", "notes")
	install(e, h, ports, rules)
	e.WaitReady(helmRelease, 1)
	before := len(requests(e, "helm-locker"))
	holds(e, helmRelease)
	expectPermitted(e, "helm-locker", before)
	outlives(e, h, o, helmRelease)
}
