// Package severity rates drift by the kind of the object and the changed field. The commands and the process that
// notifies use it; the operator does not know it.
package severity

import (
	_ "embed" // the built-in table
	"errors"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/drift"
)

// Table rates changes. It is the content of a file.
type Table struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Default is the level of a change that no rule is about.
	Default Level  `json:"default"`
	Rules   []Rule `json:"rules"`
}

// The identity of a file.
const (
	apiVersion = "cli.helm-locker.cattle.io/v1"
	fileKind   = "DriftSeverities"
)

//go:embed table.yaml
var builtIn []byte

// Default returns the built-in table.
func Default() (*Table, error) { return Read(builtIn) }

// Read parses a table in YAML or JSON. Unknown fields are errors.
func Read(text []byte) (*Table, error) {
	t := &Table{}
	if err := yaml.UnmarshalStrict(text, t); err != nil {
		return nil, fmt.Errorf("parse the severities: %w", err)
	}
	if t.APIVersion != apiVersion || t.Kind != fileKind {
		return nil, fmt.Errorf("the severities are no %s of %s, but %q of %q", fileKind, apiVersion, t.Kind,
			t.APIVersion)
	}
	if err := t.Default.Check(); err != nil {
		return nil, fmt.Errorf("default: %w", err)
	}
	for i := range t.Rules {
		if err := t.Rules[i].complete(); err != nil {
			return nil, fmt.Errorf("rules[%d]: %w", i, err)
		}
	}
	return t, nil
}

// complete checks a rule and parses its paths.
func (r *Rule) complete() error {
	if err := r.Severity.Check(); err != nil {
		return err
	}
	for _, kind := range r.Kinds {
		if _, err := path.Match(kind, ""); err != nil || kind == "" {
			return fmt.Errorf("kind %q is no KIND or KIND.GROUP", kind)
		}
	}
	if len(r.Paths) == 0 {
		return errors.New("it has no paths")
	}
	for _, p := range r.Paths {
		if !strings.HasPrefix(p, "/") {
			return fmt.Errorf("path %q is no JSON pointer, such as /spec/replicas", p)
		}
		if strings.Count(p, anyDepth) > 1 {
			return fmt.Errorf("path %q has more than one %s", p, anyDepth)
		}
		r.segments = append(r.segments, drift.Change{Path: p}.Segments())
	}
	return nil
}

// Of returns the level of a change at a path, and the reason, which may be empty. The first rule about the field or a
// field above it decides. A map, a list or an object that is changed as a whole has at least the level of each rule
// about a part of it; for an object, only rules that name its kind count.
func (t *Table) Of(o Object, pointer string) (level Level, reason string) {
	var part *Rule
	level, decided := t.Default, false
	change := drift.Change{Path: pointer}.Segments()
	for i := range t.Rules {
		r := &t.Rules[i]
		switch r.about(o, change) {
		case itself:
			if !decided {
				level, reason, decided = r.Severity, r.Reason, true
			}
		case aPart:
			if part == nil || !part.Severity.AtLeast(r.Severity) {
				part = r
			}
		case another:
		}
	}
	if part != nil && !level.AtLeast(part.Severity) {
		return part.Severity, part.Reason
	}
	return level, reason
}
