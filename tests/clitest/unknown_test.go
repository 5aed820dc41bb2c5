package clitest

import (
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The lock of a release is unknown to a user who may not list HelmReleases.
func TestReportWithoutHelmReleases(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "shop", w.Chart("shop", kit.ConfigMap("shop", "one")))
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.CreateHelmRelease("shop", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.app("lock", "shop", "--wait").says(0)
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"key":"two"}}`)
	w.app("report").says(2, "| detect |")
	reader := w.as("reader", rule("get,list", "", "secrets,configmaps"), rule("get,list", "apps", "deployments"))
	for format, want := range map[string]string{"markdown": "| unknown |", "json": `"locked": "unknown"`, "html": ">Unknown<"} {
		reader.app("report", "-o", format).says(2, want, "note: you may not list HelmReleases in namespace LOCKER")
	}
}
