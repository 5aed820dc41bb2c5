package rules

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/plain"
)

// Bounds of an error for a condition.
const (
	maxErrors  = 8
	maxMessage = 400 // bytes
	maxQuoted  = 150 // bytes of what a message quotes
)

// Bounds of the parts of a rule, in bytes of at most four to a character of the API's own bounds.
const (
	maxPath       = 4 * 1024
	maxManager    = 4 * 128
	maxExpression = 4 * 256
	maxSelector   = 4 * 1024
)

// compiler collects the errors of all rules.
type compiler struct {
	errs []error
	more int
}

// failf records an error in a field.
func (c *compiler) failf(field, format string, args ...any) {
	if len(c.errs) == maxErrors {
		c.more++
		return
	}
	message := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, fmt.Sprintf(format, args...))
	c.errs = append(c.errs, errors.New(field+": "+plain.Cut(message, maxMessage)))
}

func (c *compiler) err() error {
	if c.more > 0 {
		return errors.Join(append(c.errs, fmt.Errorf("spec.ignore: %d more errors", c.more))...)
	}
	return errors.Join(c.errs...)
}

func (c *compiler) rule(index int, r *v1alpha1.IgnoreRule) rule {
	field := fmt.Sprintf("spec.ignore[%d]", index)
	out := rule{deletion: r.Deletion}
	if len(r.Paths) == 0 && len(r.Managers) == 0 && !r.Deletion {
		c.failf(field, `an ignore rule needs paths, managers or deletion; use the path "" to ignore whole objects`)
	}
	c.bound(field+".paths", len(r.Paths))
	c.bound(field+".managers", len(r.Managers))
	for i, pointer := range r.Paths {
		if c.tooLong(fmt.Sprintf("%s.paths[%d]", field, i), pointer, maxPath) {
			continue
		}
		p, err := parsePointer(pointer)
		if err != nil {
			c.failf(fmt.Sprintf("%s.paths[%d]", field, i), "%q: %v", plain.Cut(pointer, maxQuoted), err)
			continue
		}
		out.paths, out.pointers = append(out.paths, p), append(out.pointers, pointer)
	}
	for i, manager := range r.Managers {
		if c.tooLong(fmt.Sprintf("%s.managers[%d]", field, i), manager, maxManager) {
			continue
		}
		if manager == "" {
			c.failf(fmt.Sprintf("%s.managers[%d]", field, i), "a manager has a name; use * for any manager")
		}
	}
	out.managers = slices.Clone(r.Managers)
	if r.Target != nil {
		out.target = c.target(field+".target", r.Target)
	}
	return out
}

func (c *compiler) bound(field string, length int) {
	if length > v1alpha1.MaxIgnorePaths {
		c.failf(field, "at most %d are allowed, not %d", v1alpha1.MaxIgnorePaths, length)
	}
}

// tooLong records an error for a text beyond the limit of the CustomResourceDefinition. The cluster may have an older
// one.
func (c *compiler) tooLong(field, text string, most int) bool {
	if len(text) > most {
		c.failf(field, "at most %d bytes are allowed, not %d", most, len(text))
		return true
	}
	return false
}

func (c *compiler) target(field string, t *v1alpha1.IgnoreTarget) target {
	return target{
		group:       c.expression(field+".group", t.Group),
		version:     c.expression(field+".version", t.Version),
		kind:        c.expression(field+".kind", t.Kind),
		name:        c.expression(field+".name", t.Name),
		namespace:   c.expression(field+".namespace", t.Namespace),
		labels:      c.selector(field+".labelSelector", t.LabelSelector),
		annotations: c.selector(field+".annotationSelector", t.AnnotationSelector),
	}
}

// expression compiles a regular expression for matches; nil for an empty one.
func (c *compiler) expression(field, text string) *regexp.Regexp {
	if c.tooLong(field, text, maxExpression) {
		return nil
	}
	if text == "" {
		return nil
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		var reason *syntax.Error
		if errors.As(err, &reason) {
			err = errors.New(reason.Code.String())
		}
		c.failf(field, "%q is no regular expression: %v", plain.Cut(text, maxQuoted), err)
		return nil
	}
	compiled.Longest()
	return compiled
}

// selector parses a label selector; nil for an empty one.
func (c *compiler) selector(field, text string) labels.Selector {
	if c.tooLong(field, text, maxSelector) {
		return nil
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	selector, err := labels.Parse(text)
	if err != nil {
		c.failf(field, "%q is no label selector: %v", plain.Cut(text, maxQuoted), err)
		return nil
	}
	return selector
}

// badTilde matches a tilde that escapes nothing.
var badTilde = regexp.MustCompile(`~([^01]|$)`)

// parsePointer splits an RFC 6901 pointer into its unescaped segments.
func parsePointer(pointer string) (path, error) {
	switch {
	case pointer != "" && pointer[0] != '/':
		return nil, errors.New(`a path is empty or begins with a slash`)
	case badTilde.MatchString(pointer):
		return nil, errors.New(`a tilde in a key is written ~0, a slash ~1`)
	}
	return drift.Change{Path: pointer}.Segments(), nil
}
