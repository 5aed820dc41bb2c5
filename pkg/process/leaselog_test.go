package process

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// refusing is a lock whose methods all fail with an error.
type refusing struct {
	resourcelock.Interface
	err error
}

func (r *refusing) Describe() string { return "cattle-helm-system/helm-locker" }

func (r *refusing) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return nil, nil, r.err
}
func (r *refusing) Create(context.Context, resourcelock.LeaderElectionRecord) error { return r.err }
func (r *refusing) Update(context.Context, resourcelock.LeaderElectionRecord) error { return r.err }

func TestWhatIsWrongWithTheLeaseIsToldOnce(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	for name, tc := range map[string]struct {
		do   func(context.Context, *loggedLock) error
		err  error
		want string
	}{
		"there is no lease yet": {do: get, err: apierrors.NewNotFound(leases, "helm-locker")},
		"it may not be read": {do: get, err: apierrors.NewForbidden(leases, "helm-locker", nil),
			want: "cannot read the lease cattle-helm-system/helm-locker: leases.coordination.k8s.io"},
		"there is no namespace": {do: create, err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"},
			"cattle-helm-system"),
			want: `cannot create the lease cattle-helm-system/helm-locker: namespaces \"cattle-helm-system\" not found`},
		"somebody else was faster":       {do: create, err: apierrors.NewAlreadyExists(leases, "helm-locker")},
		"somebody else was faster again": {do: update, err: apierrors.NewConflict(leases, "helm-locker", nil)},
		"it was deleted":                 {do: update, err: apierrors.NewNotFound(leases, "helm-locker")},
	} {
		t.Run(name, func(t *testing.T) {
			out := &bytes.Buffer{}
			log := logrus.New()
			log.Out = out
			l := &loggedLock{Interface: &refusing{err: tc.err}, log: log}
			for range 3 {
				err := tc.do(t.Context(), l)
				check.That(t, err != nil, "the error was kept from the election")
			}
			got := out.String()
			check.That(t, (tc.want != "" || got == "") && (tc.want == "" || strings.Count(got, tc.want) == 1),
				"logged %q, want %q once", got, tc.want)
		})
	}
}

func get(ctx context.Context, l *loggedLock) error {
	_, _, err := l.Get(ctx)
	return err
}

func create(ctx context.Context, l *loggedLock) error {
	return l.Create(ctx, resourcelock.LeaderElectionRecord{})
}

func update(ctx context.Context, l *loggedLock) error {
	return l.Update(ctx, resourcelock.LeaderElectionRecord{})
}

// A request ended by the operator itself is no error of the lease.
func TestALeaseRequestThatTheOperatorEndsIsNotTold(t *testing.T) {
	out := &bytes.Buffer{}
	log := logrus.New()
	log.Out = out
	l := &loggedLock{Interface: &refusing{err: context.Canceled}, log: log}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := l.Get(ctx)
	check.Must(t, err != nil, "no error")
	check.That(t, out.Len() <= 0, "logged %q", out)
}
