package drift

// comparer is one comparison. Its merge methods find the changes and build the target.
type comparer struct {
	recorder
	complete bool // see Schema
	tries    int  // searches for the partner of an element so far, see maxTries
}

func newComparer(opt Options) comparer {
	return comparer{recorder: recorder{cursor: newCursor(opt), adopted: opt.Adopted}, complete: opt.Schema.complete}
}

func (c *comparer) try() bool {
	c.tries++
	return c.tries <= maxTries
}

// maxTries bounds the comparisons of one Compare that search for the partner of a list element. A huge rewritten list
// costs no more than its restoration.
const maxTries = 1 << 14
