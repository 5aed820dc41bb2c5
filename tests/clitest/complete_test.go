package clitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// TestCompletionOfNames calls the program as the completion scripts do: with the typed words, and a mark.
func TestCompletionOfNames(t *testing.T) {
	const mark = "--generate-shell-completion"
	w := newFixture(t)
	for _, name := range []string{"shop", "stall"} {
		w.Forge(kit.ForgedRecord{Name: name, Manifest: kit.ConfigMap(name, "one")})
	}
	w.Forge(kit.ForgedRecord{Name: "stall", Revision: 2, Manifest: kit.ConfigMap("stall", "two")})
	w.CreateHelmRelease("stall")
	w.CreateHelmRelease("lock-of-kiosk", func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = "kiosk" })
	w.CreateHelmRelease("elsewhere", func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Namespace = "elsewhere" })

	for _, command := range []string{"diff", "inspect", "lock"} {
		w.cli(command, "-n", w.Apps, mark).is(0, "shop\nstall\n", "")
	}
	for _, command := range []string{"unlock", "suspend", "resume"} {
		w.cli(command, "-n", w.Apps, mark).is(0, "kiosk\nstall\n", "")
		w.cli(command, "-n", w.Apps, "stall", mark).is(0, "kiosk\n", "") // not the same again
	}
	w.cli("migrate", "-n", w.Apps, "stall", mark).is(0, "kiosk\n", "")
	w.cli("status", mark).is(0, "elsewhere\nkiosk\nlock-of-kiosk\nstall\n", "")
	w.cli("status", "-n", w.Apps, mark).is(0, "kiosk\nlock-of-kiosk\nstall\n", "")
	w.cli("diff", "--rev", mark).is(0, "--revision:compare with revision N of the release; the newest deployed one without it\n", "")
	w.cli("--namespace", w.Apps, "lock", mark).is(0, "shop\nstall\n", "")
	w.cli("trace", mark).says(0, "\nconfigmap\n", "\ndeployment\n", "\nhelmrelease\n")
	w.cli("trace", "-n", w.Apps, "cm", mark).is(0, "kube-root-ca.crt\n", "")
	// Values of flags.
	w.cli("diff", "-o", mark).is(0, "text\njson\nyaml\npatch\n", "")
	w.cli("lock", "shop", "--mode", mark).is(0, "Enforce\nDetect\n", "")
	w.cli("diff", "-f", mark).is(0, "", "") // the shell completes files
	w.cli("lock", "-n", mark).says(0, "APPS\n")
	w.cli("status", "--context", mark).is(0, "helm-locker-test\n", "")
	// Without a cluster or a permission it prints nothing.
	w.as("nobody").cli("diff", "-n", w.Apps, mark).is(0, "", "")
	nowhere := *w
	nowhere.kubeconfig = "/nowhere"
	nowhere.cli("diff", "-n", w.Apps, mark).is(0, "", "")

	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to try the script with")
	}
	cmd := w.command(t.Context())
	cmd.Path = bash
	cmd.Args = []string{"bash", "-c", `eval "$(helm-locker completion bash)"; _get_comp_words_by_ref() { :; }
COMP_WORDS=(helm-locker unlock -n ` + w.Apps + ` st); COMP_CWORD=4; cur=st; __helm-locker_bash_autocomplete; echo "${COMPREPLY[@]}"`}
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	check.That(t, err == nil && strings.TrimSpace(string(out)) == "stall", "bash completes st to %q (%v)", out, err)
}
