package page

import (
	"time"
)

const (
	// beatEvery is the interval of beats. A browser notices a dead connection by their absence.
	beatEvery = 10 * time.Second
	// pause is the time for which further changes are gathered after a batch. A storm costs a viewer four batches in a
	// second.
	pause = 250 * time.Millisecond
)

// listener holds the pending changes of one stream. Page.mu guards it.
type listener struct {
	// by is the name of the viewer, empty without a viewer.Reviewer.
	by string
	// ended is closed when the stream has to make room for one of another viewer.
	ended chan struct{}
	// all requests a list of all HelmReleases, changed the rows of these keys, drifted the time line, operator the
	// state of the operators.
	all, drifted bool
	changed      map[string]bool
	operator     bool
	// wake holds a token while changes are pending.
	wake chan struct{}
}

// due holds the changes to send to a viewer.
type due struct {
	all, drifted, operator bool
	changed                map[string]bool
}
