package manifest

import (
	"regexp"
)

// document is one piece of a manifest between two separators.
type document struct {
	// index counts from 1. line is the first line of the text in the manifest, from 1.
	index int
	line  int
	text  string
}

// Helm's comment before each rendered template. Only path characters match: the path is part of errors.
var sourceComment = regexp.MustCompile(`(?m)^# Source: ([A-Za-z0-9_@+./-]{1,200})[ \t]*\r?$`)

// source returns the template's path from Helm's "# Source:" comment, or nothing. It is only searched for an error.
func (d document) source() string {
	if found := sourceComment.FindStringSubmatch(d.text[:min(len(d.text), headBytes)]); found != nil {
		return found[1]
	}
	return ""
}

const (
	// maxDepth bounds how deep a document nests. The deepest real ones, CRDs, stay well below 100.
	maxDepth = 500
	// aliasGrowth bounds the nodes and the bytes of text added by all aliases of a manifest together. The API server
	// accepts no request above 3 MiB, so real manifests need far less.
	aliasGrowth = 4 << 20
	// maxBytes bounds a manifest. A release Secret holds 1 MiB compressed, and real manifests compress by a factor
	// of 5 to 20.
	maxBytes = 16 << 20
	// maxMarks bounds the characters of one document that may begin an element (see marks). The YAML library takes up
	// to 500 bytes of memory for each.
	maxMarks = 1 << 18
	// maxNodes bounds the mappings, sequences and scalars of a manifest; a decoded one takes a hundred times the
	// memory of its text. The largest real manifests, of CRDs, have less than half of that.
	maxNodes = 1 << 18
	// maxObjectNodes is maxNodes for one object; several copies of it are in memory while it is written. The largest
	// definitions have less than half of that.
	maxObjectNodes = 1 << 16
	// maxObjects bounds the objects of a release. Each one takes memory and is watched while the release is locked.
	maxObjects = 20000
	// MaxDocuments bounds the documents of a manifest, those without an object included.
	MaxDocuments = 2 * maxObjects
	// smallBytes and smallMarks are the limits of manifests that many callers may parse at the same time: one takes
	// a few MiB.
	smallBytes = 512 << 10
	smallMarks = 1 << 14
)

const (
	bom = "\ufeff"
	// headBytes is the searched part of a document for the comment with its source.
	headBytes = 1024
)
