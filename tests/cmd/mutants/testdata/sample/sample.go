// Package sample is changed by the tests of faults.
package sample

import "errors"

const limit = 10

const (
	one = iota
	two
)

// Counter counts.
type Counter struct {
	total, step int
	full        bool
}

func (c *Counter) add(n int) error {
	if err := check(n); err != nil {
		return err
	}
	c.note(n)
	if !c.allowed(n) {
		return errors.New("not allowed")
	}
	if c.total+n > limit && c.full {
		*c = Counter{step: 2}
	}
	switch n {
	case one, two:
		c.full = true
	}
	c.total += size(n)
	return nil
}

func check(int) error               { return nil }
func (c *Counter) note(int)         {}
func (c *Counter) allowed(int) bool { return true }
func size(n int) int                { return n }
