package fidelity

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const growable = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: growable}
provisioner: none.example
allowVolumeExpansion: true
`

// refusedFields grows a bound claim, which nothing can shrink again, and makes a ConfigMap immutable with other data. A
// label of each that is changed afterwards comes back.
func refusedFields(w *fixture, helm cluster.Helm) {
	// On the server, because the subtests apply it at once.
	w.kubectl(growable, nil, "apply", "--server-side", "-f", "-")
	w.Helm(helm, "install", "app", casePath("07-refused-field", "chart"))
	// No controller binds claims here.
	w.Kubectl("patch", "pvc", "disk", "--subresource=status", "--type=merge", "-p",
		`{"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}`)
	w.Lock("app")
	claims := resource("persistentvolumeclaims")
	w.Patch(claims, "disk", `{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`)
	w.Says("app", v1alpha1.ConditionLocked, v1alpha1.ReasonRevertFailed, "2 of 3 objects protected, 1 in part", "disk")
	w.Patch(claims, "disk", `{"metadata":{"labels":{"tier":"evil"}}}`)
	w.WaitField(claims, "disk", "metadata.labels.tier", "gold")
	w.WaitField(claims, "disk", "spec.resources.requests.storage", "3Gi")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, "disk", "storage")
	w.Patch(kit.ConfigMaps, "frozen", `{"immutable":true,"data":{"mode":"evil"}}`)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, "frozen", "data[mode]")
	w.Patch(kit.ConfigMaps, "frozen", `{"metadata":{"labels":{"tier":"evil"}}}`)
	w.WaitField(kit.ConfigMaps, "frozen", "metadata.labels.tier", "gold")
	w.Says("app", v1alpha1.ConditionLocked, v1alpha1.ReasonRevertFailed, "1 of 3 objects protected, 2 in part")
}

// mutator changes fields of a container that a policy injects, and of others. Without the policy, and after a restart,
// nothing is written: only Helm wrote the objects.
func mutator(w *fixture, helm cluster.Helm) {
	const name = "10-mutator"
	w.policy(name, "policy.yaml", "name", "proxy probe")
	reverts(name, v1alpha1.ScopeStrict)(w, helm)
	w.kubectl(w.inCase(name, "policy.yaml"), nil, "delete", "-f", "-")
	w.probe(name, "name", func(got string) bool { return got == "probe" })
	w.Running.Stop()
	w.Proxy.Reset()
	w.restart(`app"`, "settings")
	w.WaitReady("app", 1)
	w.expectNoWrites("after a restart without the policy")
}

// pullSecrets answers each revert of a list with another element. This fight is noticed within ten rounds, and slowed
// to a revert a second after a burst.
func pullSecrets(w *fixture, helm cluster.Helm) {
	w.installs("11-pull-secrets", helm)
	accounts := resource("serviceaccounts")
	// The first revert draws on nothing, and the last one makes none wait.
	const burst, rounds = 20, 25
	begun := time.Now()
	for round := range rounds {
		w.PatchAs("platform-controller", accounts, "builder", fmt.Sprintf(`{"imagePullSecrets":[{"name":"team-registry"},{"name":"builder-cfg-%d"}]}`, round))
		w.WaitField(accounts, "builder", "imagePullSecrets", []any{map[string]any{"name": "team-registry"}})
	}
	if took := time.Since(begun); took < (rounds-burst-2)*time.Second {
		w.Errorf("%d reverts took %s", rounds, took)
	}
	before, _, noticed := strings.Cut(w.Running.Log(), "something keeps changing the object back")
	if n := strings.Count(before, "msg=reverted"); !noticed || n > 10 {
		w.Errorf("noticed %t after %d reverts", noticed, n)
	}
	w.Says("app", v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected, "builder", "platform-controller",
		"/imagePullSecrets")
}

// toHook turns an object into a hook with Helm's ownership metadata, and drops objects that Helm keeps: all stay.
func toHook(w *fixture, helm cluster.Helm) {
	w.installs("12-to-hook", helm)
	w.Patch(kit.ConfigMaps, "kept-live-only", `{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`)
	w.Helm(helm, "upgrade", "app", casePath("12-to-hook", "chart"), "--set", "hook=true,rev=2")
	w.WaitReady("app", 2)
	w.Until("leftovers were looked for", func() (any, bool) {
		n := strings.Count(w.Running.Log(), "left over from an earlier revision and left alone")
		return n, n >= 3
	})
	for _, name := range []string{"cfg-post-upgrade", "stay", "kept", "kept-live-only"} {
		if u := w.Get(kit.ConfigMaps, name); u == nil || u.GetDeletionTimestamp() != nil {
			w.Errorf("ConfigMap %s was deleted", name)
		}
	}
	w.WaitField(kit.ConfigMaps, "cfg-post-upgrade", "data.rev", "2")
}

// copiedLive locks objects that were exported from a cluster, with their metadata and status of then. Their controllers
// keep these, and nothing is written. Helm 4 does not install them.
func copiedLive(w *fixture, helm cluster.Helm) {
	if helm == kit.Shared.Helm4() {
		return
	}
	w.Helm(helm, "install", "app", casePath("13-copied-live", "chart"))
	revision := func() any {
		return w.Get(kit.Deployments, "exported").GetAnnotations()["deployment.kubernetes.io/revision"]
	}
	w.Until("the controller has written the revision", func() (any, bool) { return revision(), revision() == "1" })
	w.Proxy.Reset()
	w.Lock("app")
	w.expectNoWrites("to objects as Helm left them")
	w.Patch(kit.Deployments, "exported", `{"spec":{"minReadySeconds":7,"replicas":1}}`)
	w.WaitField(kit.Deployments, "exported", "spec.replicas", int64(0))
	w.Patch(kit.ConfigMaps, "exported", `{"data":{"a":"evil"}}`)
	w.WaitField(kit.ConfigMaps, "exported", "data.a", "1")
	w.WaitReady("app", 1)
	if got := revision(); got != "1" {
		w.Errorf("the revision is %v", got)
	}
}

// once deletes a Pod that has succeeded, and a Job deletes itself when its Pod has. Neither runs again; a Pod that
// always runs does.
func once(w *fixture, helm cluster.Helm) {
	w.installs("23-once", helm)
	pods := resource("pods")
	w.succeed("seed", func() {})
	w.Until("the Job is gone", func() (any, bool) {
		u := w.Get(resource("jobs"), "seed")
		return u, u == nil
	})
	agent := w.Get(pods, "agent").GetUID()
	w.Kubectl("patch", "pod", "migrate", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Succeeded"}}`)
	w.Kubectl("delete", "pod", "migrate", "agent", "--grace-period=0", "--force")
	w.WaitNewObject(pods, "agent", agent)
	w.PassFence()
	if w.Get(pods, "migrate") != nil || w.Get(resource("jobs"), "seed") != nil {
		w.Error("an object that runs once runs again")
	}
}

// digest pins an image, and later to another digest. Nothing is written when the operator learns the form again.
func digest(w *fixture, helm cluster.Helm) {
	const name = "29-digest"
	w.policy(name, "policy-a.yaml", "image", "@sha256:aaaa")
	w.installs(name, helm)
	w.policy(name, "policy-b.yaml", "image", "@sha256:bbbb")
	w.Proxy.Reset()
	w.Running.Stop()
	w.restart(`app"`)
	w.again(w.Running, func() { w.ignore("/metadata/labels/none") }, `app"`)
	w.again(w.Running, func() {
		w.Patch(kit.Secrets, "sh.helm.release.v1.app.v1", `{"metadata":{"labels":{"touched":"yes"}}}`)
	}, `app"`)
	w.WaitReady("app", 1)
	w.expectNoWrites("though only Helm wrote the object")
	if n := w.Get(kit.Deployments, "app").GetGeneration(); n != 1 {
		w.Errorf("the generation is %d", n)
	}
}

// replacedWhileDown replaces a StatefulSet by one with larger claims, as documented by Kubernetes. Its image and its
// labels stay protected.
func replacedWhileDown(w *fixture, helm cluster.Helm) {
	w.installs("32-replaced-while-down", helm)
	sets := resource("statefulsets")
	w.replaceWhileSuspended("statefulsets", withLargerClaims(w.Get(sets, "db")))
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, "db", "spec.volumeClaimTemplates")
	w.Patch(sets, "db", `{"metadata":{"labels":{"tier":"evil"}}}`)
	w.Strategic(sets, "db", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"evil"}]}}}}`)
	w.WaitField(sets, "db", "metadata.labels.tier", "gold")
	w.WaitField(sets, "db", "spec.template.spec.containers.0.image", "registry.example/db:1")
}

// withLargerClaims returns a StatefulSet to be made anew with larger claims.
func withLargerClaims(set *unstructured.Unstructured) *unstructured.Unstructured {
	larger := anew(set)
	claims, _, err := unstructured.NestedSlice(larger.Object, "spec", "volumeClaimTemplates")
	if err == nil {
		err = unstructured.SetNestedField(claims[0].(map[string]any), "3Gi", "spec", "resources", "requests", "storage")
	}
	if err == nil {
		err = unstructured.SetNestedSlice(larger.Object, claims, "spec", "volumeClaimTemplates")
	}
	if err != nil {
		panic(err)
	}
	return larger
}
