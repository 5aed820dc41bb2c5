package drift

import (
	"maps"
	"slices"
	"strconv"
)

// withoutOwners removes the undeclared owner references from the target, in both scopes. The garbage collector deletes
// an object without existing owners, at once or when they are deleted, so an added reference deletes the object.
func (c *recorder) withoutOwners(desired, live, target map[string]any) map[string]any {
	declared, have := ownerReferences(desired), ownerReferences(live)
	if len(have) == 0 {
		return target
	}
	defer func() { c.path = c.path[:0] }()
	for _, segment := range []string{"metadata", "ownerReferences"} {
		if c.push(segment); c.ignored() {
			return target
		}
	}
	var out []any
	for j, ref := range have {
		if isOwnerIn(declared, ref) || c.adopted != nil && c.adopted(mapOf(ref)) || c.ignoredAt(strconv.Itoa(j)) {
			continue
		}
		hash := fingerprint(ref)
		key := Pointer(c.path...) + "/" + additionSuffix + strconv.FormatUint(hash, 16)
		if learnt, ok := c.accepted[key]; ok && learnt == hash {
			continue
		}
		if c.learnt != nil {
			c.learnt[key] = hash
		}
		c.reportAdded(strconv.Itoa(j))
		out = append(out, ref)
	}
	if len(out) == 0 {
		return target
	}
	left := slices.DeleteFunc(slices.Clone(ownerReferences(target)), func(ref any) bool { return isOwnerIn(out, ref) })
	target = maps.Clone(target)
	metadata := maps.Clone(mapOf(target["metadata"]))
	if metadata["ownerReferences"] = left; len(left) == 0 {
		delete(metadata, "ownerReferences")
	}
	target["metadata"] = metadata
	return target
}

func ownerReferences(object map[string]any) []any {
	refs, _ := mapOf(object["metadata"])["ownerReferences"].([]any)
	return refs
}

// isOwnerIn reports whether a list has a reference to the same owner, by its uid.
func isOwnerIn(refs []any, ref any) bool {
	uid := mapOf(ref)["uid"]
	return slices.ContainsFunc(refs, func(r any) bool { return mapOf(r)["uid"] == uid })
}
