package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// result contains all measures of a run. It is docs/bench.json.
type result struct {
	Machine  machine    `json:"machine"`
	Sizes    sizes      `json:"sizes"`
	Sections []*section `json:"sections"`
}

// section is one part of a run, selected by -only.
type section struct {
	Name string `json:"name"`
	// Time is when it began, Seconds how long it took, set-up included.
	Time    time.Time `json:"time"`
	Seconds float64   `json:"seconds"`

	Rows     []row         `json:"rows"`
	Requests []requestNote `json:"requests,omitempty"`
	Points   []point       `json:"points,omitempty"`
}

// row is one figure of the table.
type row struct {
	Measure string `json:"measure"`
	Unit    string `json:"unit"`
	// Floor and Ratio (operator over floor) are missing where there is no floor.
	Floor    *float64 `json:"floor,omitempty"`
	Operator float64  `json:"operator"`
	Ratio    *float64 `json:"ratio,omitempty"`
	// Target describes the target; empty for a figure without one, whose Met is missing too.
	Target string `json:"target,omitempty"`
	Met    *bool  `json:"met,omitempty"`
}

// requestNote lists the operator's requests during a measure.
type requestNote struct {
	Measure string `json:"measure"`
	Per     string `json:"per"`
}

// point is the cost of a number of locked releases.
type point struct {
	Releases int `json:"releases"`
	Objects  int `json:"objects"`
	// Lock is the time until all of them were Ready, in seconds; Memory is resident, in MiB, and Own excludes the
	// pages of the program's file.
	Lock   float64 `json:"lock"`
	Memory float64 `json:"memory"`
	Own    float64 `json:"own"`
	// Floor and Drift are the medians of single drifts, in milliseconds.
	Floor float64 `json:"floor"`
	Drift float64 `json:"drift"`
}

func (r *result) end() { r.Machine.LoadAfter = load() }

// begin adds a section and returns it.
func (r *result) begin(name string) *section {
	s := &section{Name: name, Time: time.Now().UTC().Truncate(time.Second)}
	r.Sections = append(r.Sections, s)
	return s
}

// section returns the section of a name, nil for none.
func (r *result) section(name string) *section {
	for _, s := range r.Sections {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// row returns the row of a measure, nil for none.
func (r *result) row(measure string) *row {
	for _, s := range r.Sections {
		for i := range s.Rows {
			if s.Rows[i].Measure == measure {
				return &s.Rows[i]
			}
		}
	}
	return nil
}

// missed returns the measures with a missed target.
func (r *result) missed() []string {
	var names []string
	for _, s := range r.Sections {
		for _, x := range s.Rows {
			if x.Met != nil && !*x.Met {
				names = append(names, fmt.Sprintf("%s: %s %s, wanted %s", x.Measure, x.value(), x.Unit, x.Target))
			}
		}
	}
	return names
}

// value returns the figure compared with the target.
func (x row) value() string {
	if x.Ratio != nil {
		return fmt.Sprintf("%.2fx the floor, %s", *x.Ratio, figure(x.Operator))
	}
	return figure(x.Operator)
}

// over returns the result with the sections of an earlier one added that it lacks, in the order of a run.
func (r *result) over(earlier *result) *result {
	merged := *r
	merged.Sections = slices.Clone(r.Sections)
	for _, s := range earlier.Sections {
		if r.section(s.Name) == nil {
			merged.Sections = append(merged.Sections, s)
		}
	}
	slices.SortStableFunc(merged.Sections, func(a, b *section) int { return position(a.Name) - position(b.Name) })
	return &merged
}

// plain adds a figure without a floor and returns it.
func (s *section) plain(measure, unit string, value float64) *row {
	s.Rows = append(s.Rows, row{Measure: measure, Unit: unit, Operator: value})
	return &s.Rows[len(s.Rows)-1]
}

// against adds a figure beside the floor's and returns it.
func (s *section) against(measure, unit string, floor, operator float64) *row {
	added := s.plain(measure, unit, operator)
	ratio := operator / floor
	added.Floor = &floor
	if !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
		added.Ratio = &ratio
	}
	return added
}

// want sets the target of a figure and whether it is met.
func (x *row) want(met bool, format string, args ...any) {
	x.Target, x.Met = fmt.Sprintf(format, args...), &met
}

func (x *row) ratioAtMost(limit float64) {
	x.want(x.Ratio != nil && *x.Ratio <= limit, "<= %gx", limit)
}

func (x *row) ratioAtLeast(limit float64) {
	x.want(x.Ratio != nil && *x.Ratio >= limit, ">= %gx", limit)
}

// readResult reads the output of writeResult; nil for a missing file.
func readResult(path string) (*result, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	r := &result{}
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("read the result in %s: %w", path, err)
	}
	return r, nil
}

func (r *result) write(path string) error {
	content, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
