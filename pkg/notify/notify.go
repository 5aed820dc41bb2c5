// Package notify sends the events of operators on, by HTTP: one message for each drift, each change of a lock, and each
// fight. A message has the content of status.recentDrift and the conditions: it names fields, and never carries their
// values. Run is the embedding API: a process of its own, which reads the streams of operators.
//
// No caller waits for a receiver. Send only puts the message into a queue of bounded length, one for each receiver, so
// a slow or dead receiver delays no other. A full queue drops the oldest message of the namespace with most messages,
// and the receiver gets the number of lost messages.
package notify

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/severity"
)

// Notifier sends messages to every receiver. It is safe for concurrent use.
type Notifier struct {
	receivers []*receiver
	ratings   *severity.Table
	cluster   string
	clock     clock.WithTicker
	flush     time.Duration
	log       logrus.FieldLogger
}

// New returns a notifier. It fails when the options are invalid, name no receiver, or name a file that cannot be read;
// the error never quotes a URL. Nothing is sent before Run.
func New(o Options, by clock.WithTicker, log logrus.FieldLogger, observer Observer) (*Notifier, error) {
	encode, err := o.encoder()
	if err != nil {
		return nil, err
	}
	targets, err := o.targets()
	if err != nil {
		return nil, err
	}
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	ratings, err := o.ratings()
	if err != nil {
		return nil, err
	}
	n := &Notifier{ratings: ratings, cluster: o.Cluster, clock: by, flush: flushTime, log: log}
	for _, target := range targets {
		n.receivers = append(n.receivers, &receiver{
			url: target.URL, name: nameOf(target.URL), wants: target.wants, encode: encode, client: client,
			token: o.TokenFile,
			clock: by, log: log.WithField("receiver", nameOf(target.URL)), observer: observer, jitter: jitter,
			queue: newQueue(queueLength, observer),
		})
	}
	return n, nil
}

// Send has an event sent. It never waits. The message must not be changed afterwards.
func (n *Notifier) Send(e message.Event) {
	if len(n.receivers) == 0 {
		return // a process that only keeps evidence rates nothing
	}
	i := &item{event: event{Event: e, Severity: rate(n.ratings, e.Drift), Cluster: n.cluster}, at: n.clock.Now()}
	for _, r := range n.receivers {
		r.put(i)
	}
}

// Run sends until ctx ends, and then the remaining messages, for a few seconds at most. Messages sent later are lost.
func (n *Notifier) Run(ctx context.Context) {
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
