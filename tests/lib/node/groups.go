//go:build linux

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	groupRoot = "/sys/fs/cgroup"
	// groupPrefix begins the names of control groups; the rest is the id of the run's process outside.
	groupPrefix = "helm-locker-node."
)

// hierarchies returns the mounted hierarchies of control groups: one, or one for each controller with version 1.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(groupRoot, "cgroup.controllers")); err == nil {
		return []string{groupRoot}, nil
	}
	found, err := filepath.Glob(filepath.Join(groupRoot, "*", "cgroup.procs"))
	if err != nil || len(found) == 0 {
		return nil, errors.Join(fmt.Errorf("there are no control groups at %s", groupRoot), err)
	}
	for i, file := range found {
		found[i] = filepath.Dir(file)
	}
	return found, nil
}

// makeGroups makes a control group in every hierarchy.
func makeGroups(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range all {
		if err := os.Mkdir(filepath.Join(hierarchy, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make a control group: %w", err)
		}
	}
	return nil
}

// removeGroups removes a control group, with those below it, from every hierarchy. Their processes have ended.
func removeGroups(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, hierarchy := range all {
		var dirs []string
		err := filepath.WalkDir(filepath.Join(hierarchy, name), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		slices.Reverse(dirs)
		for _, dir := range dirs {
			errs = append(errs, removeGroup(dir))
		}
	}
	return errors.Join(errs...)
}

// removeGroup removes one control group. The kernel counts a killed process for some milliseconds more.
func removeGroup(dir string) error {
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove a control group: %w", err)
		}
	}
}

// sweepGroups removes the control groups of killed runs.
func sweepGroups() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, hierarchy := range all {
		found, err := filepath.Glob(filepath.Join(hierarchy, groupPrefix+"*"))
		errs = append(errs, err)
		for _, dir := range found {
			pid := strings.TrimPrefix(filepath.Base(dir), groupPrefix)
			if _, err := os.Stat(filepath.Join("/proc", pid)); errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, removeGroups(filepath.Base(dir)))
			}
		}
	}
	return errors.Join(errs...)
}

// ownGroup returns the name of the control group of this run.
func ownGroup() string { return groupPrefix + strconv.Itoa(os.Getpid()) }
