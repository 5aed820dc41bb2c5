package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// Bounds of a comparison on the page. `helm-locker diff` shows the rest.
const (
	comparisonTimeout = time.Minute
	// comparisonWait bounds the wait of a viewer for the comparisons of others.
	comparisonWait    = 2 * comparisonTimeout
	mostDifferences   = 50
	mostReasons       = 20        // of objects that were not compared
	mostBytesCompared = 256 << 10 // of an object as YAML
	mostLines         = 300       // of one diff
	mostBytes         = 1 << 20   // of all diffs
	mostLineBytes     = 2 << 10
)

// comparison holds the differences between a release and the cluster now. It is made for one viewer and not stored. Its
// texts are neutral (plain.Line).
type comparison struct {
	Release     string           `json:"release"`
	Revision    int              `json:"revision"`
	Compared    int              `json:"compared"`
	At          time.Time        `json:"at"`
	Notes       []string         `json:"notes,omitempty"`
	Differences []differenceView `json:"differences"`
	// Omitted counts further objects with differences.
	Omitted  int      `json:"omitted,omitempty"`
	Failures []string `json:"failures,omitempty"`
	// Withheld lists the objects that were not read, each with the reason.
	Withheld []string `json:"withheld,omitempty"`
}

type differenceView struct {
	Object string   `json:"object"`
	State  string   `json:"state"`
	What   string   `json:"what"`
	Blame  []string `json:"blame,omitempty"`
	// Lines are those of a unified diff without its head. Cut counts the lines left out; TooLarge leaves out all.
	Lines    []string `json:"lines,omitempty"`
	Cut      int      `json:"cut,omitempty"`
	TooLarge bool     `json:"tooLarge,omitempty"`
}

func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]string{"error": plain.Line(message)})
}

func answer(w http.ResponseWriter, status int, content any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error means that the client has disconnected.
	_ = json.NewEncoder(w).Encode(content)
}

// viewOfComparison turns a comparison for one viewer, with all values of Secrets masked, into the bounded view of the
// page.
func viewOfComparison(c *inspect.Comparison, viewer string, now time.Time) (*comparison, error) {
	out := &comparison{
		Release: plain.Line(c.Release.Key.String()), Revision: c.Release.Revision, Compared: c.Compared, At: now.UTC(),
		Differences: []differenceView{}, Omitted: c.Omitted,
	}
	left := mostBytes
	for i := range c.Differences {
		d := &c.Differences[i]
		view := differenceView{Object: plain.Line(d.ID.String()), State: plain.Line(string(d.State)),
			What: whatDiffers(d)}
		for _, line := range inspect.Blame(d.Changes, now) {
			view.Blame = append(view.Blame, plain.Line(line))
		}
		if len(d.Changes) > 0 {
			if err := view.diff(d, &left); err != nil {
				return nil, err
			}
		}
		out.Differences = append(out.Differences, view)
	}
	for _, failure := range c.Failures {
		if apierrors.IsForbidden(failure.Err) {
			out.Withheld = append(out.Withheld, fmt.Sprintf("%s: you (%s) may not get it", failure.ID, viewer))
			continue
		}
		out.Failures = append(out.Failures, fmt.Sprintf("%s: %v", failure.ID, failure.Err))
	}
	for _, withheld := range c.Withheld {
		out.Withheld = append(out.Withheld, fmt.Sprintf("%s: %s", withheld.ID, withheld.Why))
	}
	out.Failures, out.Withheld = some(out.Failures), some(out.Withheld)
	return out, nil
}

// some returns the first mostReasons texts, neutral, and the number of the others.
func some(texts []string) []string {
	var few []string
	for _, text := range texts[:min(len(texts), mostReasons)] {
		few = append(few, plain.Line(text))
	}
	if more := len(texts) - mostReasons; more > 0 {
		few = append(few, fmt.Sprintf("and %d more", more))
	}
	return few
}

func whatDiffers(d *inspect.Difference) string {
	switch {
	case d.Note != "":
		return plain.Line(d.Note)
	case d.State == inspect.StateMissing:
		return "it does not exist"
	}
	return plain.Line(inspect.Describe(d.Changes, 3))
}

// diff adds the lines of the diff. left counts the remaining bytes for all diffs of the comparison.
func (v *differenceView) diff(d *inspect.Difference, left *int) error {
	if d.TooLarge {
		v.TooLarge = true
		return nil
	}
	var texts [2]string
	for i, object := range [...]map[string]any{d.Want, d.Have} {
		text, err := report.YAML(object)
		if err != nil {
			return err
		}
		if v.TooLarge = v.TooLarge || len(text) > mostBytesCompared; v.TooLarge {
			return nil
		}
		texts[i] = text
	}
	unified, err := report.Unified("", "", texts[0], texts[1], report.Style{})
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(unified, "\n"), "\n")
	lines = lines[min(2, len(lines)):] // the names
	for i, line := range lines {
		if len(line) > mostLineBytes {
			line = report.Cut(line, mostLineBytes)
		}
		if *left -= len(line); i == mostLines || *left < 0 {
			v.Cut = len(lines) - i
			return nil
		}
		v.Lines = append(v.Lines, line)
	}
	return nil
}
