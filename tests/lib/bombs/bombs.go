// Package bombs writes release records and objects that are as costly to read as a user can make them who may write
// Secrets and ConfigMaps in one namespace.
package bombs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Attack is the attack of such a user in the namespace Apps of an environment.
type Attack struct {
	*kit.Env
	group errgroup.Group
}

// maxLarge and maxWithin are the numbers of large objects, and of manifests just within the limits.
const maxLarge, maxWithin = 250, 4

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

// Write writes the records and the objects.
func (a *Attack) Write() {
	a.Helper()
	for name, bad := range invalidManifests() {
		a.Forge(kit.ForgedRecord{Name: name, Manifest: bad.manifest})
	}
	for i := range maxWithin {
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
	for i := range maxLarge {
		large.WriteString(kit.ConfigMap(fmt.Sprintf("large-%d", i), "declared"))
		a.group.Go(func() error { return a.largeConfigMap(i) })
	}
	a.Forge(kit.ForgedRecord{Name: "large", Manifest: large.String()})
	a.Forge(kit.ForgedRecord{Name: "claims", Manifest: kit.ConfigMap("claims", "declared")})
	check.NoError(a, a.group.Wait())
}

func (a *Attack) annotatedRecord(revision int) error {
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
func (a *Attack) largeConfigMap(i int) error {
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

// Erase frees the control plane for other tests.
func (a *Attack) Erase() {
	everything := metav1.ListOptions{}
	check.Report(a, a.Kube.CoreV1().Secrets(a.Apps).DeleteCollection(a.Ctx, metav1.DeleteOptions{}, everything))
	check.Report(a, a.Kube.CoreV1().ConfigMaps(a.Apps).DeleteCollection(a.Ctx, metav1.DeleteOptions{}, everything))
}

// Lock creates a HelmRelease for each release of the attack.
func (a *Attack) Lock() {
	a.Helper()
	names := slices.Concat([]string{"history", "records", "large", "claims"},
		slices.Collect(maps.Keys(invalidManifests())))
	for i := range maxWithin {
		names = append(names, fmt.Sprintf("within-%d", i))
	}
	for _, name := range names {
		a.CreateHelmRelease(name)
	}
}

// Survived waits until every release is locked and restored, or refused with a reason. between is called a few times
// meanwhile. The operator reverts the namespace's large objects one after the other, and its small ones in their turn:
// on a busy machine that took a minute.
func (a *Attack) Survived(between func()) {
	a.Helper()
	patient := *a.Env
	patient.Patience = 10 * time.Minute
	a.Env = &patient
	a.WaitReady("claims", 1)
	// The object names a release whose record has the maximum size.
	for i := range maxWithin {
		a.Patch(kit.ConfigMaps, "claims", fmt.Sprintf(
			`{"metadata":{"annotations":{"meta.helm.sh/release-name":"within-%d"}},"data":{"key":"tampered %d"}}`, i,
			i))
		between()
		a.WaitField(kit.ConfigMaps, "claims", "data.key", "declared")
	}
	for name, bad := range invalidManifests() {
		condition := a.WaitReason(name, v1alpha1.ConditionReady, v1alpha1.ReasonManifestInvalid)
		if !strings.Contains(condition.Message, bad.message) {
			a.Errorf("%s: %s", name, condition.Message)
		}
	}
	for i := range maxLarge {
		a.WaitField(kit.ConfigMaps, fmt.Sprintf("large-%d", i), "data.key", "declared")
		if i%50 == 0 {
			between()
		}
	}
	a.WaitField(kit.ConfigMaps, "records", "data.key", "declared")
	between()
}
