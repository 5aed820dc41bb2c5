package chart

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// oneProcess is the last commit whose chart has one process for everything.
const oneProcess = "e4b7886"

// chartOf returns the operator's chart of a commit.
func chartOf(t *testing.T, commit string) string {
	t.Helper()
	dir := t.TempDir()
	archive := filepath.Join(dir, "chart.tar")
	git := exec.CommandContext(t.Context(), "git", "archive", "--output", archive, commit, "charts/helm-locker")
	git.Dir = "../.." // paths are those of the root
	if out, err := git.CombinedOutput(); err != nil {
		t.Skipf("this checkout has no commit %s: %v\n%s", commit, err, out)
	}
	out, err := exec.CommandContext(t.Context(), "tar", "-xf", archive, "-C", dir).CombinedOutput()
	check.Must(t, err == nil, "%v\n%s", err, out)
	return filepath.Join(dir, "charts", "helm-locker")
}

// The values of the chart with one process are those of an upgrade: page, notifications and policies work after it.
func TestAnUpgradeFromOneProcessKeepsAllWorking(t *testing.T) {
	e := newEnv(t)
	h := kit.Shared.Helm3()
	inbox := newInbox(e)
	values := fmt.Sprintf("{page: {enabled: true, port: %d, service: {enabled: true}}, "+
		"notify: {urlSecret: {name: hooks}, format: json}}", freePort(t))
	if _, err := h.Run(e.Ctx, "install", "helm-locker", chartOf(t, oneProcess), "--namespace", e.Operator,
		"--values", valuesFile(t, values, e.Operator)); err != nil {
		t.Fatal(err)
	}
	install(e, h, values)
	running := map[string]*deployed{}
	for _, name := range []string{"helm-locker", "helm-locker-policies", "helm-locker-page", "helm-locker-notifications"} {
		install(e, h, values, freePorts(t)) // all Pods share one network here
		running[name] = startDeployment(e, kit.Shared, name)
	}

	helmRelease := installExample(e, h)
	e.WaitReady(helmRelease, 1)
	holds(e, helmRelease)
	e.Eventually("the drift is notified", func() error { return inbox.Contain("io.cattle.helm.drift.recreated") })
	v := viewers{e, running["helm-locker-page"].url("page"), e.Administrator()}
	e.Eventually("the page has the drift", func() error { return v.see("ecreated") })
	e.Installed(h, "plain", kit.ConfigMap("plain", "1")) // followPolicy replaces this HelmRelease
	followPolicy(e, "plain")
}
