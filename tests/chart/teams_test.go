package chart

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	teams "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

var releaseLocks = teams.SchemeGroupVersion.WithResource(teams.ResourceName)

// newMember returns a user with the ClusterRole edit in a namespace, and with the right to pause there.
func newMember(e *kit.Env, name, namespace string) editor {
	e.Helper()
	e.Bind(namespace, name+"-edit", "ClusterRole/edit", kit.User(name))
	e.Bind(namespace, name+"-pause", "ClusterRole/helm-locker-"+e.Operator+"-teams-pause", kit.User(name))
	can := accessOf(e, name)
	e.Until(name+" may pause", func() (any, bool) {
		return "not yet", can("patch", teams.SchemeGroupVersion.Group, teams.ResourceName, namespace, "shop")
	})
	return editor{e, name, []string{"-n", e.Apps, "patch", "releaselock"}}
}

// releaseLock returns the ReleaseLock of a release; nil for none.
func releaseLock(e *kit.Env, name string) *teams.ReleaseLock {
	e.Helper()
	u, err := e.In(releaseLocks, e.Apps).Get(e.Ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	rl := &teams.ReleaseLock{}
	check.NoError(e, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, rl))
	return rl
}

// waitLock waits until the ReleaseLock of release shop is as wanted.
func waitLock(e *kit.Env, what string, holds func(*teams.ReleaseLock) bool) *teams.ReleaseLock {
	e.Helper()
	var rl *teams.ReleaseLock
	e.Until(what, func() (any, bool) {
		rl = releaseLock(e, "shop")
		return rl, rl != nil && holds(rl)
	})
	return rl
}

// pause returns the patch of a pause. Its time has a fraction of a second, which a status does not keep.
func pause(user string, until time.Time) string {
	return fmt.Sprintf(`{"spec":{"pausedUntil":%q,"reason":"INC-42","by":%q}}`, until.UTC().Format(time.RFC3339Nano), user)
}

// teamsValues returns chart values with the process for teams.
func teamsValues(t *testing.T) string {
	return fmt.Sprintf("{teams: {enabled: true, longestPause: 30m, ports: {metrics: %d, health: %d}}}", freePort(t),
		freePort(t))
}

// startTeams installs the chart with the process for teams, and locks release shop, with an object in its namespace
// and one in the other namespace. It returns that namespace and the operator.
func startTeams(t *testing.T) (e *kit.Env, other string, operator *deployed) {
	e = newEnv(t)
	install(e, kit.Shared.Helm4(), freePorts(t), teamsValues(t))
	operator = startDeployment(e, kit.Shared, "helm-locker")
	startDeployment(e, kit.Shared, "helm-locker-teams")
	other = e.Namespace(e.Apps + "-other")
	elsewhere := strings.Replace(kit.ConfigMap("shop-elsewhere", "1"), "{name:", "{namespace: "+other+", name:", 1)
	e.Installed(kit.Shared.Helm4(), "shop", kit.ConfigMap("shop", "1")+elsewhere)
	waitLock(e, "the ReleaseLock shows the lock", func(rl *teams.ReleaseLock) bool {
		return meta.IsStatusConditionTrue(rl.Status.Conditions, v1alpha1.ConditionLocked)
	})
	return e, other, operator
}

// A member of a namespace reads and pauses its locks, in nobody else's name, for a bounded time, and gets no other
// right.
func TestTeamsPauseTheirOwnLocks(t *testing.T) {
	e, _, _ := startTeams(t)
	alice := newMember(e, "alice-"+e.Apps, e.Apps)
	stranger := newMember(e, "stranger-"+e.Apps, e.Namespace(e.Apps+"-strangers"))
	far := time.Now().Add(48 * time.Hour)

	out, err := alice.run("kubectl", "-n", e.Apps, "get", "releaselocks")
	check.That(t, err == nil && strings.Contains(out, "shop") && strings.Contains(out, "Deployed"),
		"kubectl get releaselocks: %v\n%s", err, out)
	if out, err := stranger.patch("shop", pause(stranger.name, far)); err == nil {
		t.Errorf("a stranger may pause: %s", out)
	}
	alice.denied("shop", pause("bob", far), "set spec.by to "+alice.name)
	alice.denied("shop", fmt.Sprintf(`{"spec":{"pausedUntil":%q}}`, far.UTC().Format(time.RFC3339)),
		"a pause needs a reason")
	for _, args := range [][]string{
		{"get", "helmreleases", "-n", e.Operator},
		{"patch", "helmrelease", "shop", "-n", e.Operator, "--type=merge", "--patch={}"},
		{"patch", "releaselock", "shop", "-n", e.Apps, "--subresource=status", "--type=merge", "--patch={}"},
		{"delete", "releaselock", "shop", "-n", e.Apps},
	} {
		out, err := alice.run("kubectl", args...)
		check.That(t, err != nil && strings.Contains(strings.ToLower(out), "forbidden"), "kubectl %s: %v\n%s",
			strings.Join(args, " "), err, out)
	}

	alice.allowed("shop", pause(alice.name, far))
	rl := waitLock(e, "the pause is granted", func(rl *teams.ReleaseLock) bool { return rl.Status.Pause != nil })
	granted := rl.Status.Pause
	check.Must(t,
		granted.Until != nil && time.Until(granted.Until.Time) <= 30*time.Minute &&
			granted.Message == "the platform team allows no later end", "the answer: %+v", granted)
	hr := e.HelmRelease("shop")
	check.That(t,
		hr.Spec.SuspendUntil != nil && hr.Spec.SuspendUntil.Equal(granted.Until) &&
			hr.Annotations[v1alpha1.SuspendedByAnnotation] == alice.name &&
			hr.Annotations[v1alpha1.SuspendReasonAnnotation] == "INC-42", "the HelmRelease: %+v %v", hr.Spec, hr.Annotations)
	e.WaitReason("shop", v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
	e.Patch(kit.ConfigMaps, "shop", `{"data":{"key":"mine"}}`)

	// The platform team ends the pause; the ReleaseLock still asks for it, and does not begin it again.
	e.PatchHelmRelease("shop", `{"spec":{"suspendUntil":null}}`)
	e.WaitField(kit.ConfigMaps, "shop", "data.key", "1")
	rl = waitLock(e, "the pause has ended", func(rl *teams.ReleaseLock) bool { return rl.Status.Pause.Until == nil })
	check.Equal(t, rl.Status.Pause.Message, "ended by the platform team", "the answer: %+v", rl.Status.Pause)

	// A suspension of the platform team stays, whatever the ReleaseLock asks for.
	e.PatchHelmRelease("shop", `{"spec":{"suspend":true}}`)
	alice.allowed("shop", pause(alice.name, far.Add(time.Hour)))
	waitLock(e, "no pause is begun", func(rl *teams.ReleaseLock) bool {
		return rl.Status.Pause.Message == "the platform team has paused it already, without an end"
	})
	alice.allowed("shop", `{"spec":{"pausedUntil":null}}`)
	waitLock(e, "the answer is gone", func(rl *teams.ReleaseLock) bool { return rl.Status.Pause == nil })
	check.That(t, e.HelmRelease("shop").Spec.Suspend, "a ReleaseLock has ended a suspension of the platform team")

	out, err = alice.run("kubectl", "-n", e.Apps, "describe", "releaselock", "shop")
	for _, want := range []string{"paused by " + alice.name + " until ", "INC-42; the platform team allows no later end",
		"no longer paused: ended by the platform team", "not paused: the platform team has paused it already"} {
		check.That(t, err == nil && strings.Contains(out, want), "kubectl describe: %v, want %q:\n%s", err, want, out)
	}

	e.DeleteHelmRelease("shop")
	e.Until("the ReleaseLock is gone", func() (any, bool) { rl := releaseLock(e, "shop"); return rl, rl == nil })
	expectNoMore(e, "helm-locker-teams")
}

// A ReleaseLock shows the changes of objects in its own namespace, with events on the objects, and none of another. It
// shows no lock while the operator is stopped.
func TestTeamsSeeTheirOwnDrift(t *testing.T) {
	e, other, operator := startTeams(t)
	e.PatchIn(kit.ConfigMaps, other, "shop-elsewhere", `{"data":{"key":"theirs"}}`)
	e.WaitFieldIn(kit.ConfigMaps, other, "shop-elsewhere", "data.key", "1")
	e.Patch(kit.ConfigMaps, "shop", `{"data":{"key":"mine"}}`)
	e.WaitField(kit.ConfigMaps, "shop", "data.key", "1")
	rl := waitLock(e, "the ReleaseLock shows the drift", func(rl *teams.ReleaseLock) bool {
		return len(rl.Status.RecentDrift) > 0
	})
	got := len(e.HelmRelease("shop").Status.RecentDrift)
	check.Must(t, got == 2, "the HelmRelease has %d entries, want 2", got)
	check.That(t,
		len(rl.Status.RecentDrift) == 1 && rl.Status.RecentDrift[0].Object.Name == "shop" &&
			rl.Status.RecentDrift[0].Paths[0] == "/data/key", "drift: %+v", rl.Status.RecentDrift)
	text := fmt.Sprintf("%+v", rl.Status)
	check.That(t, !strings.Contains(text, other) && !strings.Contains(text, "elsewhere"),
		"the status names objects of another namespace: %s", text)

	operator.stop()
	rl = waitLock(e, "the ReleaseLock shows the end of the operator", func(rl *teams.ReleaseLock) bool {
		return !meta.IsStatusConditionTrue(rl.Status.Conditions, v1alpha1.ConditionLocked)
	})
	locked := meta.FindStatusCondition(rl.Status.Conditions, v1alpha1.ConditionLocked)
	check.That(t,
		locked.Reason == teams.ReasonOperatorNotRunning && strings.Contains(locked.Message, "is not protected now"),
		"without an operator: %+v", locked)
	startDeployment(e, kit.Shared, "helm-locker")
	waitLock(e, "the ReleaseLock shows the lock again", func(rl *teams.ReleaseLock) bool {
		return meta.IsStatusConditionTrue(rl.Status.Conditions, v1alpha1.ConditionLocked)
	})
}

// The command line pauses and resumes by the ReleaseLock where the user may not list HelmReleases.
func TestTeamsPauseByTheCommandLine(t *testing.T) {
	e, _, _ := startTeams(t)
	alice := newMember(e, "alice-"+e.Apps, e.Apps)
	cli := func(args ...string) (string, error) {
		t.Helper()
		return alice.run(process.CLI(binary), append(args, "-n", e.Apps)...)
	}
	for _, tc := range []struct {
		args  []string
		fails bool
		want  string
	}{
		{[]string{"suspend", "shop", "--reason", "INC-1"}, true, "a pause by a ReleaseLock has an end: set --for or --until"},
		{[]string{"suspend", "shop", "--for", "10m"}, true, "a pause by a ReleaseLock has a reason: set --reason"},
		{[]string{"suspend", "ship", "--for", "10m", "--reason", "INC-1"}, true,
			"the platform team can give you a ReleaseLock in namespace " + e.Apps},
		{[]string{"suspend", "shop", "--for", "10m", "--reason", "INC-1"}, false,
			"release " + e.Apps + "/shop is paused until "},
		{[]string{"suspend", "shop", "--for", "5h", "--reason", "INC-1"}, false, ": the platform team allows no later end"},
		{[]string{"resume", "shop"}, false, "release " + e.Apps + "/shop resumed"},
	} {
		out, err := cli(tc.args...)
		check.That(t, (err != nil) == tc.fails && strings.Contains(out, tc.want), "%s: %v, want %q:\n%s",
			strings.Join(tc.args, " "), err, tc.want, out)
	}
	e.Until("the release is locked again", func() (any, bool) {
		hr := e.HelmRelease("shop")
		return hr.Spec, hr.Spec.SuspendUntil == nil && hr.Annotations[v1alpha1.SuspendedByAnnotation] == ""
	})

	if out, err := cli("suspend", "shop", "--for", "20m", "--reason", "INC-2"); err != nil {
		t.Fatalf("suspend: %v\n%s", err, out)
	}
	e.WaitReason("shop", v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
	e.Patch(kit.ConfigMaps, "shop", `{"data":{"key":"mine"}}`)
	out, err := cli("resume", "shop")
	check.That(t, err != nil && (strings.Contains(out, "data.key") || strings.Contains(out, "/data/key")),
		"resume without --yes: %v, want the drift that is reverted:\n%s", err, out)
	out, err = cli("resume", "shop", "--yes")
	check.That(t, err == nil, "resume: %v\n%s", err, out)
	e.WaitField(kit.ConfigMaps, "shop", "data.key", "1")
}

// The rules of a policy count for the pauses of teams, with the name of the member who asks.
func TestTeamsPauseByTheRulesOfThePolicy(t *testing.T) {
	e := newEnv(t)
	install(e, kit.Shared.Helm4(), freePorts(t), teamsValues(t))
	startDeployment(e, kit.Shared, "helm-locker")
	startDeployment(e, kit.Shared, "helm-locker-policies")
	startDeployment(e, kit.Shared, "helm-locker-teams")
	e.Helm(kit.Shared.Helm4(), "install", "shop", e.Chart("shop", kit.ConfigMap("shop", "1")))
	name := createPausePolicy(e, "shop")
	alice := newMember(e, "alice-"+e.Apps, e.Apps)
	soon := time.Now().Add(10 * time.Minute)
	waitLock(e, "the ReleaseLock shows the lock", func(rl *teams.ReleaseLock) bool {
		return rl.Status.HelmRelease != nil
	})
	alice.allowed("shop", strings.Replace(pause(alice.name, soon), "INC-42", "because", 1))
	rl := waitLock(e, "the pause is refused", func(rl *teams.ReleaseLock) bool { return rl.Status.Pause != nil })
	const refusal = "policy teams asks for a reason that matches"
	p := rl.Status.Pause
	check.That(t, p.Until == nil && strings.Contains(p.Message, refusal), "the answer: %+v", p)
	alice.allowed("shop", pause(alice.name, soon.Add(time.Minute)))
	waitLock(e, "the pause is granted", func(rl *teams.ReleaseLock) bool { return rl.Status.Pause.Until != nil })
	check.Equal(t, e.HelmRelease(name).Annotations[v1alpha1.SuspendedByAnnotation], alice.name, "the pause is by")
}
