package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// noon is the current time of the tests.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func helmRelease(name string, change func(*v1alpha1.HelmRelease)) *v1alpha1.HelmRelease {
	hr := &v1alpha1.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "locker", Name: name, UID: types.UID("uid of " + name),
			CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))},
		Spec: v1alpha1.HelmReleaseSpec{
			Release:    v1alpha1.ReleaseReference{Namespace: "apps", Name: name},
			Protection: v1alpha1.Protection{Mode: v1alpha1.ModeEnforce, Scope: v1alpha1.ScopeDeclared},
		},
	}
	if change != nil {
		change(hr)
	}
	return hr
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(noon.Add(-5 * time.Minute))}
}

func lockedRelease(hr *v1alpha1.HelmRelease) {
	hr.Annotations = map[string]string{v1alpha1.ManagedByAnnotation: "helm-locker"}
	hr.Status = v1alpha1.HelmReleaseStatus{
		State: v1alpha1.StateDeployed, Version: 3, Revision: 3, Notes: "the password is " + marker,
		Objects: v1alpha1.ObjectCounts{Tracked: 4},
		Conditions: []metav1.Condition{
			condition("Ready", metav1.ConditionTrue, "Locked", "revision 3 locked: 4 objects\x1b[2J"),
			condition("Locked", metav1.ConditionTrue, "Locked", "protected"),
		},
	}
}

func record(at time.Duration, action v1alpha1.DriftAction, change func(*v1alpha1.DriftRecord)) v1alpha1.DriftRecord {
	r := v1alpha1.DriftRecord{
		Time: metav1.NewMicroTime(noon.Add(at)), Operation: v1alpha1.DriftModified, Action: action,
		Paths:        []string{"/spec/replicas"},
		Object:       v1alpha1.DriftedObject{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: "web"},
		FieldManager: "kubectl-scale",
		Subresource:  "scale", Duration: &metav1.Duration{Duration: 12345 * time.Microsecond},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func troubled(hr *v1alpha1.HelmRelease) {
	lockedRelease(hr)
	hr.Spec.Scope = v1alpha1.ScopeStrict
	hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/spec/replicas"}, Managers: []string{"keda-*"},
		Target: &v1alpha1.IgnoreTarget{Kind: "Deployment", Name: "web.*"}}}
	hr.Status.Objects = v1alpha1.ObjectCounts{Tracked: 4, Drifted: 1, Contended: 1, Unmanaged: 2}
	hr.Status.Conditions = append(hr.Status.Conditions,
		condition("Contended", metav1.ConditionTrue, "FightDetected", "ConfigMap apps/web is changed again and again"))
	hr.Status.RecentDrift = []v1alpha1.DriftRecord{
		record(-time.Second, v1alpha1.DriftActionRefused, func(r *v1alpha1.DriftRecord) {
			r.Paths, r.MorePaths = []string{"/a", "/metadata/labels/example.com~1\x1b[31m", "/c", "/d"}, 2
			r.FieldManager, r.Subresource, r.Duration = "evil\x1b[2J\nmanager", "", nil
		}),
		record(-time.Minute, v1alpha1.DriftActionRecreated, func(r *v1alpha1.DriftRecord) {
			r.Operation, r.Paths, r.FieldManager, r.Subresource = v1alpha1.DriftDeleted, nil, "", ""
		}),
		record(-time.Hour, v1alpha1.DriftActionReverted, nil),
	}
	hr.Status.Exceptions = []v1alpha1.Exception{{
		Object: v1alpha1.DriftedObject{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: "web"},
		Reason: v1alpha1.ExceptionAutoscaled,
		Paths:  []string{"/spec/replicas"}, Message: "2 to 5",
	}}
	hr.Status.MoreExceptions = 3
}

func TestStatusTable(t *testing.T) {
	const attention = `
NEEDS ATTENTION  WHY                          WHAT TO DO
apps/new         no operator has taken it up  an operator takes up the HelmReleases of its own namespace: move it there, or run one in namespace locker
`
	releases := []*v1alpha1.HelmRelease{
		helmRelease("web", lockedRelease), helmRelease("cache", troubled), helmRelease("new", nil),
		helmRelease("paused", func(hr *v1alpha1.HelmRelease) {
			lockedRelease(hr)
			hr.Spec.Suspend = true
			hr.Status.Revision = 0
			hr.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionTrue, "Suspended",
				"by spec.suspend"), condition("Locked", metav1.ConditionFalse, "Suspended", "")}
			hr.Status.Conditions[1].LastTransitionTime = metav1.NewTime(noon.Add(-time.Minute))
		}),
	}
	for name, tc := range map[string]struct {
		options tableOptions
		want    string
	}{
		"plain": {tableOptions{}, `
NAME    RELEASE      REV  LOCKED     DRIFTED  RECENT  CONTENDED  SINCE  STATE     REASON
web     apps/web     3    yes        0/4      0       0          5m     Deployed  Locked
cache   apps/cache   3    yes        1/4      3       1          5m     Deployed  Locked
new     apps/new     -    unknown    -        0       0          60m
paused  apps/paused  3    suspended  0/4      0       0          60s    Deployed  Suspended
` + attention},
		"narrow": {tableOptions{width: 62}, `
NAME    RELEASE      REV  LOCKED     DRIFTED  SINCE  REASON
web     apps/web     3    yes        0/4      5m     Locked
cache   apps/cache   3    yes        1/4      5m     Locked
new     apps/new     -    unknown    -        60m
paused  apps/paused  3    suspended  0/4      60s    Suspended
` + attention},
		"too narrow": {tableOptions{width: 40}, `
NAME    RELEASE      LOCKED     DRIFTED
web     apps/web     yes        0/4
cache   apps/cache   yes        1/4
new     apps/new     unknown    -
paused  apps/paused  suspended  0/4
` + attention},
		"rows alone": {tableOptions{rowsAlone: true}, `
web     apps/web     3  yes        0/4  0  0  5m   Deployed  Locked
cache   apps/cache   3  yes        1/4  3  1  5m   Deployed  Locked
new     apps/new     -  unknown    -    0  0  60m
paused  apps/paused  3  suspended  0/4  0  0  60s  Deployed  Suspended
`},
		"wide": {tableOptions{wide: true, namespaces: true}, `
NAMESPACE  NAME    RELEASE      REV  LOCKED     DRIFTED  RECENT  CONTENDED  SINCE  STATE     REASON     MODE     SCOPE     MESSAGE
locker     web     apps/web     3    yes        0/4      0       0          5m     Deployed  Locked     Enforce  Declared  revision 3 locked: 4 objects\x1b[2J
locker     cache   apps/cache   3    yes        1/4      3       1          5m     Deployed  Locked     Enforce  Strict    revision 3 locked: 4 objects\x1b[2J
locker     new     apps/new     -    unknown    -        0       0          60m                         Enforce  Declared  no operator has looked at it yet
locker     paused  apps/paused  3    suspended  0/4      0       0          60s    Deployed  Suspended  Enforce  Declared  by spec.suspend
` + attention},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.now = noon
			got := "\n" + statusTable(releases, tc.options)
			check.That(t, got == tc.want, "got%s\nwant%s", got, tc.want)
		})
	}
}

func TestStatusDetailsTellTheWindow(t *testing.T) {
	hr := helmRelease("web", lockedRelease)
	hr.Status.Window = &v1alpha1.WindowStatus{Start: metav1.NewTime(noon), End: metav1.NewTime(noon.Add(time.Hour))}
	before := statusDetails(hr, tableOptions{now: noon.Add(-time.Second)})
	check.That(t, strings.Contains(before, "Next window:  2026-01-02T12:00:00Z to 2026-01-02T13:00:00Z\n"), "%v", before)
	hr.Status.Conditions, hr.Status.Revision = []metav1.Condition{
		condition("Ready", metav1.ConditionTrue, "InWindow", ""),
		condition("Locked", metav1.ConditionFalse, "InWindow", "")}, 0
	open := statusDetails(hr, tableOptions{now: noon})
	check.That(t,
		strings.Contains(open, "suspended until 2026-01-02T13:00:00Z (spec.windows)\n") &&
			!strings.Contains(open, "Next window"), "%v", open)
}

func TestStatusDetails(t *testing.T) {
	want := `
HelmRelease:  locker/cache
Release:      apps/cache
State:        Deployed, revision 3
Locked:       yes, revision 3
Mode:         Enforce
Scope:        Strict
Managed by:   helm-locker
Objects:      4 tracked, 1 drifted, 1 contended, 0 waiting, 2 unmanaged
Ignored:      /spec/replicas, what is written by keda-*, in objects with kind Deployment, name web.*

CONDITION  STATUS  REASON         SINCE  MESSAGE
Ready      True    Locked         5m     revision 3 locked: 4 objects\x1b[2J
Locked     True    Locked         5m     protected
Contended  True    FightDetected  5m     ConfigMap apps/web is changed again and again

DRIFT                 OBJECT                    WHAT                                                                                      OUTCOME
2026-01-02T11:00:00Z  Deployment.apps apps/web  spec.replicas changed by kubectl-scale (scale)                                            reverted after 12.3ms
2026-01-02T11:59:00Z  Deployment.apps apps/web  deleted                                                                                   recreated after 12.3ms
2026-01-02T11:59:59Z  Deployment.apps apps/web  a, metadata.labels["example.com/\x1b[31m"], c and 3 more changed by evil\x1b[2J\nmanager  refused

The API server's audit log knows the user. For the last drift:
  jq -r 'select(.stage == "ResponseComplete" and (.verb | IN("create", "update", "patch", "delete", "deletecollection")) and (.objectRef.apiGroup // "") == "apps" and (.objectRef.namespace // "") == "apps" and (.objectRef.name | IN("web", null)) and .requestReceivedTimestamp >= "2026-01-02T11:58:59Z" and .requestReceivedTimestamp <= "2026-01-02T12:00:59Z") | [.requestReceivedTimestamp, .user.username, .impersonatedUser.username, .verb, .objectRef.resource, .userAgent] | @tsv' audit.log

LEFT ALONE                REASON      FIELDS         MESSAGE
Deployment.apps apps/web  Autoscaled  spec.replicas  2 to 5
and 3 more
`
	got := "\n" + statusDetails(helmRelease("cache", troubled), tableOptions{now: noon})
	check.That(t, got == want, "got%s\nwant%s", got, want)
}

func TestStatusAsJSONHasNoNotes(t *testing.T) {
	text, err := encode([]statusOut{statusOf(helmRelease("web", lockedRelease), noon)}, formatJSON)
	check.That(t,
		err == nil && !strings.Contains(text, marker) && !strings.Contains(text, "\x1b") &&
			strings.Contains(text, `"locked": "yes"`), "%v\n%s", err, text)
}

// Expected writers are printed, and an unexpected one, or an operator that sees none, is found by check.
func TestStatusNamesExpectedWriters(t *testing.T) {
	hr := helmRelease("web", lockedRelease)
	hr.Spec.ExpectedWriters = []v1alpha1.GuardSubject{{Kind: "Group", Name: "deployers"}}
	text := statusHead(hr, tableOptions{now: noon})
	check.That(t, strings.Contains(text, "Expected writer:  Group deployers\n"), "%v", text)
	set := func(status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionExpectedWriter,
			Status: status, Reason: reason, Message: message})
	}
	set(metav1.ConditionTrue, v1alpha1.ReasonExpectedWriter, "revision 7 was stored by user ci")
	f := lockFinding(hr, noon)
	check.That(t, f.Level == levelOK && len(blindFindings(hr)) == 0, "check finds %+v", f)
	set(metav1.ConditionFalse, v1alpha1.ReasonUnexpectedWriter, "revision 8 was stored by user alice")
	f = lockFinding(hr, noon)
	check.That(t, f.Level == levelWarning && strings.Contains(f.Message, "by user alice"), "check finds %+v", f)
	enforced, why := isEnforced(hr)
	check.That(t, !enforced && strings.Contains(why, "by user alice"), "accept waits: %t, %s", !enforced, why)
	set(metav1.ConditionUnknown, v1alpha1.ReasonGuardNotServed, "not seen")
	found := blindFindings(hr)
	check.That(t, len(found) == 1 && found[0].Advice == expectingTakesTrust, "check finds %+v", found)
}

// blindFindings returns the findings about writers that the operator does not see.
func blindFindings(hr *v1alpha1.HelmRelease) []finding {
	return slices.DeleteFunc(trustFindings([]*v1alpha1.HelmRelease{hr}), func(f finding) bool {
		return !strings.Contains(f.Message, "spec.expectedWriters")
	})
}

// A guard that is not in force must not look as if it were.
func TestStatusTellsOfTheGuard(t *testing.T) {
	hr := &v1alpha1.HelmRelease{Spec: v1alpha1.HelmReleaseSpec{Protection: v1alpha1.Protection{
		Guard: v1alpha1.GuardDeny,
		GuardExempt: []v1alpha1.GuardSubject{{Kind: "User", Name: "alice"},
			{Kind: "ServiceAccount", Namespace: "ci", Name: "deployer"}}}}}
	hr.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue},
		{Type: v1alpha1.ConditionGuarded, Status: metav1.ConditionFalse, Message: "no certificate"}}
	for _, want := range []string{"Deny, not in force\n", "User alice\n", "ServiceAccount ci/deployer\n"} {
		text := statusHead(hr, tableOptions{now: time.Now()})
		check.That(t, strings.Contains(text, want), "%q is not in\n%s", want, text)
	}
	f := lockFinding(hr, time.Now())
	check.That(t, f.Level == levelWarning && strings.Contains(f.Message, "no certificate"), "check finds %+v", f)
	hr.Status.Conditions[1].Status = metav1.ConditionTrue
	text := statusHead(hr, tableOptions{now: time.Now()})
	check.That(t, !strings.Contains(text, "not in force"), "%v", text)
	f = lockFinding(hr, time.Now())
	check.That(t, f.Level == levelOK, "check finds %+v", f)
	hr.Spec.Guard, hr.Status.Conditions = v1alpha1.GuardOff, hr.Status.Conditions[:1]
	text = statusHead(hr, tableOptions{now: time.Now()})
	check.That(t, !strings.Contains(text, "Guard"), "%v", text)
}
