package main

// everyKind are the mutants of reverts in objects of every kind.
func everyKind() []mutant {
	const sets, consequences, whole, kept = "pkg/drift/sets.go", "pkg/drift/consequences.go", "pkg/drift/whole.go",
		"pkg/drift/kept.go"
	const brought = "TestWhatAChangeBroughtAlongGoesWithIt"
	return []mutant{
		breaks("I5", "objects wait on although their namespace is there again",
			edit{"pkg/controller/namespaces.go", `return o.ID.Namespace == w.ID.Name`,
				`return o.ID.Namespace == ""`}, integration, "TestI5_ObjectsAreBackWithTheirNamespace"),
		breaks("I5", "an attempt that began before a retry makes its object wait",
			edit{"pkg/lock/outcome.go", `o.Failed && !s.retry {`, `o.Failed {`}, lock, "TestRetryEndsTheWaitAfterAFailure"),
		breaks("I4", "an edited element of a set stays beside the declared one",
			edit{sets, `if !n.edited || !sameLength`, `if true || !sameLength`}, drift, "TestEditedElementsOfSets"),
		breaks("I4", "an element of a set that others added goes when another one is missing",
			edit{sets, `if !n.edited || !sameLength`, `if !n.edited || !sameLength && i >= len(entries)`}, drift,
			"TestEditedElementsOfSets"),
		breaks("I4", "lists that an apply merges are restored by an apply alone",
			edit{"pkg/drift/lists.go", `n != nil && n.merged) &&`, `false) &&`}, drift,
			"TestListsThatAnApplyMergesAreOneValue"),
		breaks("I4", "node ports stay in a Service that is to have none",
			edit{consequences, `		without := maps.Clone(port)
		delete(without, "nodePort")`, `		without := maps.Clone(port)`}, drift, brought),
		breaks("I4", "a node port that was there before another change goes with it", edit{consequences, ` ||
		!slices.ContainsFunc(c.changes, isCause) {`, ` || isCause(Change{}) {`}, drift, brought),
		breaks("I4", "labels of the template stay in an object whose own were removed",
			edit{consequences, `			delete(labels, key)
`, ``}, drift, brought),
		breaks("I4", "scope Strict leaves a changed default inside of a list without keys",
			edit{whole, `if !deepEqual(declared, have) && s.record`, `if false && s.record`}, drift,
			"TestStrictShapes|TestStrictMapsWithOneOwner"),
		breaks("I6", "scope Strict fights the API server's default inside of a list without keys",
			edit{whole, `s.record(Modified, s.c.additionKey(), fingerprint(have))`,
				`s.record(Modified, s.c.additionKey(), 0)`}, drift, "TestStrictLearns"),
		breaks("I4", "a null that the API server keeps is not learnt",
			edit{"pkg/drift/learn.go", `	c.learnNulls(desired, canonicalLive, opt.Schema.root)
`, `	_ = c.learnNulls
`}, drift, "TestDeclaredNulls"),
		breaks("I1", "a null that Helm 3 took out in an upgrade is put in again",
			edit{"pkg/drift/nulls.go", `	if len(c.accepted) == 0 {
		return
	}
	c.buf = append(appendPointer(c.buf[:0], c.path), nullSuffix...)
	learnt, kept := c.accepted[string(c.buf)]
	have, there := m.live[key]
	if !kept ||`, `	c.buf = append(appendPointer(c.buf[:0], c.path), nullSuffix...)
	learnt, kept := c.accepted[string(c.buf)]
	have, there := m.live[key]
	if !kept && have == nil ||`}, drift, "TestDeclaredNulls"),
		breaks("I4", "nulls are dropped from manifests",
			edit{"pkg/manifest/resolve.go", `		n.restore(o.Content)`, `		_ = n`}, manifest,
			"TestNullsStayWhereTheAPIServerMayKeepThem"),
		breaks("I4", "a null is written by a merge patch, which takes it out",
			edit{"pkg/drift/nulls.go", `		if want == nil && (!there || have != nil) {
			return true`, `		if want == nil && (!there || have != nil) {
			return false`}, drift, "TestJSONPatch"),
		breaks("I4", "scope Strict takes an IP family policy out, which changes nothing",
			edit{kept, `		return string(corev1.IPFamilyPolicyRequireDualStack)
	}
	return string(corev1.IPFamilyPolicySingleStack)`, `		return nil
	}
	return nil`}, drift, "TestStrictGivesAServiceItsIPFamilyPolicyBack"),
	}
}
