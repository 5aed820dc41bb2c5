package rules

import (
	"regexp"

	"k8s.io/apimachinery/pkg/labels"
)

// path is a parsed pointer.
type path []string

// rule is one IgnoreRule. It has paths, managers or deletion.
type rule struct {
	deletion bool
	target   target
	paths    []path
	pointers []string // paths as they were written
	managers []string // globs
}

// target selects objects. A nil field selects all.
type target struct {
	group, version, kind, name, namespace *regexp.Regexp
	labels, annotations                   labels.Selector
}

// AnySegment is the segment of a path that stands for every key or index.
const AnySegment = "*"
