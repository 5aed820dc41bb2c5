package process

import (
	"fmt"
	"os"
	"syscall"
)

// Freeze stops the operator where it is, as a machine without processor time would, until Thaw.
func (p *Operator) Freeze() error { return p.signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (p *Operator) Thaw() error { return p.signal(syscall.SIGCONT) }

func (p *Operator) signal(s os.Signal) error {
	if err := p.process.Signal(s); err != nil {
		return fmt.Errorf("signal %s to the operator: %w", s, err)
	}
	return nil
}
