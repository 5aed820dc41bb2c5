package chart

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// editor is a user who may change the HelmReleases of the operator's namespace, or the ReleaseLocks of another one.
type editor struct {
	*kit.Env
	name    string
	patches []string // arguments of kubectl for a patch of one
}

func newEditor(e *kit.Env, name string) editor {
	e.Helper()
	e.Bind(e.Operator, name, "ClusterRole/edit", kit.User(name))
	can := accessOf(e, name)
	e.Until(name+" may change HelmReleases", func() (any, bool) {
		return "not yet", can("patch", "helm.cattle.io", "helmreleases", e.Operator, "x")
	})
	return editor{e, name, []string{"-n", e.Operator, "patch", "helmrelease"}}
}

// run runs a program as the user, and returns its output.
func (u editor) run(program string, args ...string) (string, error) {
	u.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(u.Ctx, program, append(args, "--as="+u.name)...)
	cmd.Env = []string{"HOME=" + u.TempDir(), "KUBECONFIG=" + kit.Shared.Kubeconfig(),
		"HELM_LOCKER_NAMESPACE=" + u.Operator}
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// patch patches one of the objects by kubectl.
func (u editor) patch(name, patch string) (string, error) {
	u.Helper()
	return u.run("kubectl", append(slices.Clone(u.patches), name, "--type=merge", "--patch", patch)...)
}

func (u editor) denied(name, patch, want string) {
	u.Helper()
	if out, err := u.patch(name, patch); err == nil || !strings.Contains(out, want) {
		u.Errorf("patch %s by %s: %v, want a denial with %q:\n%s", patch, u.name, err, want, out)
	}
}

func (u editor) allowed(name, patch string) {
	u.Helper()
	if out, err := u.patch(name, patch); err != nil {
		u.Errorf("patch %s by %s: %v\n%s", patch, u.name, err, out)
	}
}

// pausedBy returns the patch of a pause.
func pausedBy(user, reason, spec string) string {
	return `{"metadata":{"annotations":{"` + v1alpha1.SuspendedByAnnotation + `":"` + user + `","` +
		v1alpha1.SuspendReasonAnnotation + `":"` + reason + `"}},"spec":{` + spec + `}}`
}

// createPausePolicy makes a policy with rules for pauses, and returns the name of its HelmRelease for a release.
func createPausePolicy(e *kit.Env, release string) string {
	e.Helper()
	name := e.CreatePolicy("teams", release, fmt.Sprintf(`match: {releases: [%s], namespaces: [%s]}
template: {metadata: {labels: {tier: front}}}
pauses: {maxDuration: 4h, requireReason: '^(INC|CHG)-\d+', forbidOpenEnd: true}`, release, e.Apps))
	e.WaitReady(name, 1)
	return name
}

// A policy has rules for pauses. The API server holds users to them, whichever way they pause, and knows who it was.
func TestPausesFollowTheRulesOfThePolicy(t *testing.T) {
	e := newEnv(t)
	install(e, kit.Shared.Helm4(), freePorts(t))
	startDeployment(e, kit.Shared, "helm-locker")
	startDeployment(e, kit.Shared, "helm-locker-policies")
	e.Helm(kit.Shared.Helm4(), "install", "shop", e.Chart("shop", kit.ConfigMap("shop", "1")))
	name := createPausePolicy(e, "shop")
	alice, bob := newEditor(e, "alice-"+e.Apps), newEditor(e, "bob-"+e.Apps)
	soon := `"suspendUntil":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"`

	e.Until("the API server has the policy", func() (any, bool) {
		out, err := alice.run("kubectl", append(slices.Clone(alice.patches), name, "--type=merge", "--patch",
			`{"spec":{"suspend":true}}`, "--dry-run=server")...)
		return out, err != nil
	})
	alice.denied(name, pausedBy(alice.name, "INC-42", `"suspend":true`),
		"policy teams forbids a pause without an end: set spec.suspendUntil, not spec.suspend")
	alice.denied(name, pausedBy(alice.name, "because", soon), `policy teams asks for a reason that matches ^(INC|CHG)-\d+`)
	alice.denied(name, `{"spec":{`+soon+`}}`, "asks for a reason")
	alice.denied(name, pausedBy(bob.name, "INC-42", soon), v1alpha1.SuspendedByAnnotation+": "+alice.name)
	const sets = "policy teams sets all fields but suspendUntil, suspend, ignore and acceptedRecord"
	alice.denied(name, `{"spec":{"mode":"Detect"}}`, sets)
	alice.denied(name, `{"spec":{"serviceAccountName":"nobody"}}`, sets)
	alice.denied(name, `{"spec":{"scope":"Strict"}}`, sets)
	alice.denied(name, `{"metadata":{"annotations":{"`+v1alpha1.ManagedByAnnotation+`":"another"}}}`, "only helm-locker")
	alice.denied(name, `{"metadata":{"annotations":{"`+v1alpha1.EnforcedSinceAnnotation+`":"x"}}}`, "only helm-locker")
	alice.denied(name, `{"metadata":{"labels":{"tier":null}}}`, "the labels of the template are set by policy teams")
	alice.denied(name, `{"spec":{"windows":[{"schedule":"0 0 * * *","duration":"1h"}]}}`, sets)
	alice.denied(name, `{"spec":{"ignore":[{"paths":[""]}]}}`, "needs an end (until)")
	alice.denied(name, `{"spec":{"ignore":[{"paths":[""],"until":"2099-01-01T00:00:00Z"}]}}`,
		"in reason of each ignore rule")
	alice.denied(name, `{"spec":{"ignore":[{"paths":[""],"until":"2099-01-01T00:00:00Z","reason":"INC-1","by":"carol"}]}}`,
		"asks for the user, in by of each ignore rule: "+alice.name)
	alice.denied(name, `{"metadata":{"labels":{"`+v1alpha1.PolicyLabel+`":null}}}`, "belongs to policy teams")
	alice.denied(name, `{"metadata":{"ownerReferences":null}}`, "belongs to policy teams")

	alice.allowed(name, `{"metadata":{"labels":{"team":"web"}}}`)
	alice.allowed(name, pausedBy(alice.name, "INC-42", soon))
	bob.denied(name, `{"metadata":{"annotations":{"`+v1alpha1.SuspendReasonAnnotation+`":"no more"}}}`,
		"asks for a reason")
	bob.denied(name, `{"metadata":{"annotations":{"`+v1alpha1.SuspendedByAnnotation+`":"carol"}}}`, bob.name)
	bob.allowed(name, `{"spec":{"suspendUntil":null}}`)

	expectPausesShortened(t, alice, name)

	const unchecked = "the API server does not check its rules for pauses"
	checks := func() string {
		t.Helper()
		out, err := alice.run(process.CLI(binary), "check", "--as-group=system:masters")
		if err != nil && !strings.Contains(out, "HelmReleasePolicies") { // other findings may be errors
			t.Fatalf("check: %v\n%s", err, out)
		}
		return out
	}
	out := checks()
	check.That(t, !strings.Contains(out, unchecked), "check:\n%s", out)
	install(e, kit.Shared.Helm4(), freePorts(t), "{policies: {checkPauses: false}}")
	out = checks()
	check.That(t, strings.Contains(out, unchecked), "check without the ValidatingAdmissionPolicy:\n%s", out)
}

// expectPausesShortened expects the command line to refuse a pause that is too long, and the process of policies to
// shorten one.
func expectPausesShortened(t *testing.T, u editor, name string) {
	t.Helper()
	out, err := u.run(process.CLI(binary), "suspend", "shop", "-n", u.Apps, "--for", "5h", "--reason", "INC-43")
	check.That(t, err != nil && strings.Contains(out, "HelmReleasePolicy teams allows pauses of at most 4h"),
		"a pause of 5 hours: %v\n%s", err, out)
	out, err = u.run(process.CLI(binary), "suspend", "shop", "-n", u.Apps, "--for", "1h")
	check.That(t,
		err != nil && strings.Contains(out, "asks for a reason") && strings.HasSuffix(out, "\n  give it by --reason TEXT\n"),
		"a pause without a reason: %v\n%s", err, out)
	out, err = u.run(process.CLI(binary), "suspend", "shop", "-n", u.Apps, "--for", "4h", "--reason", "INC-43", "--wait")
	check.That(t, err == nil, "a pause of 4 hours: %v\n%s", err, out)
	out, err = u.run(process.CLI(binary), "status", "shop", "-n", u.Apps)
	check.That(t, err == nil && strings.Contains(out, "(INC-43), by "+u.name), "status: %v\n%s", err, out)
	u.allowed(name, pausedBy(u.name, "INC-44", `"suspendUntil":"2099-01-01T00:00:00Z"`))
	u.Until("the pause is shortened", func() (any, bool) {
		until := u.HelmRelease(name).Spec.SuspendUntil
		return until, until != nil && time.Until(until.Time) < 4*time.Hour+time.Minute
	})
	u.Until("the policy has an event", func() (any, bool) {
		events, err := u.Kube.CoreV1().Events(u.Operator).List(u.Ctx, metav1.ListOptions{})
		check.NoError(t, err)
		var texts []string
		for i := range events.Items {
			texts = append(texts, events.Items[i].Message)
		}
		all := strings.Join(texts, "\n")
		return all, strings.Contains(all, "1 HelmRelease changed (a pause ends earlier, by spec.pauses.maxDuration)")
	})
	// What a user adds to the rules ends, too.
	u.allowed(name, `{"spec":{"ignore":[{"paths":["/data"],"until":"2099-01-01T00:00:00Z","reason":"CHG-1","by":"`+
		u.name+`"}]}}`)
	u.Until("the rule is shortened", func() (any, bool) {
		rules := u.HelmRelease(name).Spec.Ignore
		return rules, len(rules) == 1 && time.Until(rules[0].Until.Time) < 4*time.Hour+time.Minute
	})
}
