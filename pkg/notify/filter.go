package notify

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/rancher/helm-locker/pkg/severity"
)

// filter selects the messages of a receiver.
type filter struct {
	least      severity.Level // of a drift
	namespaces []string       // patterns for the namespace of a release; empty for all
}

// errFragment does not quote the fragment: it may be a part of a password.
var errFragment = errors.New("the part after # selects messages: #severity=high, #namespace=team-*,shop, or both " +
	"with & between them")

// filter returns the filter in the fragment of a URL, which is never sent to a server.
func (o Options) filter(fragment string) (filter, error) {
	f := filter{least: cmp.Or(o.Severity, severity.Low)}
	values, err := url.ParseQuery(fragment)
	if err != nil {
		return f, errFragment
	}
	for name, given := range values {
		text := given[0]
		switch {
		case len(given) > 1 || text == "":
			return f, errFragment
		case name == "severity":
			f.least = severity.Level(text)
		case name == "namespace":
			f.namespaces = strings.Split(text, ",")
		default:
			return f, errFragment
		}
	}
	if err := f.least.Check(); err != nil {
		return f, fmt.Errorf("its severity is none of %s", strings.Join(severity.Levels(), ", "))
	}
	for _, pattern := range f.namespaces {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return f, errors.New("one of its namespaces is neither a name nor a pattern with * and ?")
		}
	}
	return f, nil
}

// take reports whether a message is for the receiver. One about no release, such as that of lost messages, is for all.
func (f filter) take(e event) bool {
	if e.Severity != "" && !e.Severity.AtLeast(f.least) {
		return false
	}
	return len(f.namespaces) == 0 || e.Release == nil || slices.ContainsFunc(f.namespaces, func(pattern string) bool {
		matches, err := path.Match(pattern, e.Release.Namespace)
		return err == nil && matches
	})
}
