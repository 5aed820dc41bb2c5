package render

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// maxRenderSpace bounds the address space of the rendering process: far above what Go reserves beside the memory that
// it uses. A single huge allocation fails at once.
const maxRenderSpace = 4 << 30

func limitMemory() error {
	limit := unix.Rlimit{Cur: maxRenderSpace, Max: maxRenderSpace}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	return nil
}
