package serving

import (
	"io"
	"net"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// A client that opens connections without end displaces its own, and not one of a client at another address.
func TestHostile_OneAddressDoesNotDisplaceConnectionsOfOthers(t *testing.T) {
	address := serve(t, limits(nil), ok)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	other, err := dialer.Dial("tcp", address)
	check.NoError(t, err)
	t.Cleanup(func() { _ = other.Close() })
	for range 3 {
		_, err := io.WriteString(other, request)
		check.NoError(t, err)
		check.NoError(t, answered(t, other))
		var held []net.Conn
		for range 20 {
			held = append(held, dial(t, address, "GET / HTTP/1.1\r\nHost: "))
		}
		for _, connection := range held[:len(held)-limits(nil).Connections] {
			closed(t, "a connection of the client with the most", connection)
		}
	}
}
