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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/crd"
	helmcontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

var helmReleases = v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.HelmReleaseResourceName)

// helmRelease returns a HelmRelease in the default namespace for the release demo/demo.
func helmRelease(name string) *v1alpha1.HelmRelease {
	return &v1alpha1.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec:       v1alpha1.HelmReleaseSpec{Release: v1alpha1.ReleaseReference{Name: "demo", Namespace: "demo"}},
	}
}

func TestHelmReleaseAPI(t *testing.T) {
	config := cluster.ForTest(t, cluster.Options{}).RESTConfig()
	check.NoError(t, crd.Create(t.Context(), config))
	factory, err := helmcontrollers.NewFactoryFromConfig(config)
	check.NoError(t, err)
	client := factory.Helm().V1alpha1().HelmRelease()

	t.Run("mode defaults to Enforce", func(t *testing.T) {
		created, err := client.Create(helmRelease("defaults"))
		check.NoError(t, err)
		check.Equal(t, created.Spec.Mode, v1alpha1.ModeEnforce, "mode")
	})
	t.Run("a bad spec is rejected with a message that names the field",
		func(t *testing.T) { rejectsBadSpecs(t, config) })
	t.Run("spec.release is immutable, the rest of spec is not", func(t *testing.T) {
		stored, err := client.Create(helmRelease("immutable"))
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
		stored, err := client.Create(helmRelease("status"))
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
	t.Run("kubectl get shows what matters", func(t *testing.T) { printsColumns(t, config, client) })
}

func rejectsBadSpecs(t *testing.T, config *rest.Config) {
	client := dynamic.NewForConfigOrDie(config).Resource(helmReleases).Namespace(metav1.NamespaceDefault)
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
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var spec map[string]any
			check.NoError(t, json.Unmarshal([]byte(test.spec), &spec))
			object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "bad"},
				"spec": spec}}
			object.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.Kind))
			_, err := client.Create(t.Context(), object, metav1.CreateOptions{})
			check.That(t, apierrors.IsInvalid(err) && strings.Contains(err.Error(), test.want),
				"want an error with %q, got %v", test.want, err)
		})
	}
}

// statusClient is the part of the generated client used by printsColumns.
type statusClient interface {
	Create(*v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error)
	UpdateStatus(*v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error)
}

func printsColumns(t *testing.T, config *rest.Config, client statusClient) {
	stored, err := client.Create(helmRelease("columns"))
	check.NoError(t, err)
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
	check.NoError(t, err)

	var table metav1.Table
	data, err := kubernetes.NewForConfigOrDie(config).RESTClient().Get().
		AbsPath("apis", helmReleases.Group, helmReleases.Version, "namespaces", metav1.NamespaceDefault,
			helmReleases.Resource).
		Param("fieldSelector", "metadata.name=columns").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	check.NoError(t, err)
	check.NoError(t, json.Unmarshal(data, &table))
	check.Must(t, len(table.Rows) == 1, "want one row, got %s", data)
	row := map[string]string{}
	for i, column := range table.ColumnDefinitions {
		row[column.Name] = fmt.Sprint(table.Rows[0].Cells[i])
	}
	t.Logf("the API server prints %v", row)
	want := map[string]string{"Name": "columns", "Release": "demo", "Release-Namespace": "demo", "Revision": "7",
		"State": "Deployed", "Locked": "True", "Drifted": "0", "Message": "all is well"}
	for name, value := range want {
		check.Equal(t, row[name], value, "column %s", name)
	}
}
