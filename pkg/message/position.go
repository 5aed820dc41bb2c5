package message

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in the stream of an operator: its Lease, the transition of the Lease that made it the leader, and
// the number of an event since then. The zero value is the beginning.
type Position struct {
	Lease      string // its UID: a Lease that was deleted counts its transitions anew
	Transition int64
	Sequence   int64
	// End is set when no event follows: the operator ended, and the reader has all its events.
	End bool
}

const ended = ".end"

// String returns the id of the event at the position, with a suffix at the end.
func (p Position) String() string {
	text := fmt.Sprintf("%s-%d-%d", p.Lease, p.Transition, p.Sequence)
	if p.End {
		text += ended
	}
	return text
}

// ParsePosition reads what String returns; an empty text is the beginning.
func ParsePosition(text string) (p Position, err error) {
	if text == "" {
		return p, nil
	}
	rest, end := strings.CutSuffix(text, ended)
	rest, sequence, ok := cutLast(rest)
	lease, transition, more := cutLast(rest)
	if ok && more && lease != "" {
		p = Position{Lease: lease, End: end}
		if p.Sequence, err = strconv.ParseInt(sequence, 10, 64); err == nil {
			p.Transition, err = strconv.ParseInt(transition, 10, 64)
		}
		if err == nil && p.Sequence >= 0 && p.Transition >= 0 {
			return p, nil
		}
	}
	return Position{}, fmt.Errorf("%q is no position: want LEASE-TRANSITION-SEQUENCE", text)
}

func cutLast(text string) (before, after string, found bool) {
	if i := strings.LastIndexByte(text, '-'); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return "", "", false
}
