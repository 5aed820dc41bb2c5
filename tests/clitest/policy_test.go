package clitest

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// rows returns the rows of a table without the width of its columns.
func rows(table string) string {
	var lines []string
	for line := range strings.Lines(table) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// A preview describes the policy's effect on each release, and writes nothing.
func TestPolicyPreview(t *testing.T) {
	w := newFixture(t)
	for _, name := range []string{"many-a", "many-b", "many-c", "many-e", "many-f"} {
		w.Helm(kit.Shared.Helm4(), "install", name, w.Chart(name, kit.ConfigMap(name, "one")))
	}
	w.Forge(kit.ForgedRecord{Name: "many-d", Status: "uninstalled", Manifest: kit.ConfigMap("many-d", "one")})
	w.CreateHelmRelease("by-hand", func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = "many-c" })
	w.Patch(kit.ConfigMaps, "many-a", `{"data":{"key":"two"}}`)
	w.Delete(kit.ConfigMaps, "many-b")
	before := w.Versions(w.Apps, kit.ConfigMaps)

	w.stdin = `
apiVersion: helm.cattle.io/v1alpha1
kind: HelmReleasePolicy
metadata: {name: many}
spec:
  match: {namespaces: [` + w.Apps + `]}
`
	r := w.cli("policy", "preview", "-f", "-")
	want := `RELEASE OBJECTS DRIFTED POLICY ENFORCING WOULD
APPS/many-a 1 1 locks it ConfigMap APPS/many-a: revert data[key]
APPS/many-b 1 1 locks it ConfigMap APPS/many-b: re-create it
APPS/many-c 1 0 leaves it to HelmRelease by-hand change nothing
APPS/many-d 0 0 locks it wait: no revision is deployed
2 releases 2 0 locks it change nothing (-o wide lists them)

many: 6 releases matched, 5 releases would be locked; enforcing would change 2 objects in 2 releases
enforced: at once, which reverts their drift; with spec.rollout a few at a time, and those with drift are held
rights: unless the operator runs with --impersonate or --trust-records=Witnessed, no release is enforced: that would be with the operator's own rights: ` +
		`every user who may write a release record (a Secret) in a matched namespace decides what the operator writes in the ` +
		`whole cluster; set spec.template.spec.serviceAccountName, to write with the rights of that ServiceAccount in the ` +
		`namespace of each release, or accept it by spec.acceptRecordsOfAnyone: true`
	if rows(r.stdout) != want || r.code != 0 {
		t.Errorf("exit code %d, stderr %s, table\n%s\nwant\n%s", r.code, r.stderr, rows(r.stdout), want)
	}
	r = w.cli("policy", "preview", "-f", "-", "-o", "wide")
	got := rows(r.stdout)
	check.That(t, strings.Contains(got, "\nAPPS/many-e 1 0 locks it change nothing\nAPPS/many-f 1 0 "),
		"the wide table is\n%s", got)
	type previewed struct {
		Policy, Mode, Rights string
		Summary              v1alpha1.PolicyCounts
		Releases             []struct {
			Name, Outcome, By string
			Objects           int
			Differences       []struct{ Kind, State, Diff string }
		}
	}
	var list struct{ Items []previewed }
	r = w.cli("policy", "preview", "-f", "-", "-o", "json")
	err := json.Unmarshal([]byte(r.raw), &list)
	check.NoError(t, err)
	out := list.Items[0]
	check.That(t,
		out.Mode == "Enforce" && out.Summary.Matched == 6 && len(out.Releases) == 6 &&
			strings.HasPrefix(out.Rights, "unless the operator runs with --impersonate or --trust-records=Witnessed, ") &&
			out.Releases[2].By == "by-hand" && strings.Contains(out.Releases[0].Differences[0].Diff, "+  key: two"), "%v: %s",
		err, r.raw)
	w.ExpectVersions(before, w.Apps, kit.ConfigMaps)
	stored, err := w.In(kit.HelmReleasePolicies, w.Operator).List(w.Ctx, metav1.ListOptions{})
	check.NoError(t, err)
	check.Equal(t, len(stored.Items), 0, "a preview stored a policy")

	w.stdin = strings.Replace(w.stdin, "namespaces", "namespace", 1)
	w.cli("policy", "preview", "-f", "-").says(1, "- holds no HelmReleasePolicy", "namespace")
	w.stdin = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	w.cli("policy", "preview", "-f", "-").says(1, "- holds v1 ConfigMap, not helm.cattle.io/v1alpha1 HelmReleasePolicy")
	w.cli("policy").says(1, "say what to do: helm-locker policy preview")
	w.cli("policy", "preview").says(1, "the name of a policy, or --filename, is missing")
	w.cli("policy", "preview", "none").says(5, `there is no HelmReleasePolicy "none" in namespace LOCKER`)
}

// lock --all and --selector write a policy; a second run changes nothing.
func TestLockWritesAPolicy(t *testing.T) {
	w := newFixture(t)
	const empty = "there is no release in namespace APPS\n"
	w.app("lock", "--all", "--allow-empty", "--mode", "Detect", "--dry-run", "-o", "yaml").says(0,
		"kind: HelmReleasePolicy\nmetadata:\n  name: APPS\n  namespace: LOCKER\n", "    namespaces:\n    - APPS\n", "      mode: Detect\n")
	w.app("lock", "--all", "--allow-empty", "--mode", "Detect").is(0,
		"HelmReleasePolicy LOCKER/APPS created: all releases of namespace APPS, now and later\n", empty)
	w.app("lock", "--all", "--allow-empty").is(0, "HelmReleasePolicy LOCKER/APPS unchanged: all releases of namespace APPS, now and later\n", empty)
	w.app("lock", "--all", "--allow-empty", "--ignore", "/spec/replicas").says(0, "HelmReleasePolicy LOCKER/APPS changed")
	w.app("lock", "--all", "--allow-empty", "--unignore", "/spec/replicas", "-o", "name").is(0,
		"helmreleasepolicy.helm.cattle.io/APPS\n", empty)
	w.app("lock", "--all", "--allow-empty", "--mode", "Enforce").says(0, "HelmReleasePolicy LOCKER/APPS changed",
		"note: unless the operator runs with --impersonate or --trust-records=Witnessed, no release is enforced: that would be with the operator's own rights: ")
	w.cli("lock", "-A", "-l", "team=store,tier!=db", "--allow-empty", "--accept-records-of-anyone").says(0, "HelmReleasePolicy LOCKER/all-team-store-tier-db created: "+
		"releases with labels team in (store),tier notin (db) of all namespaces but the operator's, now and later\n",
		"note: unless the operator runs with --impersonate or --trust-records=Witnessed, releases are enforced with the operator's own rights: ")
	w.cli("lock", "-A", "-l", "team=store,tier!=db", "--allow-empty", "-o", "yaml").says(0, "  acceptRecordsOfAnyone: true\n")
	w.app("lock", "shop", "--accept-records-of-anyone").says(1, "--accept-records-of-anyone is for a policy")
	w.cli("lock", "-A", "--all", "--allow-empty", "--name", w.Apps).is(1, "", "helm-locker: HelmReleasePolicy LOCKER/APPS selects other releases\n"+
		"  choose another --name, or change that policy with kubectl edit\n")
	w.app("lock", "--all", "--wait").says(1, "--wait says nothing about")
	w.app("lock", "-l", "a b").says(1, "--selector: ", "write it like team=web,tier!=db")

	w.cli("policy", "--generate-shell-completion").is(0, "preview\n", "")
	w.cli("policy", "preview", "--generate-shell-completion").is(0, "all-team-store-tier-db\nAPPS\n", "")
	w.cli("status", "--policy", "--generate-shell-completion").is(0, "all-team-store-tier-db\nAPPS\n", "")
	if got, want := rows(w.cli("status", "--policies").stdout), `POLICY MODE MATCHED MADE LOCKED DRIFTED ROLLOUT SINCE REASON
all-team-store-tier-db Enforce 0 0 0 0 -
APPS Enforce 0 0 0 0 -`; got != want {
		t.Errorf("table is\n%s", got)
	}
	w.cli("policy", "preview", "all-team-store-tier-db").says(5, "0 releases matched",
		"HelmReleasePolicy all-team-store-tier-db matches no release\n")
}

// HelmReleases of a policy are changed through the policy.
func TestHelmReleasesOfAPolicy(t *testing.T) {
	w := newFixture(t)
	w.app("lock", "--all", "--allow-empty").says(0, "created")
	stored, err := w.In(kit.HelmReleasePolicies, w.Operator).Get(w.Ctx, w.Apps, metav1.GetOptions{})
	check.NoError(t, err)
	w.CreateHelmRelease("made", func(hr *v1alpha1.HelmRelease) {
		controls := true
		hr.Spec.Release.Name = "shop"
		hr.Labels = map[string]string{v1alpha1.PolicyLabel: w.Apps}
		hr.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.SchemeGroupVersion.String(),
			Kind: v1alpha1.PolicyKind, Name: w.Apps, UID: stored.GetUID(), Controller: &controls}}
	})
	w.CreateHelmRelease("other")
	w.app("lock", "shop", "--may-not-exist", "--scope", "Strict").says(1, "HelmRelease LOCKER/made is made by HelmReleasePolicy APPS",
		"change the template of the policy")
	w.app("suspend", "shop").says(0, "HelmRelease LOCKER/made suspended")
	for state, want := range map[string]string{"unknown": "made other", "drifted": "", "locked": "", "attention": ""} {
		var names []string
		for line := range strings.Lines(w.cli("status", "--state", state).stdout) {
			if name := strings.Fields(line)[0]; name != "NAME" {
				names = append(names, name)
			}
		}
		check.Equal(t, strings.Join(names, " "), want, "%v", state)
	}
	r := w.cli("status", "--policy", w.Apps)
	check.That(t, !strings.Contains(r.stdout, "other") && strings.Contains(r.stdout, "made"), "of the policy:\n%s",
		r.stdout)
	w.cli("status", "--state", "drifted").is(0, "", "no HelmRelease in namespace LOCKER fits\n")
	w.cli("status", "-w", "--state", "drifted").says(1, "--watch goes with neither --state nor --policies")
	w.app("unlock", "shop").says(1, "release APPS/shop stays locked: HelmReleasePolicy APPS makes HelmRelease LOCKER/made again")
}

// Not in parallel with others: the definitions are shared. Without the operator and its definitions a preview still
// lists the releases.
func TestPolicyPreviewBeforeAnInstallation(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "many-a", w.Chart("many-a", kit.ConfigMap("many-a", "one")))
	for _, name := range []string{"helmreleases.helm.cattle.io", "helmreleasepolicies.helm.cattle.io"} {
		check.NoError(t, w.In(kit.Definitions, "").Delete(w.Ctx, name, metav1.DeleteOptions{}))
	}
	w.stdin = "{apiVersion: helm.cattle.io/v1alpha1, kind: HelmReleasePolicy, metadata: {name: many}, spec: {match: {namespaces: [" +
		w.Apps + "]}}}"
	w.Until("the definitions are gone", func() (any, bool) {
		r := w.cli("policy", "preview", "-f", "-")
		return r.stderr, strings.Contains(r.stderr, "note: the cluster does not know HelmReleasePolicies") &&
			r.code == 0 && strings.Contains(r.stdout, "many: 1 release matched")
	})
}
