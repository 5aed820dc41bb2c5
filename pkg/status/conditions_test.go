package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func configMap(name string) manifest.ID {
	return manifest.ID{Kind: "ConfigMap", Namespace: "apps", Name: name}
}

// lockedView is a release of four objects, locked and without drift.
func lockedView(change func(*View)) *View {
	v := &View{
		Facts: Facts{Decision: lock.Decision{Lock: true, State: v1alpha1.StateDeployed, Reason: v1alpha1.ReasonLocked,
			Message: "deployed"}},
		Lock: lock.New(&lock.Lock{Record: release.Record{Revision: 7}}, nil),
		Sum:  lock.Summary{ObjectCounts: v1alpha1.ObjectCounts{Tracked: 4}},
	}
	if change != nil {
		change(v)
	}
	return v
}

func unlockedView(reason, message string) *View {
	return &View{Facts: Facts{Decision: lock.Decision{Reason: reason, Message: message}}}
}

func withProblem(reason, message string, drifted bool) func(*View) {
	return func(v *View) {
		v.Sum.Problems = append(v.Sum.Problems, lock.ObjectProblem{ID: configMap("a"),
			Problem: lock.Problem{Reason: reason, Message: message, Drifted: drifted}})
		if drifted {
			v.Sum.Drifted++
		}
	}
}

func TestConditions(t *testing.T) {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	type want struct {
		ready           metav1.ConditionStatus
		reason, message string
		locked, drifted metav1.ConditionStatus
		progress        string // Stalled, Reconciling or neither
	}
	cases := map[string]struct {
		view *View
		want want
	}{
		"locked without drift is ready": {
			lockedView(nil), want{yes, v1alpha1.ReasonLocked, "revision 7 locked: 4 objects", yes, no, ""}},
		"past reverts are told": {
			lockedView(func(v *View) { v.Reverted = 3 }),
			want{yes, v1alpha1.ReasonLocked, "3 changes reverted", yes, no, ""}},
		"what is not locked is told": {
			lockedView(func(v *View) {
				v.Skipped = []manifest.Skipped{{Kind: "Pod", Name: "test", Reason: "generateName"}}
			}),
			want{yes, v1alpha1.ReasonLocked, "1 not locked (Pod test: generateName)", yes, no, ""}},
		"drift not reverted yet is not ready and names the object": {
			lockedView(withProblem(v1alpha1.ReasonDriftDetected, "data[x] changed by kubectl-edit", true)),
			want{no, v1alpha1.ReasonDriftDetected, "ConfigMap apps/a: data[x] changed by kubectl-edit", yes, yes,
				v1alpha1.ConditionReconciling}},
		"a refused revert is told": {
			lockedView(withProblem(v1alpha1.ReasonRevertFailed, "Invalid: data (FieldValueForbidden)", true)),
			want{no, v1alpha1.ReasonRevertFailed, "FieldValueForbidden", yes, yes, v1alpha1.ConditionReconciling}},
		"an object with a field that cannot be restored is protected in part": {
			lockedView(func(v *View) {
				withProblem(v1alpha1.ReasonRevertFailed, "data[x] cannot be restored", true)(v)
				v.Sum.Problems[0].Refused = lock.RefusedFields
			}),
			want{no, v1alpha1.ReasonRevertFailed, "data[x] cannot be restored", no, yes, v1alpha1.ConditionReconciling}},
		"a missing permission stalls": {
			lockedView(withProblem(v1alpha1.ReasonForbidden, "cannot patch", true)),
			want{no, v1alpha1.ReasonForbidden, "cannot patch", no, yes, v1alpha1.ConditionStalled}},
		"an object that may not be read": {
			lockedView(withProblem(v1alpha1.ReasonForbidden, "cannot get", false)),
			want{no, v1alpha1.ReasonForbidden, "cannot get", no, unknown, v1alpha1.ConditionStalled}},
		"objects that the account may not change": {
			lockedView(func(v *View) {
				v.Sum.Tracked, v.Denials = 0, Denials{"deployer", []Denial{{ID: configMap("a")}}}
			}),
			want{no, v1alpha1.ReasonForbidden, "ConfigMap apps/a is not protected", no, unknown, v1alpha1.ConditionStalled}},
		"a job that is not run again does not hold up anything": {
			lockedView(withProblem(v1alpha1.ReasonNotRecreated, "it is not run again", false)),
			want{yes, v1alpha1.ReasonLocked, "not run again", yes, no, ""}},
		"objects still to be read": {
			lockedView(func(v *View) { v.Sum.Unjudged = 2 }),
			want{no, v1alpha1.ReasonLocking, "2 of 4 objects", no, unknown, v1alpha1.ConditionReconciling}},
		"an object of another HelmRelease": {
			lockedView(func(v *View) { v.Conflicts = []lock.Conflict{{ID: configMap("a"), Owner: "ns/first"}} }),
			want{no, v1alpha1.ReasonConflict, "ConfigMap apps/a is locked by HelmRelease ns/first", no, unknown,
				v1alpha1.ConditionStalled}},
		"a kind that is not served": {
			lockedView(func(v *View) {
				v.Waiting = map[schema.GroupVersionKind][]manifest.ID{{Group: "x.io", Version: "v1",
					Kind: "Thing"}: {{}, {}}}
			}),
			want{no, v1alpha1.ReasonWaitingForKind, "2 of kind Thing (x.io/v1)", no, unknown, v1alpha1.ConditionReconciling}},
		"a watch that is refused": {
			lockedView(func(v *View) { v.WatchErr = errors.New("forbidden") }),
			want{no, v1alpha1.ReasonWatchFailed, "forbidden", yes, unknown, v1alpha1.ConditionReconciling}},
		"a watch that is not permitted": {
			lockedView(func(v *View) {
				v.WatchErr = fmt.Errorf("watch of Deployment: %w",
					apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "",
						errors.New(`User "locker" cannot list resource "deployments" in API group "apps" at the cluster scope`)))
			}),
			want{no, v1alpha1.ReasonForbidden, `cannot list resource "deployments" in API group "apps"`, no, unknown,
				v1alpha1.ConditionStalled}},
		"mode Detect is ready and not locked": {
			lockedView(func(v *View) { v.Lock.Detect = true }),
			want{yes, v1alpha1.ReasonDetectOnly, "only reported", no, no, ""}},
		"drift in mode Detect waits for nobody": {
			lockedView(func(v *View) {
				v.Lock.Detect = true
				withProblem(v1alpha1.ReasonDriftDetected, "data[x] changed", true)(v)
			}),
			want{no, v1alpha1.ReasonDriftDetected, "data[x] changed", no, yes, ""}},
		"suspended as asked is ready": {
			unlockedView(v1alpha1.ReasonSuspended, "suspended"),
			want{yes, v1alpha1.ReasonSuspended, "suspended", no, unknown, ""}},
		"Helm at work": {
			unlockedView(v1alpha1.ReasonTransitioning, "pending"),
			want{no, v1alpha1.ReasonTransitioning, "pending", no, unknown, v1alpha1.ConditionReconciling}},
		"Helm interrupted": {
			unlockedView(v1alpha1.ReasonStuckTransitioning, "stuck"),
			want{no, v1alpha1.ReasonStuckTransitioning, "stuck", no, unknown, v1alpha1.ConditionStalled}},
		"no release yet": {
			unlockedView(v1alpha1.ReasonSecretNotFound, "none"),
			want{no, v1alpha1.ReasonSecretNotFound, "none", no, unknown, v1alpha1.ConditionReconciling}},
		"a manifest that does not parse": {
			&View{Facts: Facts{Decision: lock.Decision{Lock: true},
				Problem: Problem{Reason: v1alpha1.ReasonManifestInvalid, Message: "document 3"}}},
			want{no, v1alpha1.ReasonManifestInvalid, "document 3", no, unknown, v1alpha1.ConditionStalled}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := conditions(&v1alpha1.HelmRelease{}, tc.view)
			ready := meta.FindStatusCondition(all, v1alpha1.ConditionReady)
			check.That(t,
				ready.Status == tc.want.ready && ready.Reason == tc.want.reason &&
					strings.Contains(ready.Message, tc.want.message),
				"Ready is %s, %s, %q", ready.Status, ready.Reason, ready.Message)
			check.Equal(t, meta.FindStatusCondition(all, v1alpha1.ConditionLocked).Status, tc.want.locked, "Locked")
			check.Equal(t, meta.FindStatusCondition(all, v1alpha1.ConditionDrifted).Status, tc.want.drifted, "Drifted")
			for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling} {
				check.Equal(t, meta.FindStatusCondition(all, kind) != nil, kind == tc.want.progress, "%s is present",
					kind)
			}
			for _, c := range all {
				check.That(t, c.Reason != "" && c.Message != "", "%s has no reason or message", c.Type)
			}
		})
	}
}

func TestAConditionKeepsItsTimeWhileItsStatusStays(t *testing.T) {
	hr := &v1alpha1.HelmRelease{}
	hr.Status.Conditions = conditions(hr, lockedView(nil))
	long := metav1.Unix(1000, 0)
	for i := range hr.Status.Conditions {
		hr.Status.Conditions[i].LastTransitionTime = long
	}
	for _, c := range conditions(hr, lockedView(func(v *View) { v.Reverted = 1 })) {
		check.That(t, c.LastTransitionTime.Equal(&long), "%s changed at %s", c.Type, c.LastTransitionTime)
	}
}

func TestAContendedObjectIsNamedWithItsOpponent(t *testing.T) {
	v := lockedView(func(v *View) {
		v.Sum.Fights = []manifest.ID{configMap("a")}
		v.Recent = []v1alpha1.DriftRecord{{Object: judge.ObjectOf(configMap("a")), FieldManager: "other-operator",
			Paths: []string{"/data/x"}, User: "alice"}}
	})
	c := meta.FindStatusCondition(conditions(&v1alpha1.HelmRelease{}, v), v1alpha1.ConditionContended)
	check.That(t,
		c.Status == metav1.ConditionTrue && strings.Contains(c.Message, "ConfigMap apps/a") &&
			strings.Contains(c.Message, "other-operator (/data/x), by user alice; ") && strings.Contains(c.Message, waysOut),
		"Contended is %s: %s", c.Status, c.Message)
}

// A removal and a deletion have no author in the object's managed fields.
func TestAContendedObjectIsNamedWithItsPathsWithoutAnAuthor(t *testing.T) {
	for want, r := range map[string]v1alpha1.DriftRecord{
		"apps/a is changed again and again (/data/x), by user alice; ": {Paths: []string{"/data/x"}, User: "alice"},
		"apps/a is changed again and again (deleted), by user alice; ": {Operation: v1alpha1.DriftDeleted, User: "alice"},
	} {
		v := lockedView(func(v *View) {
			v.Sum.Fights = []manifest.ID{configMap("a")}
			r.Object = judge.ObjectOf(configMap("a"))
			v.Recent = []v1alpha1.DriftRecord{r, {Object: r.Object, Paths: []string{"/data/earlier"}}}
		})
		c := meta.FindStatusCondition(conditions(&v1alpha1.HelmRelease{}, v), v1alpha1.ConditionContended)
		check.That(t, strings.Contains(c.Message, want), "Contended is %q, want %q", c.Message, want)
	}
}

func TestLockedCountsObjectsThatAreProtectedInPart(t *testing.T) {
	for refused, want := range map[lock.Refused]string{
		"":                 "revision 7: 4 objects protected",
		lock.RefusedFields: "revision 7: 3 of 4 objects protected, 1 in part; except ConfigMap apps/a",
		lock.RefusedObject: "revision 7: 3 of 4 objects protected; except ConfigMap apps/a",
	} {
		v := lockedView(func(v *View) {
			withProblem(v1alpha1.ReasonRevertFailed, "the field and a value", true)(v)
			v.Sum.Problems[0].Refused = refused
		})
		c := meta.FindStatusCondition(conditions(&v1alpha1.HelmRelease{}, v), v1alpha1.ConditionLocked)
		check.Equal(t, c.Message, want, "Locked")
	}
}

// The conditions are correct about the objects of another release, too.
func TestConditionsCountWhatIsLeftAlone(t *testing.T) {
	conflict := withProblem(v1alpha1.ReasonConflict, "belongs to Helm release b/b", false)
	for name, c := range map[string]struct {
		view              *View
		condition, reason string
		says              string
	}{
		"not all are protected": {lockedView(conflict), v1alpha1.ConditionLocked, v1alpha1.ReasonConflict,
			"3 of 4 objects protected; except ConfigMap apps/a"},
		"all are protected": {lockedView(nil), v1alpha1.ConditionLocked, v1alpha1.ReasonLocked,
			"revision 7: 4 objects protected"},
		"none is, and none is compared": {lockedView(func(v *View) {
			v.Sum.Tracked, v.Denials = 0, Denials{"deployer", []Denial{{ID: configMap("a")}}}
		}), v1alpha1.ConditionLocked, v1alpha1.ReasonForbidden, "0 of 1 object protected; ConfigMap apps/a is not protected"},
		"not all are compared": {lockedView(conflict), v1alpha1.ConditionDrifted, v1alpha1.ReasonNotCompared,
			"1 of 4 objects not compared; the others are as declared"},
		"drift beside it": {lockedView(func(v *View) {
			conflict(v)
			withProblem(v1alpha1.ReasonDriftDetected, "data changed", true)(v)
		}), v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, "data changed"},
	} {
		t.Run(name, func(t *testing.T) {
			got := meta.FindStatusCondition(conditions(&v1alpha1.HelmRelease{}, c.view), c.condition)
			check.That(t, got != nil && got.Reason == c.reason && strings.Contains(got.Message, c.says),
				"got %+v, want %s with %q", got, c.reason, c.says)
		})
	}
}

func TestAVersionThatIsNotServedAnyMoreIsNoMissingDefinition(t *testing.T) {
	beta := schema.GroupVersionKind{Group: "policy", Version: "v1beta1", Kind: "PodDisruptionBudget"}
	for want, served := range map[string][]string{
		"its CustomResourceDefinition is missing": nil,
		"it serves policy/v1: upgrade":            {"policy/v1"},
	} {
		v := lockedView(func(v *View) {
			v.Waiting = map[schema.GroupVersionKind][]manifest.ID{beta: {configMap("a")}}
			v.Served = map[schema.GroupKind][]string{beta.GroupKind(): served}
		})
		_, reason, message := readiness(v)
		check.That(t, reason == v1alpha1.ReasonWaitingForKind && strings.Contains(message, want), "got %s: %s, want %q",
			reason, message, want)
	}
}
