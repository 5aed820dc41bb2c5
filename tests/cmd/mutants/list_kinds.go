package main

// everyKind are the mutants of what a lock restores in objects of every kind.
func everyKind() []mutant {
	const sets, consequences, whole, kept = "pkg/drift/sets.go", "pkg/drift/consequences.go", "pkg/drift/whole.go",
		"pkg/drift/kept.go"
	const brought = "TestWhatAChangeBroughtAlongGoesWithIt"
	return []mutant{
		{
			promise: "I5", what: "objects wait on although their namespace is there again",
			edit: edit{"pkg/controller/namespaces.go", `return o.ID.Namespace == w.ID.Name`,
				`return o.ID.Namespace == ""`},
			pkg: integration, run: "TestI5_ObjectsAreBackWithTheirNamespace",
		},
		{
			promise: "I5", what: "an attempt that began before a retry makes its object wait",
			edit: edit{"pkg/lock/lock.go", `o.Failed && !s.retry {`, `o.Failed {`}, pkg: lock,
			run: "TestRetryEndsTheWaitAfterAFailure",
		},
		{
			promise: "I4", what: "an edited element of a set stays beside the declared one",
			edit: edit{sets, `if !n.edited || !sameLength`, `if true || !sameLength`}, pkg: drift,
			run: "TestEditedElementsOfSets",
		},
		{
			promise: "I4", what: "an element of a set that others added goes when another one is missing",
			edit: edit{sets, `if !n.edited || !sameLength`, `if !n.edited || !sameLength && i >= len(entries)`},
			pkg:  drift, run: "TestEditedElementsOfSets",
		},
		{
			promise: "I4", what: "lists that an apply merges are restored by an apply alone",
			edit: edit{"pkg/drift/lists.go", `n != nil && n.merged) &&`, `false) &&`}, pkg: drift,
			run: "TestListsThatAnApplyMergesAreOneValue",
		},
		{
			promise: "I4", what: "node ports stay in a Service that is to have none",
			edit: edit{consequences, `		without := maps.Clone(port)
		delete(without, "nodePort")`, `		without := maps.Clone(port)`}, pkg: drift, run: brought,
		},
		{
			promise: "I4", what: "a node port that was there before another change goes with it",
			edit: edit{consequences, ` ||
		!slices.ContainsFunc(c.changes, isCause) {`, ` || isCause(Change{}) {`}, pkg: drift, run: brought,
		},
		{
			promise: "I4", what: "labels of the template stay in an object whose own were removed",
			edit: edit{consequences, `			delete(labels, key)
`, ``}, pkg: drift, run: brought,
		},
		{
			promise: "I4", what: "scope Strict leaves a changed default inside of a list without keys",
			edit: edit{whole, `if !deepEqual(declared, have) && s.record`, `if false && s.record`}, pkg: drift,
			run: "TestStrictShapes|TestStrictMapsWithOneOwner",
		},
		{
			promise: "I6", what: "scope Strict fights the API server's default inside of a list without keys",
			edit: edit{whole, `s.record(Modified, s.c.additionKey(), fingerprint(have))`,
				`s.record(Modified, s.c.additionKey(), 0)`},
			pkg: drift, run: "TestStrictLearns",
		},
		{
			promise: "I4", what: "a null that the API server keeps is not learnt",
			edit: edit{"pkg/drift/learn.go", `	c.learnNulls(desired, canonicalLive, opt.Schema.root)
`, `	_ = c.learnNulls
`}, pkg: drift, run: "TestDeclaredNulls",
		},
		{
			promise: "I1", what: "a null that Helm 3 took out in an upgrade is put in again",
			edit: edit{"pkg/drift/nulls.go", `	if len(c.accepted) == 0 {
		return true
	}
	learnt, kept := c.learntNull()
	if !kept {
		return true
	}`, `	learnt, kept := c.learntNull()
	if !kept {
		return live[key] == nil
	}`}, pkg: drift, run: "TestDeclaredNulls",
		},
		{
			promise: "I4", what: "nulls are dropped from manifests",
			edit: edit{"pkg/manifest/resolve.go", `		n.restore(o.Content)`, `		_ = n`}, pkg: manifest,
			run: "TestNullsStayWhereTheAPIServerMayKeepThem",
		},
		{
			promise: "I4", what: "a null is written by a merge patch, which takes it out",
			edit: edit{"pkg/drift/nulls.go", `		if want == nil && (!there || have != nil) {
			return true`, `		if want == nil && (!there || have != nil) {
			return false`}, pkg: drift, run: "TestJSONPatch",
		},
		{
			promise: "I4", what: "scope Strict takes an IP family policy out, which changes nothing",
			edit: edit{kept, `		return string(corev1.IPFamilyPolicyRequireDualStack)
	}
	return string(corev1.IPFamilyPolicySingleStack)`, `		return nil
	}
	return nil`}, pkg: drift, run: "TestStrictGivesAServiceItsIPFamilyPolicyBack",
		},
	}
}
