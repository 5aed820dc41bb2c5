package cluster

import (
	"fmt"
	"io"
	"time"
)

// tick is how often Step tells that it is still at work.
const tick = 15 * time.Second

// Step runs what takes minutes, and tells on log when it begins, every 15 seconds how long it has taken of about
// how long, and how long it took in the end. The estimate is for two cores that do nothing else.
func Step(log io.Writer, what string, estimate time.Duration, do func() error) error {
	fmt.Fprintf(log, "building %s\n", what)
	began := time.Now()
	done := make(chan error, 1)
	go func() { done <- do() }()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			if err == nil {
				fmt.Fprintf(log, "built %s in %s\n", what, elapsed(began))
			}
			return err
		case <-ticker.C:
			fmt.Fprintf(log, "building %s: %s of about %s\n", what, elapsed(began), estimate)
		}
	}
}

func elapsed(began time.Time) time.Duration { return time.Since(began).Round(time.Second) }

// announce tells what is built, where to, and about how long all of it takes.
func announce(log io.Writer, missing []program, dir string) {
	if len(missing) == 0 {
		return
	}
	var takes time.Duration
	for _, p := range missing {
		takes += p.takes
	}
	fmt.Fprintf(log, "building %d programs from source, once, about %s on two cores; they stay in %s\n",
		len(missing), takes.Round(time.Minute), dir)
}
