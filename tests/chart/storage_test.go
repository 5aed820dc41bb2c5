package chart

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const (
	inBothStorages = "releaseStorage: secret,configmap\n"
	// service is a release without a ConfigMap, so that all reads of ConfigMaps are reads of records.
	service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n" +
		"spec: {ports: [{port: 80}], selector: {app: {{ .Values.value }}}}\n"
)

// ofConfigMaps returns the requests about ConfigMaps.
func ofConfigMaps(all []request) (found []request) {
	for _, r := range all {
		if r.Resource == "configmaps" {
			found = append(found, r)
		}
	}
	return found
}

// With releaseStorage the permissions suffice for a release in ConfigMaps, also with the least profile: it is locked,
// reverted and followed, and only its records are read of all ConfigMaps.
func TestReleaseInConfigMapsIsPermitted(t *testing.T) {
	needsHelm(t)
	for version, h := range kit.Helms(kit.Shared) {
		t.Run(version, func(t *testing.T) {
			e := newEnv(t)
			inConfigMaps := h
			inConfigMaps.Driver = release.ConfigMaps.String()
			chart := e.Chart("app", service)
			e.Helm(inConfigMaps, "install", "app", chart, "--set", "value=one")
			other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
			_, err := e.Kube.CoreV1().ConfigMaps(e.Apps).Create(e.Ctx, other, metav1.CreateOptions{})
			check.NoError(t, err)
			rules, notes := cli(e, "rbac", e.Apps+"/app", "-o", "values", "--release-storage", "secret,configmap")
			check.Equal(t, notes, "", "notes")
			install(e, h, freePorts(t), inBothStorages, rules)
			startDeployment(e, kit.Shared, "helm-locker")
			e.Lock("app")
			reverts := func(to string) {
				t.Helper()
				e.Patch(kit.Services, "web", `{"spec":{"selector":{"app":"mine"}}}`)
				e.WaitField(kit.Services, "web", "spec.selector.app", to)
			}
			reverts("one")
			e.Helm(inConfigMaps, "upgrade", "app", chart, "--set", "value=two")
			e.WaitReady("app", 2)
			reverts("two")
			all := requests(e, "helm-locker")
			refused := refusals(all)
			check.That(t, len(refused) == 0, "not permitted: %+v", refused)
			for _, r := range ofConfigMaps(all) {
				record := r.Verb == "get" && strings.HasPrefix(r.Name, release.NamePrefix)
				if r.Verb != "list" && r.Verb != "watch" && !record {
					t.Errorf("beyond the records: %+v", r)
				}
			}
		})
	}
}

// Without releaseStorage the operator makes one list of ConfigMaps, in the namespace of a release without a record in
// a Secret, and names the storage of the record. With the profile scoped even that list is forbidden, and the
// condition reports that. Its remedy locks the release.
func TestRecordsInConfigMapsAreNotReadUnasked(t *testing.T) {
	e := newEnv(t)
	h := kit.Shared.Helm4()
	inConfigMaps := h
	inConfigMaps.Driver = release.ConfigMaps.String()
	e.Helm(inConfigMaps, "install", "app", e.Chart("app", service), "--set", "value=one")
	install(e, h, freePorts(t), "{rbac: {profile: scoped}}")
	can := accessOf(e, "system:serviceaccount:"+e.Operator+":helm-locker")
	for _, verb := range []string{"get", "list", "watch"} {
		check.That(t, !can(verb, "", "configmaps", e.Apps, ""), "it may %s ConfigMaps", verb)
	}
	first := startDeployment(e, kit.Shared, "helm-locker")
	e.CreateHelmRelease("app")
	e.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound,
		"the operator may not list ConfigMaps in namespace "+e.Apps)
	first.stop()

	before := len(requests(e, "helm-locker"))
	install(e, h, freePorts(t), "{rbac: {profile: cluster-admin}}")
	second := startDeployment(e, kit.Shared, "helm-locker")
	e.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRecordNotRead,
		"ConfigMap "+e.Apps+"/"+release.ObjectName("app", 1), "--release-storage=secret,configmap (releaseStorage in the chart's values)")
	second.stop()
	read := ofConfigMaps(requests(e, "helm-locker")[before:])
	check.That(t, len(read) == 1 && read[0].Verb == "list" && read[0].Namespace == e.Apps, "read of ConfigMaps: %+v", read)

	install(e, h, freePorts(t), inBothStorages)
	startDeployment(e, kit.Shared, "helm-locker")
	e.WaitReady("app", 1)
}
