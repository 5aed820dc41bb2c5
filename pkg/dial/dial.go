// Package dial makes the connections that watches come over, so that a quiet watch costs next to nothing, and one that is
// dead is noticed.
package dial

import (
	"context"
	"net"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// keepAlive is after how long without traffic the kernel asks whether the other end is still there, and then again; after
	// keepAliveCount questions without an answer the connection is dead. Together it takes the 45 s that the pings of
	// client-go's HTTP/2 take.
	keepAlive      = 15 * time.Second
	keepAliveCount = 2
	// silence is how long nothing may come. A watch that a load balancer keeps open though the API server behind it is gone looks
	// alive to the kernel. An API server sends a bookmark at least every 75 s (bookmarkFrequency, with its jitter), if its etcd
	// tells it of progress (--watch-progress-notify-interval, 5 s with kubeadm). Where it does not, the watch of a kind of which
	// nothing changes is begun again every two minutes, which costs one request.
	silence = 2 * time.Minute
	// connectTimeout bounds the making of a connection, as client-go does.
	connectTimeout = 30 * time.Second
)

// ForWatches returns a copy of config for clients that mostly watch. Every watch has a connection of its own, by HTTP/1.1: HTTP/2 hands
// each event from one goroutine to the next, and answers it with a window update. A connection on which nothing comes for two
// minutes is given up, and with it the watch, which its user then begins again where it was.
func ForWatches(config *rest.Config) *rest.Config { return forWatches(config, silence) }

func forWatches(config *rest.Config, silence time.Duration) *rest.Config {
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"}
	dial := config.Dial
	if dial == nil {
		dialer := &net.Dialer{Timeout: connectTimeout, KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAlive, Interval: keepAlive, Count: keepAliveCount,
		}}
		dial = dialer.DialContext
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, reader: readerOf(c), silence: silence}, nil
	}
	return config
}

// reader reads from a connection, as net.Conn does.
type reader interface {
	Read(into []byte) (int, error)
}

// conn is a connection on which something comes every now and then. Only one goroutine at a time reads from it.
type conn struct {
	net.Conn
	reader
	silence time.Duration
	renewed time.Time // when the time that nothing may come for last began
}

// Read reads from the connection, and fails as after a deadline when nothing comes for too long.
func (c *conn) Read(into []byte) (int, error) {
	// Not with every read: a tenth of the time more or less does not matter, and setting it takes a lock and a timer.
	if now := time.Now(); now.Sub(c.renewed) > c.silence/10 {
		if err := c.SetReadDeadline(now.Add(c.silence)); err != nil {
			return 0, err
		}
		c.renewed = now
	}
	return c.reader.Read(into)
}
