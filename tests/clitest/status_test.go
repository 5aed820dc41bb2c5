package clitest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var (
	durations = regexp.MustCompile(`after [0-9.]+(ms|µs|s)`)
	ageColumn = regexp.MustCompile(` \d+(s|m|h|d) `)
)

// lines runs the program and returns its output line by line. It ends the program with the test.
func (w *fixture) lines(args ...string) func() string {
	w.Helper()
	cmd := w.command(context.WithoutCancel(w.Ctx), args...) // the end of the test is not to kill it
	stdout, err := cmd.StdoutPipe()
	check.NoError(w, err)
	cmd.Stderr = os.Stderr
	check.NoError(w, cmd.Start())
	reader := bufio.NewReader(stdout)
	w.Cleanup(func() {
		check.Report(w, cmd.Process.Signal(os.Interrupt))
		if _, err := io.Copy(io.Discard, reader); err != nil {
			w.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			w.Errorf("helm-locker %s did not end well: %v", strings.Join(args, " "), err)
		}
	})
	return func() string {
		w.Helper()
		line, err := reader.ReadString('\n')
		if err != nil {
			w.Fatalf("helm-locker %s has ended: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSuffix(line, "\n")
	}
}

func (w *fixture) expectLine(next func() string, want string) {
	w.Helper()
	got := w.neutral(next())
	if got = durations.ReplaceAllString(got, "after DURATION"); got != want {
		w.Fatalf("line is\n%s\nwant\n%s", got, want)
	}
}

func TestStatus(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "kiosk")
	w.cli("status").is(0, "",
		"no release is locked: there is no HelmRelease in namespace LOCKER; helm-locker lock RELEASE -n NAMESPACE makes one\n")
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.Lock("kiosk")
	w.app("lock", "stall", "--may-not-exist").says(0, "created")
	w.WaitReason("stall", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)

	columns := func(r result) string { return rows(ageColumn.ReplaceAllString(r.stdout, " AGE ")) }
	if got, want := columns(w.cli("status")), `NAME RELEASE REV LOCKED DRIFTED RECENT CONTENDED SINCE STATE REASON
kiosk APPS/kiosk 1 yes 0/4 0 0 AGE Deployed Locked
stall APPS/stall - no - 0 0 AGE SecretNotFound SecretNotFound

NEEDS ATTENTION WHY WHAT TO DO
APPS/stall SecretNotFound: no Secret holds a record of Helm release APPS/stall; it is locked as soon as Helm has installed it (ConfigMaps are not read: see --release-storage) install it with Helm, or end its lock: helm-locker unlock stall -n APPS`; got != want {
		t.Errorf("table is\n%s\nwant\n%s", got, want)
	}
	w.cli("status", "-A", "-n", w.Apps, "-o", "wide").says(0, "NAMESPACE", "LOCKER ", "revision 1 locked: 4 objects")
	w.cli("status", "-n", "default").is(0, "", "no release in namespace default is locked: no HelmRelease in namespace "+
		"LOCKER is for one; helm-locker lock RELEASE -n default makes one\n")

	w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"red"}}`)
	w.WaitField(kit.ConfigMaps, "shop", "data.color", "green")
	w.WaitFieldIn(kit.HelmReleases, w.Operator, "kiosk", "status.recentDrift.0.object.kind", "ConfigMap")
	w.cli("status", "kiosk").says(0, "HelmRelease:  LOCKER/kiosk\n", "Locked:       yes, revision 1\n",
		"Objects:      4 tracked, 0 drifted, 0 contended, 0 waiting\n",
		"data[color] changed by tamperer", "reverted after ", "CONDITION  STATUS  REASON ")
	var out struct {
		Items []struct {
			Name, Locked string
			Status       v1alpha1.HelmReleaseStatus
		}
	}
	err := json.Unmarshal([]byte(w.cli("status", "-o", "json").raw), &out)
	check.That(t,
		err == nil && len(out.Items) == 2 && out.Items[0].Locked == "yes" && len(out.Items[0].Status.Conditions) > 0,
		"%v: %+v", err, out)
	w.cli("status", "kiosk", "-o", "yaml").says(0, "- locked: \"yes\"\n  name: kiosk\n")
	w.cli("status", "kiosc").is(5, "",
		"helm-locker: no HelmRelease in namespace LOCKER is called kiosc, or names a release of that name\n  did you mean kiosk?\n")
	w.cli("status", "zzzzz").says(5, "helm-locker lock zzzzz -n NAMESPACE locks a release; -A looks in all namespaces")
	w.cli("status", "-w", "-o", "yaml").says(1, "--watch prints lines")

	// As kubectl's flags.
	w.cli("status", "-o", "name").is(0,
		"helmrelease.helm.cattle.io/kiosk\nhelmrelease.helm.cattle.io/stall\n", "")
	if got, want := columns(w.cli("status", "-o", "Table", "--state", "LOCKED", "--no-headers")),
		"kiosk APPS/kiosk 1 yes 0/4 1 0 AGE Deployed Locked"; got != want {
		t.Errorf("table is\n%s\nwant\n%s", got, want)
	}
	w.cli("status", "--as", "nobody").says(1, `User "nobody" cannot list resource "helmreleases"`)
	w.cli("status", "--as", "nobody", "--as-group", "system:masters", "-o", "name").says(0, "/kiosk\n")
	w.cli("status", "--request-timeout", "1ns").says(1, "does not answer", "deadline exceeded")
	w.cli("status", "--request-timeout", "soon").says(1, "invalid value \"soon\" for flag --request-timeout")
}

func TestStatusWatch(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "kiosk")
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.Lock("kiosk")
	text, objects := w.lines("status", "-w"), w.lines("status", "kiosk", "--watch", "-o", "json")
	w.expectLine(text, "TIME  APPS/kiosk  locked: revision 1, 4 objects")
	line := objects()
	check.That(t, strings.Contains(line, `"locked":"yes"`), "line is %s", line)

	w.Patch(kit.Deployments, "shop", `{"spec":{"replicas":7}}`)
	w.expectLine(text,
		"TIME  APPS/kiosk  Deployment.apps APPS/shop spec.replicas changed by tamperer: reverted after DURATION")
	var happened struct {
		Release string
		Drift   v1alpha1.DriftRecord
	}
	err := json.Unmarshal([]byte(objects()), &happened)
	check.That(t, err == nil && happened.Drift.Object.Kind == "Deployment" && happened.Release == w.Apps+"/kiosk",
		"%v: %+v", err, happened)
	w.Delete(kit.ConfigMaps, "shop")
	w.expectLine(text, "TIME  APPS/kiosk  ConfigMap APPS/shop deleted: recreated after DURATION")
	// A Secret: its field, and nothing of its value.
	w.Patch(kit.Secrets, "shop", `{"stringData":{"password":"`+secretValue+`-2"}}`)
	w.expectLine(text, "TIME  APPS/kiosk  Secret APPS/shop data[password] changed by tamperer: reverted after DURATION")

	w.app("suspend", "kiosk", "--reason", "tea").says(0, "suspended")
	w.expectLine(text, "TIME  APPS/kiosk  not locked: suspended until it is resumed (tea)")
	w.app("resume", "kiosk", "--wait").says(0, "resumed")
	// There may be steps in between.
	for line := w.neutral(text()); line != "TIME  APPS/kiosk  locked: revision 1, 4 objects"; line = w.neutral(text()) {
		check.That(t, strings.Contains(line, "locked"), "line is %s", line)
	}
	w.app("unlock", "kiosk").says(0, "deleted")
	w.expectLine(text, "TIME  APPS/kiosk  not locked: the HelmRelease was deleted")
}

// The audit log has nobody who deleted an object that never existed.
func TestStatusOfAMissingObject(t *testing.T) {
	w := newFixture(t)
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.Helm(kit.Shared.Helm4(), "install", "shop", w.Chart("shop", kit.ConfigMap("shop", "one")))
	w.Delete(kit.ConfigMaps, "shop")
	w.CreateHelmRelease("shop", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.WaitReason("shop", v1alpha1.ConditionReady, v1alpha1.ReasonDriftDetected)
	r := w.cli("status", "shop")
	r.says(0, "ConfigMap APPS/shop: missing\n")
	row := regexp.MustCompile(`ConfigMap \S+/shop +missing +reported\n`)
	check.That(t, row.MatchString(r.stdout), "there is no row for the missing object:\n%s", r.stdout)
	check.That(t, !strings.Contains(r.stdout, "audit log"), "it is in no audit log:\n%s", r.stdout)
}

// A misspelt name is no reason to wait for ever.
func TestStatusWatchOfAnUnknownName(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "kiosk")
	w.CreateHelmRelease("kiosk")
	w.cli("status", "kiosc", "--watch").is(5, "",
		"helm-locker: no HelmRelease in namespace LOCKER is called kiosc, or names a release of that name\n  did you mean kiosk?\n"+
			"  --may-not-exist waits for it\n")
	w.cli("status", "-w", "-n", "no-such-namespace").is(5, "", "helm-locker: namespace \"no-such-namespace\" does not exist\n")
	w.cli("status", "-w", "--policy", "nosuch").says(5, "there is no HelmReleasePolicy \"nosuch\"")
	lines := w.lines("status", "stall", "--watch", "--may-not-exist")
	w.CreateHelmRelease("stall")
	w.expectLine(lines, "TIME  APPS/stall  not looked at: no operator has looked at it yet")
}

// A rule that leaves nothing alone is a mistake, or a leftover: status and check name it.
func TestRulesWithoutEffect(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "kiosk")
	w.CreateHelmRelease("kiosk", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{
			{Paths: []string{"/spec/replicas", "/data/nosuch"}},
			{Paths: []string{"/spec/replcias"}, Target: &v1alpha1.IgnoreTarget{Kind: "Deployment"}},
			{Paths: []string{"/spec/replicas"}, Target: &v1alpha1.IgnoreTarget{Kind: "ConfigMap"}},
		}
	})
	const (
		misspelt = "ignores /spec/replcias, which is no field of its objects; is it /spec/replicas?\n"
		nothing  = "ignores /data/nosuch, which none of its objects declares now\n"
		other    = "ignores /spec/replicas, which none of its objects declares now\n"
	)
	r := w.cli("status", "kiosk")
	check.That(t,
		r.code == 0 &&
			r.stderr == "note: HelmRelease LOCKER/kiosk "+misspelt+"note: HelmRelease LOCKER/kiosk "+nothing+
				"note: HelmRelease LOCKER/kiosk "+other,
		"exit code %d, %s", r.code, r.stderr)
	w.app("check").says(2, "warning  HelmRelease LOCKER/kiosk: it "+misspelt, "note     HelmRelease LOCKER/kiosk: it "+nothing,
		"note     HelmRelease LOCKER/kiosk: it "+other)
	// With scope Strict a rule can be for an addition.
	w.PatchHelmRelease("kiosk", `{"spec":{"scope":"Strict","ignore":[{"paths":["/metadata/labels/mine","/data/nosuch"]}]}}`)
	w.cli("status", "kiosk").says(0, "HelmRelease:  LOCKER/kiosk\n")
	r = w.cli("status", "kiosk")
	check.That(t, r.stderr == "", "%v", r.stderr)
}

// An operator's last status must not look like protection when it no longer runs.
func TestStatusSaysThatNoOperatorRuns(t *testing.T) {
	w := newFixture(t)
	o := kit.StartOperator(t, w.OperatorConfig(), w.Operator, func(o *operator.ControllerOptions) {
		o.LeaderElection = true
	})
	_, err := kit.Shared.Helm4().Run(w.Ctx, "install", "kiosk", w.Chart("shop", shop), "-n", w.Apps)
	check.NoError(t, err)
	w.app("lock", "kiosk", "--wait").says(0, "done: revision 1 is locked")
	if r := w.app("status"); r.stderr != "" {
		t.Errorf("with an operator: %s", r.stderr)
	}
	o.Stop()
	const warning = "warning: no operator LOCKER is running in namespace LOCKER (last seen TIME); " +
		"its releases are not protected now, and their statuses are from then\n"
	for _, args := range [][]string{{"status"}, {"status", "kiosk"}, {"status", "-o", "json"}} {
		r := w.app(args...)
		check.That(t, r.code == 0 && r.stderr == warning, "%v: exit code %d, stderr %s", args, r.code, r.stderr)
	}
	// The state of before is no answer: nothing protects the release now.
	w.app("status", "--no-headers", "-o", "wide").says(0, "  unknown  ", "  OperatorNotRunning  ")
	w.app("status", "--state", "locked").says(0, "no HelmRelease in namespace LOCKER fits\n")
	w.app("status", "--state", "unknown", "-o", "name").says(0, "helmrelease.helm.cattle.io/kiosk\n")
	w.app("status", "kiosk").says(0, "Locked:       unknown", "OperatorNotRunning  ")
	for _, args := range [][]string{{"status", "-o", "json"}, {"report", "-o", "json"}, {"diff", "-o", "json"}} {
		w.app(args...).says(0, `"locked": "unknown"`)
	}
	next := w.lines("status", "-w", "-n", w.Apps)
	w.expectLine(next, "TIME  APPS/kiosk  not looked at: "+strings.TrimSuffix(strings.TrimPrefix(warning, "warning: "), "\n"))
	w.app("lock", "kiosk", "--wait").says(1, "kiosk unchanged",
		"helm-locker: no operator LOCKER is running in namespace LOCKER (last seen TIME)", "  helm-locker check shows more")
	w.waitsForTheNextOperator()
	w.app("suspend", "kiosk", "--wait", "--timeout", "1s").says(1, "waiting for an operator to unlock it\n"+warning)
}

// waitsForTheNextOperator starts an operator while a command waits: its predecessor has just given up the Lease.
func (w *fixture) waitsForTheNextOperator() {
	w.Helper()
	cmd := w.command(w.Ctx, "lock", "kiosk", "--wait", "-n", w.Apps)
	output, err := cmd.StdoutPipe()
	check.NoError(w, err)
	cmd.Stderr = os.Stderr
	check.NoError(w, cmd.Start())
	reader := bufio.NewReader(output)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "kiosk unchanged") {
		w.Fatalf("%q, %v", line, err)
	}
	next := kit.StartOperator(w.TB, w.OperatorConfig(), w.Operator, func(o *operator.ControllerOptions) {
		o.LeaderElection = true
	})
	defer next.Stop()
	_, err = io.Copy(io.Discard, reader)
	check.NoError(w, err)
	check.NoError(w, cmd.Wait())
}

func TestStatusErrors(t *testing.T) {
	w := newFixture(t)
	nobody := w.as("nobody")
	nobody.cli(
		"status",
	).says(1, `verbs: [list], apiGroups: ["helm.cattle.io"], resources: [helmreleases], bound in namespace LOCKER`)
	nobody.cli("status", "-A").says(1, "nobody needs a ClusterRole with verbs: [list]", "bound in the whole cluster")
	nobody.cli("status", "-w").says(1, "verbs: [list]")
}

// Not in parallel with others: the definition is everybody's.
func TestWithoutTheDefinition(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "kiosk")
	check.NoError(t, w.In(kit.Definitions, "").Delete(w.Ctx, "helmreleases.helm.cattle.io", metav1.DeleteOptions{}))
	w.Until("HelmReleases are not served", func() (any, bool) {
		r := w.cli("status")
		return r.stderr, strings.Contains(r.stderr, "not installed")
	})
	for _, args := range [][]string{{"status"}, {"status", "-w"}, {"lock", "kiosk"}, {"unlock", "kiosk"},
		{"suspend", "kiosk"}, {"resume", "kiosk"}} {
		w.app(args...).is(1, "", "helm-locker: the cluster does not know HelmReleases: the CustomResourceDefinition helmreleases.helm.cattle.io is not installed\n"+
			"  install the operator, which brings it: helm install helm-locker charts/helm-locker -n cattle-helm-system --create-namespace\n")
	}
	w.app("inspect", "kiosk").says(0, "Revision:        1\n")
}
