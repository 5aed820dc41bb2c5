package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine is where and when a run was.
type machine struct {
	Time       time.Time `json:"time"`
	Processor  string    `json:"processor"`
	Cores      int       `json:"cores"`
	Memory     string    `json:"memory"`
	System     string    `json:"system"`
	Go         string    `json:"go"`
	Kubernetes string    `json:"kubernetes"`
	// LoadBefore and LoadAfter are the load averages of the last minute. They show other load on the machine.
	LoadBefore string `json:"loadBefore"`
	LoadAfter  string `json:"loadAfter"`
}

func thisMachine() machine {
	return machine{
		Time: time.Now().UTC().Truncate(time.Second), Processor: proc("cpuinfo", "model name"), Cores: runtime.NumCPU(),
		Memory: proc("meminfo", "MemTotal"), System: "Linux " + strings.TrimSpace(read("/proc/sys/kernel/osrelease")),
		Go: runtime.Version(), LoadBefore: load(),
	}
}

// String describes the machine in one paragraph.
func (m machine) String() string {
	return fmt.Sprintf("%s: %d cores of %s, %s memory, %s, %s, Kubernetes %s; load %s before, %s after",
		m.Time.Format(time.RFC3339), m.Cores, m.Processor, m.Memory, m.System, m.Go, m.Kubernetes, m.LoadBefore,
		m.LoadAfter)
}

// proc returns the first value of a name in a file of /proc, "unknown" where there is none.
func proc(file, name string) string {
	for line := range strings.Lines(read("/proc/" + file)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func load() string {
	first, _, _ := strings.Cut(read("/proc/loadavg"), " ")
	return first
}

// read returns a file of the system, or "" on an error: a missing description of the machine is no reason to fail.
func read(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(content)
}
