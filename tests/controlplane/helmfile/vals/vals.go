// Package vals takes the place of helmfile's library for secrets of cloud providers and vaults, a third of its packages.
// It has the calls of helmfile. Values come back as they are, and a reference to a secret is an error.
package vals

import (
	"fmt"
	"io"
	"strings"
)

// Options are helmfile's settings. None has an effect.
type Options struct {
	LogOutput             io.Writer
	AWSLogLevel           string
	CacheSize             int
	FailOnMissingKeyInMap bool
}

// Evaluator replaces references to secrets.
type Evaluator interface {
	Eval(template map[string]any) (map[string]any, error)
}

// Runtime is the Evaluator without any secrets.
type Runtime struct{}

// New returns a Runtime.
func New(Options) (*Runtime, error) { return &Runtime{}, nil }

// Eval returns its argument. A reference to a secret is an error.
func (*Runtime) Eval(template map[string]any) (map[string]any, error) {
	if text := fmt.Sprint(template); strings.Contains(text, "ref+") {
		return nil, fmt.Errorf("this helmfile has no secrets: %s", text)
	}
	return template, nil
}
