//go:build !linux

package dial

import "net"

// readerOf returns what reads from a connection best.
func readerOf(c net.Conn) reader { return c }
