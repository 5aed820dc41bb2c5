package cluster

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

const (
	temporaryPrefix = "helm-locker-cluster-"
	// ownerFile, in a temporary directory, is locked as long as its creating process lives.
	ownerFile = "owner"
)

// emptyDir creates a directory if needed, checks that it is empty, and returns its absolute path.
func emptyDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve the directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create the directory: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("read the directory: %w", err)
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("the directory %s is not empty", dir)
	}
	return dir, nil
}

// TemporaryDir creates a directory owned by this process, and returns a function that removes it. A killed test
// cannot clean up after itself, and etcd alone takes 64 MB: TemporaryDir also removes directories of ended processes.
func TemporaryDir(log io.Writer) (dir string, release func() error, err error) {
	if err := sweep(log); err != nil {
		return "", nil, err
	}
	dir, err = os.MkdirTemp("", temporaryPrefix)
	if err != nil {
		return "", nil, fmt.Errorf("create a directory: %w", err)
	}
	owner, err := own(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() error { return errors.Join(os.RemoveAll(dir), owner.Close()) }, nil
}

// own marks a directory as owned by this process until the file is closed. The file gets its name only when it is
// locked, so that sweep in another process never sees it unlocked.
func own(dir string) (*os.File, error) {
	unnamed := filepath.Join(dir, ownerFile+".new")
	file, err := os.OpenFile(unnamed, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("mark the directory as used: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Rename(unnamed, filepath.Join(dir, ownerFile))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mark the directory as used: %w", err), file.Close())
	}
	return file, nil
}

// sweep removes this user's temporary directories whose processes have ended. Directories that cannot be removed
// (their programs may be ending just now) are left for the next call.
func sweep(log io.Writer) error {
	owners, err := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*", ownerFile))
	if err != nil {
		return fmt.Errorf("look for directories that were left: %w", err)
	}
	for _, owner := range owners {
		file, err := os.OpenFile(owner, os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			continue // swept by somebody else meanwhile, or another user's
		}
		if err != nil {
			return fmt.Errorf("look at a directory that was left: %w", err)
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			if err := os.RemoveAll(filepath.Dir(owner)); err != nil {
				fmt.Fprintf(log, "left by a killed process: %v\n", err)
			}
		}
		if err := file.Close(); err != nil {
			return fmt.Errorf("close %s: %w", owner, err)
		}
	}
	return nil
}
