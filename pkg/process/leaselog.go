package process

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// loggedLock is a lock that logs the errors of reads and writes of the lease. client-go logs them where no user sees
// them, and an operator without rights to the lease would be a silent standby for ever. The election calls it from one
// goroutine at a time.
type loggedLock struct {
	resourcelock.Interface
	log  logrus.FieldLogger
	last string
}

const creating = "create"

func (l *loggedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	l.logError(ctx, "read", err)
	return record, raw, err
}

func (l *loggedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Create(ctx, record)
	l.logError(ctx, creating, err)
	return err
}

func (l *loggedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Update(ctx, record)
	l.logError(ctx, "renew", err)
	return err
}

// logError logs an error once until a different one occurs. A lease that does not exist yet, and a faster replica, are
// no errors. If creating the lease fails with not found, its namespace is missing. A request ended by the operator
// itself is no error either: the cause, such as a port in use, is reported separately.
func (l *loggedLock) logError(ctx context.Context, doing string, err error) {
	if err == nil || ctx.Err() != nil || apierrors.IsNotFound(err) && doing != creating || apierrors.IsConflict(err) ||
		apierrors.IsAlreadyExists(err) {
		return
	}
	if text := fmt.Sprintf("cannot %s the lease %s: %v", doing, l.Describe(), err); text != l.last {
		l.last = text
		l.log.Warn(text)
	}
}
