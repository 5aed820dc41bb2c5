package evidence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// lockName is the name of the file whose lock a process holds that writes to the directory.
const lockName = "evidence.lock"

// lockDirectory returns the locked file of a directory. The end of the process unlocks it, too.
func lockDirectory(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the directory of the evidence: %w", err)
	}
	if err := lockFile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
	}
	return file, nil
}
