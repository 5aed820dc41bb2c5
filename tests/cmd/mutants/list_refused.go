package main

// whatIsRefused are the mutants of reverts that the API server refuses, and of the same judgement in the commands and
// the guard.
func whatIsRefused() []mutant {
	const search, guarding = "pkg/salvage/salvage.go", "pkg/controller/forbidding.go"
	const salvage, few = "./pkg/salvage", "TestTrialsFindFewAdditions"
	return []mutant{
		breaks("I13", "an addition that forbids the declared value passes the guard",
			edit{guarding, `	if len(added) == 0 {`, `	if len(added) < 100 {`}, guardSuite,
			"TestI13_AnAdditionThatForbidsTheDeclaredValueIsRefused"),
		breaks("I13", "every addition beside one that forbids the declared value is refused",
			edit{guarding, `	for _, a := range all {`, `	for _, a := range append(all, added...) {`}, guardSuite,
			"TestI13_AnAdditionThatForbidsTheDeclaredValueIsRefused"),
		breaks("I6", "an addition is taken out as a whole where a part is enough",
			edit{search, `		if len(inner) < 2 {`, `		if len(inner) < 200 {`}, salvage, few),
		breaks("I6", "without dry runs every addition is taken out",
			edit{search, `	return those(all, causes, func(x T, c []string) bool { return nearness(x, c) == len(c) })`,
				`	return those(all, causes, func(x T, c []string) bool { return nearness(x, c) >= 0 })`}, salvage, few),
		breaks("I6", "the dry runs of one object have no bound",
			edit{search, `	if t.left == 0 {`, `	if t.left == -1 {`}, salvage, "TestTrialsAreBounded|"+few),
		breaks("I5", "a missing permission counts as a refusal of the content",
			edit{search, `!unauthorized.MatchString(status.Status().Message)`, `!unauthorized.MatchString("")`}, salvage,
			"TestRefusalsOfContent"),
		breaks("I5", "an undeclared aggregation replaces the declared rules again and again",
			edit{"pkg/drift/kinds.go", `byType("rules", "aggregationRule")`, `byType("rules")`}, drift,
			"TestWhatAChangeBroughtAlongGoesWithIt"),
		breaks("I5", "a caBundle that forbids the declared value stays",
			edit{"pkg/drift/kept.go", `spec["insecureSkipTLSVerify"] == true`, `spec == nil`}, fidelity,
			"TestI5_ACABundleThatForbidsTheDeclaredValueGoes"),
		breaks("I6", "ignored additions are taken out",
			edit{"pkg/drift/additions.go", `	if !f.c.ignored() {`, `	if true {`}, drift, "TestAdditions"),
		breaks("I6", "additions of Kubernetes are taken out",
			edit{"pkg/drift/additions.go", `return system(manager) || keep != nil && keep(manager)`,
				`return keep != nil && keep(manager)`}, drift, "TestAdditions"),
		breaks("T2", "an object with a refused field counts as protected",
			edit{"pkg/controller/coverage.go", `			c.partly++`, `			c.partly += 0`}, controller,
			"TestLockedCountsObjectsThatAreProtectedInPart"),
		breaks("I4", "a refused field is left out of a server-side apply, which deletes it",
			edit{"pkg/drift/ignored.go", `	case have != nil && (s.atomic > 0 || s.ownedHere()):`,
				`	case have != nil && s.atomic > 0:`}, fidelity, "TestI5_ARefusedFieldWithholdsNoOther/helm_4"),
		breaks("T2", "an object is advised to be replaced that could not be created",
			edit{"pkg/enforce/replace.go", `	return err == nil && w.tryCreate(ctx, r) == nil`, `	return err == nil && w != nil`},
			fidelity, "TestAdviceOnlyWhereAFieldIsImmutable"),
		breaks("T2", "diff promises a revert that the API server refuses",
			edit{"pkg/inspect/object.go", `	if salvage.RefusesContent(err) {`, `	if salvage.RefusesContent(nil) {`}, fidelity,
			"TestDiffShowsWhatTheAPIServerRefuses"),
		breaks("I6", "without a dry run an unset field is drift",
			edit{"pkg/drift/unset.go", `	return sameAsAbsent(v, n)
}`, `	return sameAsAbsent(v, nil) && n == nil
}`}, drift, "TestUnset"),
		breaks("I6", "an empty merge key is another one than the API server's",
			edit{"pkg/drift/schema.go", `v != nil && (v != "" || !k.byValue)`, `v != nil`}, drift, "TestCompare"),
		breaks("T2", "an invisible difference is printed as it is",
			edit{"pkg/plain/plain.go", `return unicode.IsPrint(r) || allowed(r) || joins(r)`,
				`return unicode.IsPrint(r) || allowed(r) || joins(r) || r == 0x200b`}, "./tests/clitest",
			"TestDiffShowsInvisibleCharacters"),
	}
}
