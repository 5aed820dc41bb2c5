package clitest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestDiff(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.installShop(helm, "shop")
		w.app("diff", "shop").is(0, "release APPS/shop, revision 1: no drift, 4 objects compared\n", "")

		w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"red"},"metadata":{"labels":{"added":"by-somebody"}}}`)
		w.as("scaler", rule("get,patch", "apps", "deployments,deployments/scale")).scale("shop", 5)
		w.Patch(kit.Secrets, "shop", `{"stringData":{"password":"`+secretValue+`-2"}}`)
		w.Delete(kit.Services, "shop")
		before := w.Versions(w.Apps, kit.ConfigMaps, kit.Secrets)
		w.app("diff", "shop").is(2, `ConfigMap APPS/shop: data[color]
  severity medium
  changed by tamperer (Update) at TIME, AGE ago
--- release APPS/shop, revision 1
+++ cluster
@@ -1,6 +1,6 @@
 apiVersion: v1
 data:
-  color: green
+  color: red
   size: "10"
 kind: ConfigMap
 metadata:

Deployment APPS/shop: spec.replicas
  severity medium: capacity
  changed by scaler (Update of scale)
--- release APPS/shop, revision 1
+++ cluster
@@ -11,7 +11,7 @@
   namespace: APPS
 spec:
   progressDeadlineSeconds: 600
-  replicas: 2
+  replicas: 5
   revisionHistoryLimit: 10
   selector:
     matchLabels:

Secret APPS/shop: data[password]
  severity medium
  changed by tamperer (Update) at TIME, AGE ago
--- release APPS/shop, revision 1
+++ cluster
@@ -1,6 +1,6 @@
 apiVersion: v1
 data:
-  password: <secret X>
+  password: <secret X>
 kind: Secret
 metadata:
   annotations:

Service APPS/shop: it does not exist
  severity medium

release APPS/shop, revision 1: 4 of 4 objects drifted (3 modified, 1 missing); 1 object has additions (see --strict)
`, "")
		w.app("diff", "shop", "--strict").says(2, "+    added: by-somebody\n")
		w.app("diff", "shop", "-o", "patch").says(2,
			"--- a/APPS/Secret/shop.yaml\n+++ b/APPS/Secret/shop.yaml\n@@ -1,6 +1,6 @@\n", "+++ /dev/null\n")
		type drifted struct {
			Name        string
			Differences []struct {
				Kind, State, Diff string
				Changes           []struct{ Path, Operation, Manager, Subresource string }
			}
		}
		r := w.app("diff", "-o", "json")
		out := itemsOf[drifted](r)
		check.Must(t, r.code == 2 && len(out) == 1 && len(out[0].Differences) == 4, "exit code %d: %s", r.code,
			r.raw)
		d := out[0].Differences[1]
		check.That(t,
			d.Kind == "Deployment" && d.Changes[0].Path == "/spec/replicas" && d.Changes[0].Manager == "scaler" &&
				d.Changes[0].Subresource == "scale", "difference is %+v", d)
		for _, format := range []string{"text", "json", "yaml", "patch"} {
			r := w.app("diff", "shop", "-o", format, "--color", "always")
			check.That(t, !givesAway(r.stdout+r.stderr) && r.code == 2,
				"exit code %d, or a Secret is given away: %s%s", r.code, r.stdout, r.stderr)
		}
		w.ExpectVersions(before, w.Apps, kit.ConfigMaps, kit.Secrets) // it only asks
		w.app("diff", "shop", "--color", "always").says(2, "\x1b[31m-  color: green\x1b[0m\n\x1b[32m+  color: red\x1b[0m\n")
	})
}

// scale sets the number of replicas as a user does.
func (w *fixture) scale(name string, replicas int) {
	w.Helper()
	w.Kubectl("patch", "deployment", name, "--subresource=scale", "--field-manager=scaler", "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

func TestDiffRevisionsAndManyReleases(t *testing.T) {
	w := newFixture(t)
	chart := w.installShop(kit.Shared.Helm4(), "shop")
	w.Helm(kit.Shared.Helm4(), "upgrade", "shop", chart, "--set", "password="+secretValue, "--set", "color=blue")
	w.app("diff", "shop").says(0, "revision 2: no drift")
	w.app("diff", "shop", "--revision", "1").says(2, "--- release APPS/shop, revision 1\n",
		"-  color: green\n+  color: blue\n", "1 of 4 objects drifted (1 modified, 0 missing)")
	w.app("diff", "shop", "--revision", "9").says(1, "release APPS/shop has no revision 9; it has 2, 1")

	// A failed upgrade: diff compares with the last deployed revision.
	bad := w.Chart("shop", shop+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n")
	_, err := kit.Shared.Helm4().Run(w.Ctx, "upgrade", "shop", bad, "-n", w.Apps)
	check.Must(t, err != nil, "the upgrade worked")
	r := w.app("diff", "shop")
	r.says(0,
		"note: revision 3 of release APPS/shop is failed; compared with revision 2, the last one that was deployed\n")

	w.Forge(kit.ForgedRecord{Name: "broken", Manifest: "kind: ["})
	w.Forge(kit.ForgedRecord{Name: "gone", Status: "uninstalled",
		Manifest: "kind: X\napiVersion: v1\nmetadata: {name: x}\n"})
	w.Forge(
		kit.ForgedRecord{Name: "tidy", Manifest: "---\napiVersion: example.org/v1\nkind: Unknown\nmetadata: {name: x}\n"},
	)
	w.app("diff", "--all").says(1, "the manifest of revision 1 of release APPS/broken does not parse: document 1, line 1",
		"note: release APPS/gone is left out: no revision of it is deployed (the newest, 1, is uninstalled)\n",
		"Unknown.example.org x: the cluster does not serve this kind: its CustomResourceDefinition is gone",
		"release APPS/shop, revision 2: ")
	w.cli("diff", "tidy", "-A").says(2, "release APPS/tidy, revision 1: 1 of 1 object drifted (0 modified, 1 missing)\n")
	w.cli("diff", "-n", "kube-public").is(5, "",
		"helm-locker: there is no release to compare in namespace kube-public\n  --allow-empty accepts that\n")
}

func TestDiffNormalisationIsNoDrift(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		template := `apiVersion: apps/v1
kind: Deployment
metadata: {name: odd}
spec:
  replicas: 1
  selector: {matchLabels: {app: odd}}
  template:
    metadata: {labels: {app: odd}}
    spec:
      unknownField: pruned
      containers: [{name: odd, image: example.org/odd:1, resources: {limits: {cpu: 1000m, memory: 1024Mi}}}]
---
apiVersion: v1
kind: Service
metadata: {name: odd}
spec: {type: ExternalName, externalName: example.org, ports: [{port: 80, targetPort: 0}]}
`
		if helm.Name == "helm 4" { // a server-side apply refuses what the server does not know
			template = strings.Replace(template, "      unknownField: pruned\n", "", 1)
		}
		w.Helm(helm, "install", "odd", w.Chart("odd", template))
		w.app("diff", "odd").says(0, "no drift, 2 objects compared")
		// Beside drift, too: the pruned field is not in the diff.
		w.Patch(kit.Deployments, "odd", `{"spec":{"replicas":3}}`)
		r := w.app("diff", "odd")
		r.says(2, "Deployment APPS/odd: spec.replicas\n", "-  replicas: 1\n+  replicas: 3\n")
		check.That(t, !strings.Contains(r.stdout, "unknownField"), "%v", r.stdout)
	})
}

func TestDiffPermissions(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	before := w.Versions(w.Apps, kit.ConfigMaps, kit.Services, kit.Secrets)
	reader := w.as("reader", rule("get,list", "", "secrets,configmaps,services"), rule("get", "apps", "deployments"))
	reader.app("diff", "shop").is(0, "release APPS/shop, revision 1: no drift, 4 objects compared\n", "")
	w.ExpectVersions(before, w.Apps, kit.ConfigMaps, kit.Services, kit.Secrets)
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"red"}}`)
	reader.app("diff", "shop").says(2, "-  color: green\n+  color: red\n",
		"note: release APPS/shop is compared locally: no permission for a dry run (it needs the verb patch on configmaps); what the API server or a webhook makes of a value may look like drift\n",
		"note: you may not list HelmReleases in namespace LOCKER, so what a lock leaves alone is compared, too\n")
	w.as("half", rule("get,list", "", "secrets,configmaps")).app("diff", "shop").says(1,
		"cannot compare Deployment APPS/shop of release APPS/shop: ",
		`User "half" cannot get resource "deployments"`, "half needs a Role with verbs: [get]",
		"1 of 2 objects drifted (1 modified, 0 missing); 2 objects could not be compared\n")
	w.as(
		"nobody",
	).app("diff", "shop").says(1, "verbs: [list], apiGroups: [\"\"], resources: [secrets], bound in namespace APPS")
	w.app("diff", "shoop").says(5, "did you mean shop?")
}

func TestDiffHeedsTheLock(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	w.Patch(kit.Deployments, "shop", `{"spec":{"replicas":3}}`)
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"red","added":"by-somebody"}}`)
	w.app("lock", "shop", "--ignore", "/spec/replicas", "--scope", "Strict", "--yes").says(0, "created")
	r := w.app("diff", "shop")
	r.says(2, "1 of 4 objects drifted", "+  added: by-somebody\n",
		"note: HelmRelease LOCKER/shop leaves fields alone; --no-ignore compares them, too\n")
	w.app("diff", "shop", "--no-ignore").says(2, "2 of 4 objects drifted")
	w.app("lock", "shop", "--ignore", "/spec/replcias", "--may-not-exist").says(0, "changed") // with no question: it locks already
	const misspelt = "note: HelmRelease LOCKER/shop ignores /spec/replcias, which is no field of its objects; is it /spec/replicas?\n"
	w.app("diff", "shop").says(2, misspelt)
	w.app("report", "shop").says(2, misspelt)
	w.app("unlock", "shop").says(0, "deleted")
	r = w.app("diff", "shop")
	check.That(t, strings.Contains(r.stdout, "by-somebody") != false && r.code == 2, "exit code %d: %s", r.code, r.stdout)
	w.Patch(kit.ConfigMaps, "shop", `{"metadata":{"labels":{"more":"x"}}}`)
	r = w.app("diff", "shop")
	check.That(t, !strings.Contains(r.stdout, "+    more: x"), "an addition is drift without --strict: %s", r.stdout)
	// An autoscaler created by hand.
	autoscaler := `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"shop"},"spec":{"minReplicas":1,"maxReplicas":4,` +
		`"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"shop"}}}`
	force := true
	_, err := w.Kube.AutoscalingV2().HorizontalPodAutoscalers(w.Apps).Patch(w.Ctx, "shop", types.ApplyPatchType,
		[]byte(autoscaler), metav1.PatchOptions{FieldManager: "me", Force: &force})
	check.NoError(t, err)
	w.app("diff", "shop").says(2, "1 of 4 objects drifted")
}

func TestDiffOffline(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm3(), "shop")
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"red"}}`)
	w.Patch(kit.Secrets, "shop", `{"stringData":{"password":"`+secretValue+`-2"}}`)
	dump := w.Kubectl("get", "secret,configmap,deployment", "-o", "yaml", "--show-managed-fields")
	file := filepath.Join(t.TempDir(), "dump.yaml")
	check.NoError(t, os.WriteFile(file, []byte(dump), 0o600))
	r := w.cli("diff", "-f", file)
	r.says(2, "2 of 4 objects drifted", "-  color: green\n+  color: red\n")
	w.kubeconfig = "/does/not/exist"
	r = w.cli("diff", "-f", file, "--objects", file)
	r.says(2, "-  color: green\n+  color: red\n", "changed by tamperer (Update)",
		"Service APPS/shop: it does not exist\n",
		"3 of 4 objects drifted (2 modified, 1 missing)\n", "compared locally: saved objects are compared")
	check.That(t, !givesAway(r.stdout), "a Secret is given away")
	w.stdin = dump
	w.cli("diff", "shop", "-f", file, "--objects", "-").says(2, "3 of 4 objects drifted")
	w.cli("diff", "shop", "--objects", file).is(1, "",
		"helm-locker: --objects needs --filename\n  see helm-locker diff --help\n")
	w.cli("diff", "-A", "-f", file).is(1, "",
		"helm-locker: --filename and --all-namespaces exclude each other\n  see helm-locker diff --help\n")
	w.cli("diff", "--revision", "1").is(1, "",
		"helm-locker: --revision needs the name of one release\n  see helm-locker diff --help\n")
	w.cli("diff", "-f", "-", "--objects", "-").is(1, "",
		"helm-locker: only one of --objects and --filename can be standard input\n  see helm-locker diff --help\n")
}
