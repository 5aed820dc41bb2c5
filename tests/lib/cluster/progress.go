package cluster

import (
	"fmt"
	"io"
	"time"
)

// tick is the interval of Step's progress messages.
const tick = 15 * time.Second

// Step runs a step of several minutes. It logs the start, every 15 seconds the elapsed and the estimated time, and
// the total. The estimate is for two otherwise idle cores.
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

// announce logs the programs to build, their directory and an estimate of the total time.
func announce(log io.Writer, missing []program, dir string) {
	if len(missing) == 0 {
		return
	}
	fmt.Fprintf(log, "building %d programs from source, once, about %s on two cores; they stay in %s\n",
		len(missing), estimate(missing).Round(time.Minute), dir)
}

// estimate returns how long builds take on two otherwise idle cores.
func estimate(of []program) (takes time.Duration) {
	for _, p := range of {
		takes += p.takes
	}
	return takes
}
