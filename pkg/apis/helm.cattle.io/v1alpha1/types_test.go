package v1alpha1

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestSuspendedAt(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	tests := []struct {
		name string
		spec Protection
		want bool
	}{
		{"a spec that does not ask for it is not suspended", Protection{}, false},
		{"suspend has no end", Protection{Suspend: true}, true},
		{"suspendUntil suspends before that time", Protection{SuspendUntil: at(time.Second)}, true},
		{"suspendUntil locks again at that very time", Protection{SuspendUntil: at(0)}, false},
		{"suspendUntil in the past has no effect", Protection{SuspendUntil: at(-time.Second)}, false},
		{"suspend outlasts suspendUntil", Protection{Suspend: true, SuspendUntil: at(-time.Second)}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { check.Equal(t, test.spec.SuspendedAt(now), test.want) })
	}
}

func TestDriftedObjectString(t *testing.T) {
	tests := []struct {
		object DriftedObject
		want   string
	}{
		{DriftedObject{Group: "apps", Kind: "Deployment", Namespace: "web", Name: "podinfo"}, "Deployment.apps web/podinfo"},
		{DriftedObject{Kind: "Service", Namespace: "web", Name: "podinfo"}, "Service web/podinfo"},
		{DriftedObject{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "podinfo"},
			"ClusterRole.rbac.authorization.k8s.io podinfo"},
	}
	for _, test := range tests {
		check.Equal(t, test.object.String(), test.want)
	}
}

func TestReleaseReferenceString(t *testing.T) {
	check.Equal(t, (ReleaseReference{Name: "podinfo", Namespace: "apps"}).String(), "apps/podinfo")
}

// A client that creates a HelmRelease must not send an empty status along. Counts of 0 are for compared objects only.
func TestStatusIsLeftOutOnlyWhenItIsEmpty(t *testing.T) {
	tests := []struct {
		name   string
		status HelmReleaseStatus
		want   string
	}{
		{"empty", HelmReleaseStatus{}, `{"metadata":{},"spec":{"release":{"name":"","namespace":""}}}`},
		{"with a state", HelmReleaseStatus{State: StateFailed},
			`{"metadata":{},"spec":{"release":{"name":"","namespace":""}},` + `"status":{"state":"Failed"}}`},
		{"with objects", HelmReleaseStatus{Objects: ObjectCounts{Tracked: 1}},
			`{"metadata":{},"spec":{"release":{"name":"","namespace":""}},` +
				`"status":{"objects":{"tracked":1,"drifted":0,"contended":0,"waiting":0}}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := json.Marshal(HelmRelease{Status: test.status})
			check.NoError(t, err)
			check.That(t, string(got) == test.want, "got  %s\nwant %s", got, test.want)
		})
	}
}

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	check.NoError(t, AddToScheme(scheme))
	for _, kind := range []string{Kind, Kind + "List"} {
		check.That(t, scheme.Recognizes(SchemeGroupVersion.WithKind(kind)), "%s is not registered", kind)
	}
}
