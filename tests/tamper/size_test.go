package tamper

import (
	"flag"
	"time"
)

// The flags of the suite, as in: go test ./tests/tamper -full -seed 7 -charts shapes,podinfo
var (
	full  = flag.Bool("full", false, "run the full form: many more mutations, and each chart by both Helms")
	seed  = flag.Uint64("seed", 1, "choose which mutations of each object are made")
	only  = flag.String("charts", "", "comma-separated names of the charts to use (default all)")
	table = flag.String("table", "", "write the tables to this file, as Markdown")
)

// hands is how many objects are tampered with at the same time.
const hands = 3

// quiet is the duration without writes when nobody tampers.
func quiet() time.Duration {
	if *full {
		return 30 * time.Second
	}
	return 3 * time.Second
}

// size bounds the mutations of one object, by class; a single CustomResourceDefinition has ten thousand scalars.
type size map[class]int

func (s size) of(cl class) int { return s[cl] }

// sizeFor returns the bounds for an object. The API server can take a second to write a CustomResourceDefinition, and
// its deletion deletes all custom resources, so that these get few.
func sizeFor(o *object) size {
	switch {
	case *full && o.isDefinition():
		return size{scalar: 10, mergeKey: 4, removal: 10, reorder: 4, ownership: 5, takeover: 1, strict: 10, blank: 10,
			undeclared: 10}
	case *full:
		return size{scalar: 30, mergeKey: 20, removal: 25, reorder: 10, ownership: 5, takeover: 3, strict: 60,
			blank: 60, undeclared: 60}
	case o.isDefinition():
		return size{scalar: 1, removal: 1, strict: 1, blank: 1, undeclared: 1}
	}
	return size{scalar: 2, mergeKey: 1, removal: 1, reorder: 1, ownership: 1, takeover: 1, strict: 2, blank: 2,
		undeclared: 2}
}
