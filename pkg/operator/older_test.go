package operator_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/crd"
	helmlocker "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io"
	helmlockercontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// embeds is a program that embeds the older helm-locker, with the changes of docs/migration.md: it makes HelmReleases
// through the generated controllers, and runs the operator beside its own.
func embeds(ctx context.Context, config clientcmd.ClientConfig, client *rest.Config) error {
	if err := crd.Create(ctx, client); err != nil {
		return err
	}
	factory, err := helmlocker.NewFactoryFromConfigWithOptions(client, &helmlocker.FactoryOptions{Namespace: "system"})
	if err != nil {
		return err
	}
	var releases helmlockercontrollers.HelmReleaseController = factory.Helm().V1alpha1().HelmRelease()
	var cached helmlockercontrollers.HelmReleaseCache = releases.Cache()
	if _, err := cached.Get("system", "shop"); err != nil {
		return err
	}
	if err := v1alpha1.AddToScheme(runtime.NewScheme()); err != nil {
		return err
	}
	if _, err := releases.Create(forProject("project", "shop")); err != nil {
		return err
	}
	return operator.Run(ctx, operator.ControllerOptions{ClientConfig: config, Namespace: "system",
		ControllerName: "project-operator", NodeName: "node", PprofEnabled: true})
}

func forProject(namespace, name string) *v1alpha1.HelmRelease {
	hr := v1alpha1.NewHelmRelease("system", name, v1alpha1.HelmRelease{
		Spec: v1alpha1.HelmReleaseSpec{Release: v1alpha1.ReleaseKey{Namespace: namespace, Name: name}},
	})
	hr.SetAnnotations(map[string]string{v1alpha1.ManagedByAnnotation: "project-operator"})
	return hr
}

// isSettled takes a state as programs for the older helm-locker do: as a string.
func isSettled(state string) bool {
	switch state {
	case v1alpha1.DeployedState, v1alpha1.UninstalledState, "Failed":
		return true
	}
	return false
}

func TestOlderNamesMeanTheSame(t *testing.T) {
	_ = embeds // it compiles
	hr := forProject("project", "shop")
	check.That(t,
		hr.APIVersion == "helm.cattle.io/v1alpha1" && hr.Kind == "HelmRelease" && hr.Namespace == "system" &&
			hr.Name == "shop" && hr.Spec.Release == (v1alpha1.ReleaseReference{Namespace: "project", Name: "shop"}), "made %+v",
		hr)
	hr.Status.State = "Deployed"
	check.That(t, isSettled(hr.Status.State), "a deployed release is not settled")
	for state, want := range map[string]string{
		v1alpha1.SecretNotFoundState: "SecretNotFound", v1alpha1.UnknownState: "Unknown",
		v1alpha1.DeployedState: "Deployed", v1alpha1.UninstalledState: "Uninstalled", v1alpha1.ErrorState: "Error",
		v1alpha1.FailedState: "Failed", v1alpha1.TransitioningState: "Transitioning",
	} {
		check.Equal(t, state, want)
	}
}
