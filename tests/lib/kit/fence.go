package kit

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// ConfigMap returns the manifest of a ConfigMap with one key, called key.
func ConfigMap(name, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n  key: %q\n", name, value)
}

// Fence is a locked release of one ConfigMap, called fence. Its reverts show the operator's progress.
type Fence struct{ times int }

// fenceKeys is the number of keys changed in turn: repeated changes of one key would count as a fight.
const fenceKeys = 100

// Lock locks the release of the fence.
func (f *Fence) Lock(e *Env) {
	e.Helper()
	stored := e.Forge(ForgedRecord{Name: "fence", Manifest: FenceManifest()})
	e.Lock("fence", func(hr *v1alpha1.HelmRelease) { // for an operator that has not seen the writer
		hr.Spec.AcceptedRecord = string(stored.GetUID()) + "/" + stored.GetResourceVersion()
	})
}

// FenceManifest returns the manifest of the release of a fence.
func FenceManifest() string {
	manifest := strings.Builder{}
	manifest.WriteString(ConfigMap("fence", "up"))
	for i := range fenceKeys {
		fmt.Fprintf(&manifest, "  key%d: up\n", i)
	}
	return manifest.String()
}

// Pass returns when the operator has seen all changes of ConfigMaps before the call, and has had time to act on them:
// it receives the events of one kind in order, and it has reverted the fence three times since. The first call locks
// the fence, unless it is locked already.
func (f *Fence) Pass(e *Env) {
	e.Helper()
	if f.times == 0 {
		_, err := e.In(HelmReleases, e.Operator).Get(e.Ctx, "fence", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			f.Lock(e)
		}
	}
	for range 3 {
		key := fmt.Sprintf("key%d", f.times%fenceKeys)
		f.times++
		e.Patch(ConfigMaps, "fence", fmt.Sprintf(`{"data":{%q:"down %d"}}`, key, f.times))
		e.WaitField(ConfigMaps, "fence", "data."+key, "up")
	}
}
