// Package report turns what is known about releases into text for people and programs. It is pure, and it is the place
// where two things are kept: no value of a Secret gets out (see [Masker]), and every text from the cluster passes
// through package plain.
package report

import (
	"fmt"
	"time"
)

// Count returns "1 object" or "2 objects".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Age returns how long a time has passed by in the form that kubectl uses, for example "5m" or "3d"; "" for no
// time, and "0s" for one to come.
func Age(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := max(now.Sub(t), 0)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*24*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// Time returns a time in UTC to the second, "" for none.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
