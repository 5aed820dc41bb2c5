package cluster

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// port is a TCP port on 127.0.0.1 reserved by a bound socket that never listens: the kernel gives the port to no
// other process, and programs of the same user can listen on it with SO_REUSEPORT. Picking a free port and releasing
// it would race with every other test process of the machine, and with the outgoing connections of a restart.
type port struct {
	number int
	socket int
}

func reservePort() (*port, error) {
	// A child forked between the two calls must not inherit the socket.
	syscall.ForkLock.RLock()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	p := &port{socket: socket}
	if err := p.bind(); err != nil {
		return nil, errors.Join(fmt.Errorf("reserve a port: %w", err), p.release())
	}
	return p, nil
}

func (p *port) bind() error {
	if err := unix.SetsockoptInt(p.socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return err
	}
	if err := unix.Bind(p.socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	address, err := unix.Getsockname(p.socket)
	if err != nil {
		return err
	}
	inet, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return fmt.Errorf("unexpected socket address %T", address)
	}
	p.number = inet.Port
	return nil
}

// address returns host:port.
func (p *port) address() string { return fmt.Sprintf("127.0.0.1:%d", p.number) }

// release gives the port back to the kernel.
func (p *port) release() error {
	if err := unix.Close(p.socket); err != nil {
		return fmt.Errorf("release port %d: %w", p.number, err)
	}
	return nil
}
