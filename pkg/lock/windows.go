package lock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// Span is a time from Start until before End. The zero Span is none.
type Span struct{ Start, End time.Time }

// windows are the recurring times of a spec with an unlocked release.
type windows []window

type window struct {
	begins   cron.Schedule
	duration time.Duration
}

// parseWindows returns the windows of a spec, or an error for the first invalid one. now is for the check that a window
// ever opens.
func parseWindows(specs []v1alpha1.Window, now time.Time) (windows, error) {
	ws := make(windows, 0, len(specs))
	for i, spec := range specs {
		w, err := parseWindow(spec, now)
		if err != nil {
			return nil, fmt.Errorf("spec.windows[%d]: %w", i, err)
		}
		ws = append(ws, w)
	}
	return ws, nil
}

func parseWindow(spec v1alpha1.Window, now time.Time) (window, error) {
	if strings.Contains(spec.Schedule, "=") {
		return window{}, errors.New("schedule has a time zone: use timeZone instead")
	}
	if strings.HasPrefix(spec.Schedule, "@every") {
		return window{}, errors.New("schedule @every has no beginning: set minutes and hours")
	}
	schedule, err := cron.ParseStandard(spec.Schedule)
	if err != nil {
		return window{}, fmt.Errorf("schedule %q: %w", spec.Schedule, err)
	}
	if spec.TimeZone == "Local" { // that of the operator, which no one sees
		return window{}, errors.New("timeZone Local is none: name one, as in Europe/Berlin")
	}
	zone, err := time.LoadLocation(spec.TimeZone) // empty is UTC
	if err != nil {
		return window{}, fmt.Errorf("timeZone %q: %w", spec.TimeZone, err)
	}
	if fields, ok := schedule.(*cron.SpecSchedule); ok {
		fields.Location = zone
	}
	if schedule.Next(now).IsZero() {
		return window{}, fmt.Errorf("schedule %q: no such time within five years", spec.Schedule)
	}
	return window{schedule, spec.Duration.Duration}, nil
}

// maxSteps bounds the number of overlapping windows taken for one.
const maxSteps = 100

// at returns the open window at a moment, or else the next one; zero for none. It joins overlapping and adjacent
// windows, up to maxSteps.
func (ws windows) at(now time.Time) Span {
	open := Span{End: now}
	for range maxSteps {
		next := ws.openAt(open.End)
		if next.Start.IsZero() {
			break
		}
		if open.End = next.End; open.Start.IsZero() {
			open.Start = next.Start
		}
	}
	if !open.Start.IsZero() {
		return open
	}
	var next Span
	for _, w := range ws {
		if start := w.begins.Next(now); !start.IsZero() && (next.Start.IsZero() || start.Before(next.Start)) {
			next = Span{start, start.Add(w.duration)}
		}
	}
	return next
}

// openAt returns an open window at a moment; zero for none.
func (ws windows) openAt(at time.Time) Span {
	for _, w := range ws {
		// The first beginning after then is the earliest one with a window that is open still.
		if start := w.begins.Next(at.Add(-w.duration)); !start.IsZero() && !start.After(at) {
			return Span{start, start.Add(w.duration)}
		}
	}
	return Span{}
}
