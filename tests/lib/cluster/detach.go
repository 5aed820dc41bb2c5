package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processesFile lists the processes of a detached cluster for Down, in its directory.
const processesFile = "processes.json"

// recordedProcess is one entry of the processesFile. Its id is also the id of its process group.
type recordedProcess struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// recordProcess adds an entry to the processesFile.
func recordProcess(dir string, p recordedProcess) error {
	recorded, err := readProcesses(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	content, err := json.MarshalIndent(append(recorded, p), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the list of processes: %w", err)
	}
	return writeFile(dir, processesFile, content)
}

// Running reports whether dir belongs to a detached cluster with at least one running process. It returns false for a
// directory that is missing or holds no cluster.
func Running(dir string) (bool, error) {
	recorded, err := readProcesses(dir)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return len(alive(dir, recorded)) > 0, err
}

// Down ends the processes of a detached cluster and removes its directory. A missing directory is no error. For a
// directory without a cluster, Down returns an error and leaves the directory.
func Down(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	recorded, err := readProcesses(dir)
	if err != nil {
		return err
	}
	for _, p := range alive(dir, recorded) {
		if err := syscall.Kill(-p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end %s (process %d): %w", p.Name, p.PID, err)
		}
	}
	// They are not our children (or no longer), so there is nothing to wait on.
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for left := alive(dir, recorded); len(left) > 0; left = alive(dir, recorded) {
		select {
		case <-deadline.C:
			return fmt.Errorf("%s (process %d) does not end", left[0].Name, left[0].PID)
		case <-ticker.C:
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the cluster's directory: %w", err)
	}
	return nil
}

func readProcesses(dir string) ([]recordedProcess, error) {
	content, err := os.ReadFile(filepath.Join(dir, processesFile))
	if err != nil {
		return nil, fmt.Errorf("%s holds no detached cluster: %w", dir, err)
	}
	var recorded []recordedProcess
	if err := json.Unmarshal(content, &recorded); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, processesFile), err)
	}
	return recorded, nil
}

// alive returns the running processes among the recorded ones. A process ID may have been reused since (after a
// reboot, for example), so the command line must name the cluster's directory.
func alive(dir string, recorded []recordedProcess) []recordedProcess {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		absolute = dir
	}
	var found []recordedProcess
	for _, p := range recorded {
		if strings.Contains(commandLine(p.PID), absolute+string(filepath.Separator)) {
			found = append(found, p)
		}
	}
	return found
}

// commandLine returns the command line of a process, or "" if it does not run.
func commandLine(pid int) string {
	var content []byte
	var err error
	if runtime.GOOS == "linux" {
		content, err = os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	} else {
		content, err = exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	}
	if err != nil {
		return "" // it is gone, which is the usual reason for either to fail
	}
	return string(content)
}
