package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	helmcontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// helmRelease returns a HelmRelease for the release demo/demo.
func helmRelease(namespace, name string) *v1alpha1.HelmRelease {
	return &v1alpha1.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       v1alpha1.HelmReleaseSpec{Release: v1alpha1.ReleaseReference{Name: "demo", Namespace: "demo"}},
	}
}

func TestHelmReleaseAPI(t *testing.T) {
	e := kit.New(t, kit.Shared)
	factory, err := helmcontrollers.NewFactoryFromConfig(e.Cluster.RESTConfig())
	check.NoError(t, err)
	client := factory.Helm().V1alpha1().HelmRelease()

	t.Run("mode defaults to Enforce", func(t *testing.T) {
		created, err := client.Create(helmRelease(e.Operator, "defaults"))
		check.NoError(t, err)
		check.Equal(t, created.Spec.Mode, v1alpha1.ModeEnforce, "mode")
	})
	t.Run("a bad spec is rejected with a message that names the field", func(t *testing.T) { rejectsBadSpecs(e.For(t)) })
	t.Run("spec.release is immutable, the rest of spec is not", func(t *testing.T) {
		stored, err := client.Create(helmRelease(e.Operator, "immutable"))
		check.NoError(t, err)
		stored.Spec.Mode, stored.Spec.Suspend = v1alpha1.ModeDetect, true
		stored.Spec.SuspendUntil = &metav1.Time{Time: time.Now()}
		stored, err = client.Update(stored)
		check.NoError(t, err)
		stored.Spec.Release.Name = "other"
		_, err = client.Update(stored)
		check.That(t,
			apierrors.IsInvalid(err) &&
				strings.Contains(err.Error(), "spec.release is immutable: to lock another release, delete this HelmRelease"),
			"got %v", err)
	})
	t.Run("any status is accepted, so that trouble can always be reported", func(t *testing.T) {
		stored, err := client.Create(helmRelease(e.Operator, "status"))
		check.NoError(t, err)
		stored.Status.State, stored.Status.Notes = "OfANewerVersion", strings.Repeat("n", 100<<10)
		for i := range 30 {
			stored.Status.RecentDrift = append(stored.Status.RecentDrift, v1alpha1.DriftRecord{
				Time:      metav1.NewMicroTime(time.Unix(0, 0)),
				Object:    v1alpha1.DriftedObject{Kind: "ConfigMap", Namespace: "demo", Name: fmt.Sprint(i)},
				Operation: v1alpha1.DriftModified, Paths: []string{"/data/" + strings.Repeat("k", 1000)},
				Action: v1alpha1.DriftActionReverted, Duration: &metav1.Duration{Duration: 1500 * time.Microsecond},
			})
		}
		updated, err := client.UpdateStatus(stored)
		check.NoError(t, err)
		got := updated.Status.RecentDrift
		check.That(t, len(got) == 30 && got[0].Duration.Duration == 1500*time.Microsecond,
			"got back %d records, the first is %+v", len(got), got)
	})
	t.Run("kubectl get shows what matters", func(t *testing.T) { printsColumns(e.For(t), client) })
}

// tryHelmRelease returns the API server's answer to the creation of a HelmRelease, which is not stored.
func tryHelmRelease(e *kit.Env, object map[string]any) error {
	u := &unstructured.Unstructured{Object: object}
	if u.GetKind() == "" { // only a spec
		u.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.Kind))
		u.SetName("tried")
	}
	u.SetNamespace(e.Operator)
	_, err := e.In(kit.HelmReleases, e.Operator).Create(e.Ctx, u,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func rejectsBadSpecs(e *kit.Env) {
	tests := []struct{ name, spec, want string }{
		{"no release", `{}`, "spec.release: Required value"},
		{"no name", `{"release":{"namespace":"a"}}`, "spec.release.name: Required value"},
		{"no namespace", `{"release":{"name":"a"}}`, "spec.release.namespace: Required value"},
		{"an empty name", `{"release":{"name":"","namespace":"a"}}`, "spec.release.name"},
		{"a name that is no DNS name", `{"release":{"name":"A_b","namespace":"a"}}`, "spec.release.name: Invalid value"},
		{"a namespace that is no DNS label", `{"release":{"name":"a","namespace":"a.b"}}`,
			"spec.release.namespace: Invalid value"},
		{"a name too long for Helm", `{"release":{"name":"` + strings.Repeat("a", 54) +
			`","namespace":"a"}}`, "may not be more than 53"},
		{"an unknown mode", `{"release":{"name":"a","namespace":"a"},"mode":"Maybe"}`,
			`supported values: "Enforce", "Detect"`},
		{"a time that is none", `{"release":{"name":"a","namespace":"a"},"suspendUntil":"tomorrow"}`, "spec.suspendUntil"},
	}
	// Names that would make another user of the account.
	for _, name := range []string{"kube-system:generic-garbage-collector", "../admin", "Admin", "a b", "a\n"} {
		tests = append(tests, struct{ name, spec, want string }{name, fmt.Sprintf(
			`{"release":{"name":"a","namespace":"a"},"serviceAccountName":%q}`, name), "spec.serviceAccountName: Invalid value"})
	}
	for _, test := range tests {
		var spec map[string]any
		check.NoError(e, json.Unmarshal([]byte(test.spec), &spec))
		err := tryHelmRelease(e, map[string]any{"spec": spec})
		check.That(e, apierrors.IsInvalid(err) && strings.Contains(err.Error(), test.want),
			"%s: want an error with %q, got %v", test.name, test.want, err)
	}
}

// statusClient is the part of the generated client used by printsColumns.
type statusClient interface {
	Create(*v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error)
	UpdateStatus(*v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error)
}

func printsColumns(e *kit.Env, client statusClient) {
	stored, err := client.Create(helmRelease(e.Operator, "columns"))
	check.NoError(e, err)
	condition := func(conditionType, message string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonLocked,
			Message: message, LastTransitionTime: metav1.Now()}
	}
	stored.Status = v1alpha1.HelmReleaseStatus{
		State: v1alpha1.StateDeployed, Version: 7, Revision: 7, Objects: v1alpha1.ObjectCounts{Tracked: 3},
		Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, "all is well"),
			condition(v1alpha1.ConditionLocked, "")},
	}
	_, err = client.UpdateStatus(stored)
	check.NoError(e, err)

	var table metav1.Table
	data, err := e.Kube.Discovery().RESTClient().Get().
		AbsPath("apis/helm.cattle.io/v1alpha1/namespaces", e.Operator, "helmreleases").
		Param("fieldSelector", "metadata.name=columns").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(e.Ctx)
	check.NoError(e, err)
	check.NoError(e, json.Unmarshal(data, &table))
	check.Must(e, len(table.Rows) == 1, "want one row, got %s", data)
	row := map[string]string{}
	for i, column := range table.ColumnDefinitions {
		row[column.Name] = fmt.Sprint(table.Rows[0].Cells[i])
	}
	e.Logf("the API server prints %v", row)
	want := map[string]string{"Name": "columns", "Release": "demo", "Release-Namespace": "demo", "Revision": "7",
		"State": "Deployed", "Locked": "True", "Drifted": "0", "Message": "all is well"}
	for name, value := range want {
		check.Equal(e, row[name], value, "column %s", name)
	}
}
