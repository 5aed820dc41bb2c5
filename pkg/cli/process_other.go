//go:build !linux

package cli

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }

// releaseProgram has nothing to do here.
func releaseProgram() error { return nil }
