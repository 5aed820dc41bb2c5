package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/drift"
)

// Baseline is known drift, by release. Its file is a Drift with the fields that identify drift and nothing else. The
// output of diff and report for programs is a baseline, too.
type Baseline struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Releases   []BaselineRelease `json:"items"`
}

// BaselineRelease is the known drift of a release.
type BaselineRelease struct {
	// Context names the cluster of a baseline of several.
	Context     string           `json:"context,omitempty"`
	Namespace   string           `json:"namespace"`
	Name        string           `json:"name"`
	Differences []BaselineObject `json:"differences"`
}

// BaselineObject is the known drift of an object.
type BaselineObject struct {
	Object
	State   string           `json:"state"`
	Changes []BaselineChange `json:"changes,omitempty"`
}

// BaselineChange is a field with known drift. Without Live any value of it is known.
type BaselineChange struct {
	Path      string          `json:"path"`
	Operation drift.Operation `json:"operation"`
	Live      any             `json:"live,omitempty"`
}

// ReadBaseline parses a baseline in YAML or JSON.
func ReadBaseline(text []byte) (*Baseline, error) {
	content, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("parse the baseline: %w", err)
	}
	b, decoder := &Baseline{}, json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber() // a number is compared by its digits
	if err := decoder.Decode(b); err != nil {
		return nil, fmt.Errorf("parse the baseline: %w", err)
	}
	if b.APIVersion != ListVersion || b.Kind != DriftKind {
		return nil, fmt.Errorf("the baseline is no %s of %s, but %q of %q", DriftKind, ListVersion, b.Kind,
			b.APIVersion)
	}
	return b, nil
}

// YAML returns the baseline as the content of its file.
func (b *Baseline) YAML() (string, error) {
	b.APIVersion, b.Kind = ListVersion, DriftKind
	slices.SortFunc(b.Releases, func(x, y BaselineRelease) int { return strings.Compare(x.Key(), y.Key()) })
	text, err := yaml.Marshal(b)
	if err != nil {
		return "", fmt.Errorf("encode the baseline: %w", err)
	}
	return string(text), nil
}

// Known returns the drift of a release that is in the baseline; nil for none. context is empty for a baseline of one
// cluster.
func (b *Baseline) Known(context, namespace, name string) []BaselineObject {
	for _, r := range b.Releases {
		if r.Context == context && r.Namespace == namespace && r.Name == name {
			return r.Differences
		}
	}
	return nil
}

// Key returns the release as it is printed, NAMESPACE/NAME, with its context before it in a baseline of several
// clusters.
func (r BaselineRelease) Key() string { return inContext(r.Context, r.Namespace+"/"+r.Name) }

// inContext returns a text after the name of its context, if there is one.
func inContext(context, text string) string {
	if context == "" {
		return text
	}
	return context + ": " + text
}

// Entry returns drift as the baseline has it. It leaves out values with masked parts: their markers differ in each run.
func Entry(o Object, state string, changes []FieldChange) BaselineObject {
	entry := BaselineObject{Object: o, State: state}
	for _, change := range changes {
		live := change.Live
		if canonical(live) == "" {
			live = nil
		}
		entry.Changes = append(entry.Changes, BaselineChange{Path: change.Path, Operation: change.Operation,
			Live: live})
	}
	return entry
}

// New returns the indices of the changes that are not known, and whether the object drifted otherwise than known.
func (o BaselineObject) New(known []BaselineObject) (changes []int, isNew bool) {
	at := o.in(known)
	for i, change := range o.Changes {
		if at < 0 || !slices.ContainsFunc(known[at].Changes, change.isLike) {
			changes = append(changes, i)
		}
	}
	return changes, at < 0 || len(changes) > 0
}

// in returns the place of the same object in the same state among others; -1 for none.
func (o BaselineObject) in(others []BaselineObject) int {
	return slices.IndexFunc(others, func(b BaselineObject) bool { return b.Object == o.Object && b.State == o.State })
}

// Gone returns the known drift of an object that no longer occurs, in words. now is the drift of all objects.
func (o BaselineObject) Gone(now []BaselineObject) (gone []string) {
	i := o.in(now)
	if i < 0 {
		return []string{o.Object.String() + ": " + o.State}
	}
	for _, change := range o.Changes {
		if !slices.ContainsFunc(now[i].Changes, func(of BaselineChange) bool {
			return of.Path == change.Path && of.Operation == change.Operation
		}) {
			gone = append(gone, o.Object.String()+": "+change.Path)
		}
	}
	return gone
}

// isLike reports whether a change is known.
func (c BaselineChange) isLike(known BaselineChange) bool {
	value := canonical(known.Live)
	return c.Path == known.Path && c.Operation == known.Operation &&
		(known.Live == nil || value == "" || value == canonical(c.Live))
}

// masked matches the text that a Masker puts in the place of a value, as encoding/json escapes it.
var masked = regexp.MustCompile(`\\u003csecret [0-9a-f]{8}\\u003e`)

// canonical returns a value as JSON; empty for one with masked parts.
func canonical(value any) string {
	text, err := json.Marshal(value)
	if err != nil || masked.Match(text) {
		return ""
	}
	return string(text)
}
