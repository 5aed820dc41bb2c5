package dial

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// socketReader reads from a socket without telling Go's scheduler. The scheduler expects of a system call that it may block, and
// looks after it with a thread of its own (sysmon), which the first call after a rest wakes, and which then looks every 20
// microseconds for something to do. A read of a socket never blocks, as Go has all of them non-blocking, and a process that does
// little else than wait for events spends a fifth of its processor time on being looked after.
type socketReader struct {
	conn   net.Conn
	socket syscall.RawConn

	// Of the read that is under way. They are here, and try is made once, so that a read allocates nothing.
	into []byte
	n    int
	err  error
	try  func(fd uintptr) (done bool)
}

// readerOf returns what reads from a connection best.
func readerOf(c net.Conn) reader {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	socket, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	r := &socketReader{conn: c, socket: socket}
	r.try = r.read
	return r
}

// Read waits until there is something to read, the read deadline has passed or the connection is closed, as net.Conn does.
func (r *socketReader) Read(into []byte) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	r.into, r.n, r.err = into, 0, nil
	err := r.socket.Read(r.try)
	r.into = nil
	switch {
	case err != nil:
		return 0, err
	case r.err != nil:
		return 0, &net.OpError{Op: "read", Net: r.conn.RemoteAddr().Network(), Source: r.conn.LocalAddr(), Addr: r.conn.RemoteAddr(), Err: r.err}
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// read makes one attempt; false means that there is nothing to read yet.
func (r *socketReader) read(fd uintptr) bool {
	for {
		//nolint:gosec // the buffer is used by this call only, and the call ends before this one does
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&r.into[0])), uintptr(len(r.into)))
		switch errno {
		case 0:
			r.n = int(n)
			return true
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			r.err = os.NewSyscallError("read", errno)
			return true
		}
	}
}
