package drift

import "maps"

// withoutFreeze removes an undeclared `immutable: true` of a ConfigMap or Secret from the target, in both scopes and
// with any owner. It forbids every later change of the data, by Helm too, and the API server never unsets it. No other
// undeclared field of a built-in kind does that: those that cannot be unset forbid only their own change.
func (c *recorder) withoutFreeze(desired, live, target map[string]any) map[string]any {
	const field = "immutable"
	kind := desired["kind"]
	if live[field] != true || desired[field] != nil || desired["apiVersion"] != "v1" ||
		kind != "ConfigMap" && kind != "Secret" {
		return target
	}
	c.push(field)
	defer c.pop()
	seen := func() uint64 { return fingerprint(true) }
	if c.ignored() || c.accepts(seen) {
		return target
	}
	c.report(Added, seen)
	c.foreign = true
	target = maps.Clone(target)
	delete(target, field)
	return target
}
