package ha

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// balancer distributes TCP connections over API servers in turn, as load balancers do. All of them are the one API
// server of the tests. One that hangs keeps its connections open, takes new ones, and the kernel answers
// keepalives, but nothing passes.
type balancer struct {
	t        testing.TB
	listener net.Listener
	server   string // address of the API server
	running  sync.WaitGroup

	mu      sync.Mutex
	next    int
	closed  bool
	hung    [3]bool
	changed *sync.Cond // of hung and closed
	open    map[net.Conn]int
}

func startBalancer(t testing.TB) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	b := &balancer{t: t, listener: listener, server: strings.TrimPrefix(kit.Shared.RESTConfig().Host, "https://"),
		open: map[net.Conn]int{}}
	b.changed = sync.NewCond(&b.mu)
	b.running.Go(b.accept)
	t.Cleanup(b.close)
	return b
}

// config returns the configuration of a client that goes by way of the balancer.
func (b *balancer) config() *rest.Config {
	config := rest.CopyConfig(kit.Shared.RESTConfig())
	config.Host = "https://" + b.listener.Addr().String()
	return config
}

func (b *balancer) accept() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				b.t.Error(err)
			}
			return
		}
		server, err := net.Dial("tcp", b.server)
		if err != nil {
			b.t.Error(err)
			return
		}
		b.mu.Lock()
		backend := b.next % len(b.hung)
		b.next++
		b.open[client] = backend
		b.mu.Unlock()
		b.running.Go(func() { b.pass(backend, client, server) })
		b.running.Go(func() { b.pass(backend, server, client) })
	}
}

// pass passes on what is sent in one direction. The end of a connection is passed on as the end of both.
func (b *balancer) pass(backend int, from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		b.mu.Lock()
		for b.hung[backend] && !b.closed {
			b.changed.Wait()
		}
		b.mu.Unlock()
		if n > 0 && err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			if err := errors.Join(from.Close(), to.Close()); err != nil && !errors.Is(err, net.ErrClosed) &&
				!errors.Is(err, io.EOF) {
				b.t.Error(err)
			}
			b.mu.Lock()
			delete(b.open, from)
			delete(b.open, to)
			b.mu.Unlock()
			return
		}
	}
}

// hang has the API servers hang that have connections now, which leaves at least one that does not.
func (b *balancer) hang() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	hung := 0
	for _, backend := range b.open {
		if !b.hung[backend] {
			b.hung[backend] = true
			hung++
		}
	}
	if hung == 0 || hung == len(b.hung) {
		b.t.Fatalf("%d of %d API servers have connections", hung, len(b.hung))
	}
}

func (b *balancer) close() {
	b.mu.Lock()
	b.closed = true
	b.changed.Broadcast()
	open := make([]net.Conn, 0, len(b.open))
	for c := range b.open {
		open = append(open, c)
	}
	b.mu.Unlock()
	err := b.listener.Close()
	for _, c := range open {
		if e := c.Close(); !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	check.Report(b.t, err)
	b.running.Wait()
}

// One API server of three hangs: the one that the operator is connected to. The leader renews its lease over
// another connection in time, and sees within 45 seconds what happens.
func TestHA_AnAPIServerOfThreeHangs(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	b := startBalancer(t)
	o := kit.StartOperator(t, b.config(), e.Operator, elected(0)) // the default: 15 seconds
	locked(e, "app")
	reverts(e, "app", "tampered")
	before := lease(e, e.Operator)
	b.hang()
	reverts(e, "app", "tampered while the API server hangs")
	after := lease(e, e.Operator)
	if *before.Spec.HolderIdentity != *after.Spec.HolderIdentity ||
		*before.Spec.LeaseTransitions != *after.Spec.LeaseTransitions {
		t.Errorf("the lease went from %s to %s", *before.Spec.HolderIdentity, *after.Spec.HolderIdentity)
	}
	e.WaitReady("app", 1)
	select {
	case <-o.Done():
		t.Errorf("the operator ended: %v", o.Err())
	default:
	}
}
