//go:build !linux && !darwin

package evidence

import (
	"errors"
	"os"
)

// lockFile refuses: only the image writes evidence, and it is for Linux.
func lockFile(*os.File) error {
	return errors.New("evidence is not written on this platform")
}
