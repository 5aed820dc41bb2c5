package cluster

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Balancer distributes TCP connections over servers round-robin and skips servers that refuse connections. With one
// server it is a link with an adjustable delay. Its methods may be called concurrently.
type Balancer struct {
	listener net.Listener
	backends []string
	log      io.Writer
	running  sync.WaitGroup

	// mu guards the fields below.
	mu      sync.Mutex
	changed *sync.Cond // hung or closed have changed
	next    int
	closed  bool
	hung    []bool // by backend
	delay   time.Duration
	open    map[net.Conn]int // clients, and the backends that they are connected to
}

// StartBalancer starts a balancer in front of servers (host:port). It runs until its Close or the cluster's Stop.
func (c *Cluster) StartBalancer(backends ...string) (*Balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	b := &Balancer{listener: listener, backends: backends, log: c.options.Log, hung: make([]bool, len(backends)),
		open: map[net.Conn]int{}}
	b.changed = sync.NewCond(&b.mu)
	b.running.Go(b.accept)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.balancers = append(c.balancers, b)
	return b, nil
}

// Address returns host:port of the balancer.
func (b *Balancer) Address() string { return b.listener.Addr().String() }

// SetDelay delays everything sent by the servers by d from now on.
func (b *Balancer) SetDelay(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.delay = d
}

// Hang makes all servers with open connections hang, and returns their number. A hanging server keeps its connections
// open, accepts new ones and answers keepalives, but passes no data.
func (b *Balancer) Hang() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	hung := 0
	for _, backend := range b.open {
		if !b.hung[backend] {
			b.hung[backend] = true
			hung++
		}
	}
	return hung
}

// Cut breaks the connections for which choose returns true, and returns their number.
func (b *Balancer) Cut(choose func() bool) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	cut := 0
	for client := range b.open {
		if choose() {
			b.report(client.Close())
			cut++
		}
	}
	return cut
}

// Close ends all connections.
func (b *Balancer) Close() error {
	b.mu.Lock()
	b.closed = true
	b.changed.Broadcast()
	for client := range b.open {
		b.report(client.Close())
	}
	b.mu.Unlock()
	err := b.listener.Close()
	b.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// report prints an error, except for one caused by a closed connection.
func (b *Balancer) report(err error) {
	if err != nil && !errors.Is(err, net.ErrClosed) {
		fmt.Fprintf(b.log, "balancer: %v\n", err)
	}
}

func (b *Balancer) accept() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			b.report(err)
			return
		}
		b.running.Go(func() { b.connect(client) })
	}
}

// connect forwards a connection to the next server that accepts it.
func (b *Balancer) connect(client net.Conn) {
	for range b.backends {
		b.mu.Lock()
		backend := b.next % len(b.backends)
		b.next++
		b.mu.Unlock()
		server, err := net.Dial("tcp", b.backends[backend])
		if err != nil {
			continue
		}
		b.mu.Lock()
		b.open[client] = backend
		closed := b.closed
		b.mu.Unlock()
		if closed {
			b.report(client.Close())
		}
		b.running.Go(func() { b.pass(backend, client, server, false) })
		b.pass(backend, server, client, true)
		b.mu.Lock()
		delete(b.open, client)
		b.mu.Unlock()
		return
	}
	b.report(client.Close())
}

// part is a chunk of sent data with the time of its arrival.
type part struct {
	content []byte
	due     time.Time
}

// pass forwards the data of one direction. The end of one direction ends both.
func (b *Balancer) pass(backend int, from, to net.Conn, answers bool) {
	parts := make(chan part, 1024)
	b.running.Go(func() {
		var err error
		for p := range parts {
			if err == nil {
				<-time.After(time.Until(p.due))
				if _, err = to.Write(p.content); err != nil {
					b.report(from.Close()) // ends the loop below
				}
			}
		}
		b.report(from.Close())
		b.report(to.Close())
	})
	defer close(parts)
	for {
		buffer := make([]byte, 32<<10)
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p := part{content: buffer[:n]}
		b.mu.Lock()
		for b.hung[backend] && !b.closed {
			b.changed.Wait()
		}
		if answers {
			p.due = time.Now().Add(b.delay)
		}
		b.mu.Unlock()
		parts <- p
	}
}
