package clitest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// hooked is a chart with an object of its own, one in another namespace, and a hook that stays.
const hooked = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: far, namespace: {{ .Values.far }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: prepared, annotations: {helm.sh/hook: pre-install}}
`

// kept is a chart with an object that Helm leaves behind.
const kept = `
apiVersion: v1
kind: ConfigMap
metadata: {name: left, annotations: {helm.sh/resource-policy: keep}}
`

// Objects that no release declares are listed, and nothing that a release, an owner or Kubernetes accounts for.
func TestUnowned(t *testing.T) {
	w := newFixture(t)
	far := w.Namespace(w.Apps + "-far")
	w.app("report", "--unowned").says(0, "**0 of ", "objects without an owner**\n")
	w.Helm(kit.Shared.Helm4(), "install", "web", w.Chart("web", hooked), "--set", "far="+far)
	w.Helm(kit.Shared.Helm3(), "install", "old", w.Chart("old", kept))
	w.Helm(kit.Shared.Helm3(), "uninstall", "old")
	own := func(namespace, name string, owners ...metav1.OwnerReference) {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"data": map[string]any{"key": "value"}}}
		object.SetName(name)
		object.SetOwnerReferences(owners)
		_, err := w.Dynamic.Resource(kit.ConfigMaps).Namespace(namespace).Create(w.Ctx, object,
			metav1.CreateOptions{FieldManager: kit.Tamperer})
		check.NoError(t, err)
	}
	web := w.Get(kit.ConfigMaps, "web")
	own(w.Apps, "by-hand")
	own(w.Apps, "of-web", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "web", UID: web.GetUID()})
	own(far, "far-by-hand")

	r := w.app("report", "--unowned")
	r.says(2, "**2 of ", " objects without an owner**\n", "| Object | Created | By | Names release |\n| --- | --- | --- | --- |\n"+
		"| `ConfigMap APPS/by-hand` | TIME | `tamperer` |  |\n| `ConfigMap APPS/left` | TIME | `helm` | `old` |\n")
	var out struct {
		APIVersion, Kind string
		Items            []struct{ Kind, Namespace, Name, Created, Manager, Release string }
	}
	check.NoError(t, json.Unmarshal([]byte(w.app("report", "--unowned", "-o", "json").raw), &out))
	check.That(t,
		len(out.Items) == 2 && out.Kind == "UnownedObjectList" && out.Items[1].Release == "old" && out.Items[0].Created != "",
		"the list is %+v", out)
	w.cli("report", "--unowned", "-n", far).says(2, "**1 of ", "| `ConfigMap APPS-far/far-by-hand` |")

	r = w.cli("report", "--unowned", "-n", "kube-system")
	check.That(t, !strings.Contains(r.stdout, "ServiceAccount"), "accounts of Kubernetes' controllers have no owner: %s",
		r.stdout)

	file := filepath.Join(t.TempDir(), "exceptions")
	except := func(text string) result {
		check.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return w.app("report", "--unowned", "--except", file)
	}
	except("- {kind: ConfigMap, name: by-*, reason: made by people}").says(2, "**1 of ", "`ConfigMap APPS/left`")
	except("- {namespace: apps-*}").says(0, "**0 of ")
	except("- {kind: Secret}\n- {name: '[a'}").says(1, `entry 2: pattern "[a": syntax error in pattern`)
	except("- {names: by-*}").says(1, `unknown field "names"`, "it is a list, as in: - {kind: Secret,")
	except("- {reason: all}").says(1, "entry 1 names no kind, namespace or name")
	w.app("report", "--except", file).says(1, "--except needs --unowned")
	w.app("report", "web", "--unowned").says(1, "--unowned is about namespaces, and takes no RELEASE")
	w.app("report", "--unowned", "-o", "junit").says(1, `--unowned has no output "junit", but markdown and json`)
	w.app("report", "--unowned", "-l", "a=b").says(1, "--unowned and --selector exclude each other")
	w.cli("report", "--unowned", "-n", "no-such-namespace").says(5, `namespace "no-such-namespace" does not exist`)

	// A release that cannot be read makes the list of its namespace incomplete, and is printed in the others.
	bad := w.Forge(kit.ForgedRecord{Name: "bad", Manifest: kit.ConfigMap("bad", "one"), Labels: map[string]string{"version": "x"}})
	const note = "note: objects of release APPS/bad seem to have no owner: "
	w.app("report", "--unowned").says(1, note, "**2 of ")
	w.cli("report", "--unowned", "-n", far).says(2, note, "**1 of ")
	w.cli("report", "--unowned").says(1, note, "| `ConfigMap APPS-far/far-by-hand` |", "| `ConfigMap APPS/by-hand` |")
	w.Delete(kit.Secrets, bad.GetName())

	// A user who may not list a kind, or not read the releases, gets no list that looks complete.
	reader := w.as("reader", rule("get,list", "", "secrets,configmaps"))
	reader.app("report", "--unowned").says(1, "secrets is forbidden")
}
