// Package report turns facts about releases into text for people and programs. It is pure. It ensures that no value of
// a Secret gets out (see [Masker]), and passes every text from the cluster through package plain.
package report

import (
	"fmt"
	"time"
)

// Age returns the time since t in kubectl's form, for example "5m" or "3d". It returns "" for the zero time, and "0s"
// for a time in the future.
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
