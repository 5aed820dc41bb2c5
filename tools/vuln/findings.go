package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// finding is a vulnerability in a module version in use.
type finding struct {
	id, summary, module, version, fixed string
	// via is the call path from the program to the vulnerable function; empty when there is none.
	via []string
}

// about describes the scan: the database and its age, and the versions of the scanner and of Go.
type about struct {
	Scanner  string     `json:"scanner_version"`
	DB       string     `json:"db"`
	Modified *time.Time `json:"db_last_modified"`
	Go       string     `json:"go_version"`
}

// readFindings reads govulncheck's stream of JSON messages (protocol v1.0.0). A vulnerability has findings at several
// levels (the module is required, the package is imported, the function is called). The most exact one is used.
// https://pkg.go.dev/golang.org/x/vuln/internal/govulncheck
func readFindings(r io.Reader) ([]finding, about, error) {
	type frame struct{ Module, Version, Package, Function, Receiver string }
	var of about
	summaries, byID := map[string]string{}, map[string]finding{}
	for decoder := json.NewDecoder(r); ; {
		var message struct {
			Config  *about
			OSV     *struct{ ID, Summary string }
			Finding *struct {
				OSV   string
				Fixed string `json:"fixed_version"`
				Trace []frame
			}
		}
		err := decoder.Decode(&message)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, of, fmt.Errorf("read what govulncheck says: %w", err)
		}
		if message.Config != nil {
			of = *message.Config
		}
		if message.OSV != nil {
			summaries[message.OSV.ID] = message.OSV.Summary
		}
		if message.Finding == nil || len(message.Finding.Trace) == 0 {
			continue
		}
		first := message.Finding.Trace[0]
		f := finding{id: message.Finding.OSV, module: first.Module, version: first.Version,
			fixed: message.Finding.Fixed}
		if first.Function != "" {
			for _, step := range slices.Backward(message.Finding.Trace) {
				parts := slices.DeleteFunc([]string{step.Package, step.Receiver, step.Function},
					func(part string) bool { return part == "" })
				f.via = append(f.via, strings.Join(parts, "."))
			}
		}
		if known, ok := byID[f.id]; !ok || len(known.via) == 0 && len(f.via) > 0 {
			byID[f.id] = f
		}
	}
	var all []finding
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		f := byID[id]
		f.summary = summaries[id]
		all = append(all, f)
	}
	return all, of, nil
}
