package real

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// helmfileState declares the release app with a value of the command line, in a namespace.
const helmfileState = `
helmDefaults: {wait: true, cleanupOnFail: true}
releases:
- name: app
  namespace: %s
  chart: %s
  labels: {tier: front}
  values: [{key: {{ .Values.key | quote }}}]
`

var helmfile = neighbour{"helmfile", "helmfile", cluster.HelmfileModule,
	"`sync`, `diff`, `apply` and `destroy`, with Helm 3 and Helm 4, and a change by hand before `diff` and `apply`",
	"no rule: Helm writes"}

// The real helmfile installs, upgrades and uninstalls a release. The lock follows, and reverts no work of helmfile. It
// reverts a change by hand, and that is no difference for helmfile. Its plugin helm-diff is a stand-in.
func TestNeighbour_RealHelmfile(t *testing.T) {
	binaries := helmfile.built(t)
	t.Run("releases", func(t *testing.T) {
		kit.EachHelm(t, func(t *testing.T, h cluster.Helm) { isAppliedByHelmfile(t, h, binaries.Helmfile) })
	})
	helmfile.done(&kit.Fixture{Env: kit.New(t, kit.Shared)})
}

func isAppliedByHelmfile(t *testing.T, h cluster.Helm, program string) {
	f := kit.Start(t)
	f.LockFence()
	f.CreateHelmRelease("app")
	f.Proxy.Reset()
	run := runHelmfile(f, h, program)
	run("sync", "one", 0, "--sync-release-labels")
	follows(f, 1, "one")

	f.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	run("diff", "one", 0, "--detailed-exitcode")
	run("apply", "one", 0) // nothing
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "one")
	f.PassFence()
	f.Proxy.Reset()
	run("diff", "two", 2, "--detailed-exitcode")
	follows(f, 1, "one")
	run("apply", "two", 2, "--detailed-exitcode")
	follows(f, 2, "two")
	run("apply", "two", 0, "--detailed-exitcode")
	follows(f, 2, "two")
	run("sync", "two", 0)
	follows(f, 3, "two")

	// A drift during a pause is no difference either: the record is as the chart.
	f.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
	f.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
	f.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	run("diff", "two", 0, "--detailed-exitcode")
	run("apply", "two", 0, "--detailed-exitcode")
	f.ExpectKey("settings", "tampered")
	f.PatchHelmRelease("app", `{"spec":{"suspend":false}}`)
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "two")
	f.WaitReady("app", 3)
	f.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	run("apply", "three", 0)
	f.WaitReady("app", 4)
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "three")
	f.PassFence()
	f.Proxy.Reset()

	run("destroy", "three", 0)
	f.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
	f.PassFence()
	check.That(t, f.Get(kit.ConfigMaps, "settings") == nil, "an object of the destroyed release is there")
	run("apply", "four", 0)
	follows(f, 1, "four")
}

// follows waits until a revision is locked with a key, and counts the operator's writes meanwhile.
func follows(f *kit.Fixture, revision int, key string) {
	f.Helper()
	f.WaitReady("app", revision)
	f.PassFence()
	f.ExpectKey("settings", key)
	helmfile.expectNoReverts(f)
}

// runHelmfile returns a function for commands of helmfile with a Helm, the key of the only object, and the expected
// exit code.
func runHelmfile(
	f *kit.Fixture, h cluster.Helm, program string,
) func(command, key string, code int, args ...string) {
	f.Helper()
	h.Plugins = f.HelmDiff()
	home := f.TempDir()
	state := filepath.Join(home, "helmfile.yaml.gotmpl")
	chart := f.Chart("app", kit.ConfigMap("settings", "{{ .Values.key }}"))
	check.NoError(f, os.WriteFile(state, fmt.Appendf(nil, helmfileState, f.Apps, chart), 0o600))
	return func(command, key string, code int, args ...string) {
		f.Helper()
		cmd := exec.CommandContext(f.Ctx, program, append([]string{"--file", state, "--helm-binary", h.Bin,
			"--state-values-set", "key=" + key, command}, args...)...)
		cmd.Dir, cmd.Env = home, h.Environment(home)
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == code || err == nil && code == 0 {
			return
		}
		f.Fatalf("helmfile %s %v: %v, not code %d\n%s", command, args, err, code, out)
	}
}
