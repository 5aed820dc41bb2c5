package clitest

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestInspect(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.installShop(helm, "shop")
		w.Helm(helm, "upgrade", "shop", chart, "--set", "password="+secretValue, "--set", "color=blue")
		applied := "three-way patch"
		if helm.Name == "helm 4" {
			applied = "server-side apply"
		}
		w.app("inspect", "shop").is(0, `Name:            shop
Namespace:       APPS
Revision:        2
Status:          deployed
Chart:           shop-0.1.0
Updated:         TIME (AGE ago)
First deployed:  TIME (AGE ago)
Description:     Upgrade complete
Applied by:      `+applied+`
Objects:         4 (ConfigMap 1, Deployment 1, Secret 1, Service 1)
Hooks:           ConfigMap shop-hook (pre-upgrade)
`, "")
		w.app("inspect", "shop", "--values").is(0, "color: blue\npassword: <secret X>\n", "")
		w.app("inspect", "shop", "--values", "--show-secrets").is(0, "color: blue\npassword: "+secretValue+"\n", "")
		w.app("inspect", "shop", "--revision", "1", "--values").is(0, "password: <secret X>\n", "")
		w.app("inspect", "shop", "--notes").is(0, "", "")
		w.app("inspect", "shop", "--manifest").says(0, "# Source: shop/templates/all.yaml\n",
			"data: {color: blue, size: \"10\"}\n", "password: <secret X>\n")
		w.app("inspect", "shop", "--json").says(0, `"revision": 2,`, `"password": "<secret X>"`,
			`"kind": "ConfigMap",`, `"pre-upgrade"`)
		for _, part := range []string{"--manifest", "--values", "--json", "--notes"} {
			r := w.app("inspect", "shop", part)
			check.That(t, !givesAway(r.stdout), "%s gives a Secret away: %s", part, r.stdout)
		}
	})
}

func TestInspectWhatKubectlPrints(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm3(), "shop")
	kubectl := func(format string) string {
		t.Helper()
		return w.Kubectl("get", "secret", "-l", "owner=helm", "-o", format)
	}
	once, err := base64.StdEncoding.DecodeString(kubectl("jsonpath={.items[0].data.release}"))
	check.NoError(t, err)
	for name, content := range map[string]string{
		"yaml": kubectl("yaml"), "json": kubectl("json"), "jsonpath": kubectl("jsonpath={.items[0].data.release}"),
		"decoded once": string(once),
	} {
		w.stdin = content
		w.kubeconfig = "/does/not/exist" // nobody needs a cluster for a file
		w.cli("inspect", "shop", "-f", "-").says(0, "Name:            shop\nNamespace:       APPS\nRevision:        1\n")
		check.Must(t, !t.Failed(), "%v", name)
	}
}

func TestInspectErrors(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm3(), "shop")
	w.app("inspect", "shoop").is(5, "",
		"helm-locker: release APPS/shoop does not exist: namespace \"APPS\" has no record of it in a Secret\n  did you mean shop?\n")
	w.cli("inspect", "shop", "-n", "default").says(5, "release default/shop does not exist", "did you mean shop -n ")
	w.app("inspect", "zzzzzz").says(5,
		"helm list -A lists all releases; choose the namespace with -n, the cluster with --context, and where Helm keeps records with --release-storage")
	w.app("inspect", "shop", "--revision", "4").is(1, "",
		"helm-locker: release APPS/shop has no revision 4; it has 1\n  leave --revision out for the newest one\n")
	w.as("nobody").app("inspect", "shop").says(1, `User "nobody" cannot list resource "secrets"`,
		"\n  nobody needs a Role with verbs: [list], apiGroups: [\"\"], resources: [secrets], bound in namespace APPS\n")
	w.as("lister", rule("list", "", "secrets")).app("inspect", "shop").says(1,
		"verbs: [get], apiGroups: [\"\"], resources: [secrets]")
	w.as("reader", rule("get,list", "", "secrets")).app("inspect", "shop").says(0, "Revision:        1\n")
	w.app("inspect", "shop", "--context", "prod").is(1, "",
		"helm-locker: the kubeconfig has no context \"prod\"\n  it has helm-locker-test\n")
	w.cli("--kubeconfig", w.kubeconfig, "inspect", "shop", "-n", w.Apps, "--context", "helm-locker-test").says(0,
		"Revision:        1\n")
	nowhere := *w
	config := kit.Shared.RESTConfig()
	config.Host = "https://127.0.0.1:1"
	path, err := kit.Shared.KubeconfigFor("nowhere", config)
	check.NoError(t, err)
	nowhere.kubeconfig = path
	nowhere.app("inspect", "shop").is(1, "",
		"helm-locker: the cluster at https://127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused\n"+
			"  choose another cluster with --context, --kubeconfig or KUBECONFIG, or find out whether this one is up\n")
	// A login program that is not installed says nothing about the cluster.
	nowhere.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	check.NoError(t, os.WriteFile(nowhere.kubeconfig, []byte(`apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-login,
  interactiveMode: Never, installHint: "Install it\nby hand."}}}]
`), 0o600))
	nowhere.app("inspect", "shop").is(1, "", "helm-locker: no login at the cluster at https://127.0.0.1:1: exec: executable "+
		"no-such-login not found\n  the kubeconfig runs that program to log in: install it, run it to see its error, or choose "+
		"another context with --context\n")
	w.Patch(kit.Secrets, "sh.helm.release.v1.shop.v1", `{"data":{"release":"aGVsbG8="}}`)
	w.app("inspect", "shop").says(1, "Secret APPS/sh.helm.release.v1.shop.v1: release payload is")
}
