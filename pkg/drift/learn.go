package drift

// Learn returns the differences of canonicalLive from desired. canonicalLive is the object that the API server returned
// directly after desired was applied. Compare with that baseline finds nothing in canonicalLive. It finds a later
// departure of these paths from their values there, and restores the desired value, from which the server makes the
// learnt one again. Learn does not use opt.Accepted.
//
// In scope Strict, opt.Strict holds the managed fields of canonicalLive. Additions of others that are still present
// were set again after their removal, by the server or by a webhook.
//
// Never learn from an object that others could have changed since: their changes would be accepted for good.
func Learn(desired, canonicalLive map[string]any, opt Options) Baseline {
	learnt := Baseline{}
	opt.Accepted = nil
	c := newComparer(opt)
	c.learnt = learnt
	c.mergeMap(desired, canonicalLive, opt.Schema.root)
	c.withoutOwners(desired, canonicalLive, canonicalLive)
	c.withoutFreeze(desired, canonicalLive, canonicalLive)
	c.learnNulls(desired, canonicalLive, opt.Schema.root)
	if opt.Strict != nil {
		opt.Strict.learn(desired, canonicalLive, opt, learnt)
	}
	return learnt
}
