package follow

import (
	"context"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/rancher/helm-locker/pkg/lease"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// A reader knows the first announcement when it starts, whenever the scheduler starts it.
func TestAReaderKnowsItsFirstAnnouncement(t *testing.T) {
	f := New(Options{Log: fixture.Quiet()})
	first := announcement{address: "127.0.0.1:1", certificate: "none"}
	r := f.reader("locker", first)
	at := r.where.Load()
	check.Must(t, at != nil && *at == first, "the announcement is %v", at)
	r.move(first)
	check.Equal(t, len(r.moved), 0, "the same announcement wakes the reader")
	r.move(announcement{address: "127.0.0.1:2"})
	check.That(t, len(r.moved) == 1 && r.where.Load().address == "127.0.0.1:2",
		"another announcement does not wake the reader")
}

// Each Lease with an announcement has one reader; a Lease without one has none.
func TestOneReaderForEachLease(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	f := New(Options{Log: fixture.Quiet(), Clock: testingclock.NewFakeClock(time.Now())})
	for _, address := range []string{"", "127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:2"} {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "locker",
			Annotations: map[string]string{lease.EventsAddress: address, lease.EventsCertificate: "none"}}}
		f.see(ctx, &running, l)
	}
	stop()
	running.Wait()
	check.That(t, len(f.readers) == 1 && f.readers["locker"].where.Load().address == "127.0.0.1:2", "the readers are %v",
		f.readers)
}
