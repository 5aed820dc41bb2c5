// Package notify tells others, by HTTP, what the operator did: one message for each drift, each change of a lock,
// and each fight. A message says what status.recentDrift and the conditions say, and so names fields and never
// carries their values.
//
// No caller waits for a receiver. Send only puts the message into a queue of bounded length, one for each receiver, so
// that one that is slow or gone does not keep others waiting either. What does not fit pushes out the oldest message of
// the namespace with most, and the receiver gets the number of lost messages.
package notify

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// Type is what a message is about. It is the type of the CloudEvent.
type Type string

// The types of messages: reverse DNS of the API group, then what happened.
const (
	DriftReverted    Type = "io.cattle.helm.drift.reverted"
	DriftRecreated   Type = "io.cattle.helm.drift.recreated"
	DriftReplaced    Type = "io.cattle.helm.drift.replaced"
	DriftPruned      Type = "io.cattle.helm.drift.pruned"
	DriftReported    Type = "io.cattle.helm.drift.reported"
	DriftRefused     Type = "io.cattle.helm.drift.refused"
	LockChanged      Type = "io.cattle.helm.lock.changed"
	ContentionBegan  Type = "io.cattle.helm.contention.began"
	ContentionEnded  Type = "io.cattle.helm.contention.ended"
	MessagesWereLost Type = "io.cattle.helm.notifications.lost"
)

// TypeOf returns the type of a message about a drift with which that was done.
func TypeOf(action v1alpha1.DriftAction) Type {
	switch action {
	case v1alpha1.DriftActionReverted:
		return DriftReverted
	case v1alpha1.DriftActionRecreated:
		return DriftRecreated
	case v1alpha1.DriftActionReplaced:
		return DriftReplaced
	case v1alpha1.DriftActionPruned:
		return DriftPruned
	case v1alpha1.DriftActionRefused:
		return DriftRefused
	}
	return DriftReported
}

// Reference names an object of a known kind.
type Reference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Message is one thing that happened. Exactly one of Drift, Lock, Contention and Lost is set, as the type says.
type Message struct {
	Type Type      `json:"-"`
	Time time.Time `json:"-"`

	// HelmRelease and Release say what it is about; a message about lost messages is about neither.
	HelmRelease *Reference `json:"helmRelease,omitempty"`
	Release     *Reference `json:"release,omitempty"`

	Drift      *v1alpha1.DriftRecord `json:"drift,omitempty"`
	Lock       *Lock                 `json:"lock,omitempty"`
	Contention *Contention           `json:"contention,omitempty"`
	Lost       *Lost                 `json:"lost,omitempty"`
}

// Lock is the state of a lock after it has changed; its fields are those of the status and of the condition Locked.
type Lock struct {
	Locked   bool           `json:"locked"`
	State    v1alpha1.State `json:"state,omitempty"`
	Revision int            `json:"revision,omitempty"` // the locked one; 0 for none
	Reason   string         `json:"reason"`
	Message  string         `json:"message,omitempty"`
}

// Contention is a fight: another writer keeps changing an object back. Of its end only the message of the condition
// is known.
type Contention struct {
	Object       *v1alpha1.DriftedObject `json:"object,omitempty"`
	Paths        []string                `json:"paths,omitempty"`
	MorePaths    int                     `json:"morePaths,omitempty"`
	FieldManager string                  `json:"fieldManager,omitempty"`
	Message      string                  `json:"message,omitempty"`
}

// Lost counts messages that the receiver did not get since the last one that it got.
type Lost struct {
	Count int       `json:"count"`
	Since time.Time `json:"since"` // when the first of them was lost
}

// Observer counts what becomes of messages, once for each receiver. Its methods must return at once.
type Observer interface {
	// Notified: a message has come to its end. The result is sent, skipped, dropped, expired or rejected.
	Notified(result string)
	// NotifyRetried: an attempt failed and will be made again.
	NotifyRetried()
	// NotifyWaiting: so many more messages (fewer, when negative) wait.
	NotifyWaiting(change int)
}

// Results of a message, for an Observer.
const (
	ResultSent     = "sent"
	ResultSkipped  = "skipped" // the template made nothing of it
	ResultDropped  = "dropped"
	ResultExpired  = "expired"
	ResultRejected = "rejected"
)

// Notifier sends messages to every receiver. It is safe for concurrent use; a nil one sends nothing.
type Notifier struct {
	receivers []*receiver
	clock     clock.WithTicker
	flush     time.Duration
	log       logrus.FieldLogger
}

// New returns a notifier, nil when the options name no receiver. It fails when the options make no sense or a file that
// they name cannot be read; the error never quotes a URL. Nothing is sent before Run.
func New(o Options, by clock.WithTicker, log logrus.FieldLogger, observer Observer) (*Notifier, error) {
	encode, err := o.encoder()
	if err != nil {
		return nil, err
	}
	targets, err := o.targets()
	if err != nil || len(targets) == 0 {
		return nil, err
	}
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	n := &Notifier{clock: by, flush: flushTime, log: log}
	for _, target := range targets {
		n.receivers = append(n.receivers, &receiver{
			url: target, name: nameOf(target), encode: encode, client: client, token: o.TokenFile,
			clock: by, log: log.WithField("receiver", nameOf(target)), observer: observer, jitter: jitter,
			queue: newQueue(queueLength, observer),
		})
	}
	return n, nil
}

// Send has a message sent. It never waits. The message must not be changed afterwards.
func (n *Notifier) Send(m *Message) {
	if n == nil {
		return
	}
	if m.Time.IsZero() {
		m.Time = n.clock.Now()
	}
	i := newItem(m, n.clock.Now())
	for _, r := range n.receivers {
		r.put(i)
	}
}

// Run sends until ctx ends, then what is left, for a few seconds at most. Messages sent later are lost.
func (n *Notifier) Run(ctx context.Context) {
	if n == nil {
		return
	}
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	for _, r := range n.receivers {
		running.Go(func() { r.run(sending) })
	}
	<-ctx.Done()
	for _, r := range n.receivers {
		r.queue.close()
	}
	flushed := make(chan struct{})
	go func() {
		running.Wait()
		close(flushed)
	}()
	limit := n.clock.NewTimer(n.flush)
	defer limit.Stop()
	select {
	case <-flushed:
		return
	case <-limit.C():
	}
	stop()
	<-flushed
}
