package main

// textIsNoCoordinate are the mutants of I14: a tenant's text is validated before it becomes part of a request.
func textIsNoCoordinate() []mutant {
	const key, segments = "pkg/release/key.go", "pkg/watch/metadata.go"
	const hostile = "TestHostile_AnnotationsAreNoCoordinates"
	return []mutant{
		breaks("I14", "a release is named by any text", edit{key, `	if len(validation.IsDNS1123Label(namespace)) > 0`,
			`	if namespace == "" && len(validation.IsDNS1123Label(namespace)) > 0`}, releases,
			"TestKeyOfTakesNamesOfNamespaces"),
		breaks("I14", "what annotations say is taken for a release", edit{"pkg/judge/judge.go",
			`	return release.KeyOf(annotations[manifest.ReleaseNamespaceAnnotation],
		annotations[manifest.ReleaseNameAnnotation])`,
			`	return release.Key{Namespace: annotations[manifest.ReleaseNamespaceAnnotation],
		Name: annotations[manifest.ReleaseNameAnnotation]}`}, tenancy, hostile),
		breaks("I14", "a record may be of a release that Helm refuses",
			edit{"pkg/release/record.go", `	if KeyOf(rec.Key.Namespace, name) == (Key{}) {`,
				`	if KeyOf(rec.Key.Namespace, name) == rec.Key {`}, releases,
			"TestRecordOfRejectsNamesThatHelmRefuses"),
		breaks("I14", "a selector is made of any text",
			edit{"pkg/release/record.go", `	selector, err := set.AsValidatedSelector()`,
				`	selector, err := labels.SelectorFromSet(set), error(nil)`}, releases, "TestSelectorRefusesWhatIsNoName"),
		breaks("I14", "a namespace is any part of a path", edit{segments,
			`		if problems := rest.IsValidPathSegmentName(segment); len(problems) > 0 {`,
			`		if problems := rest.IsValidPathSegmentName(segment); len(problems) > 9 {`}, watch,
			"TestHostile_NoNamespaceAndNoNameLeadsElsewhere"),
		breaks("I14", "an answer is read whatever its size",
			edit{segments, `	if b.left -= int64(n); b.left < 0 {`, `	if b.left -= int64(n); b.left < 0 && n < 0 {`}, watch,
			"TestHostile_AnAnswerIsNoLargerThanWhatWasAskedFor"),
		breaks("I14", "the controller deletes an object without the kernel",
			edit{"pkg/controller/pruning.go", `	err = pr.enforcer.Prune(ctx, revert.Object(v.Object), v.Live)`,
				`	err = pr.clients.Dynamic.Resource(v.GVR).Namespace(v.ID.Namespace).Delete(ctx, v.ID.Name, metav1.DeleteOptions{})`},
			"./tests/callgraph", "TestI14_EveryWriteGoesThroughTheKernel"),
		breaks("I8", "naming a release whose record is none is a way out of the lock",
			edit{"pkg/proof/verifier.go", `	return apierrors.IsForbidden(err) || errors.Is(err, release.ErrRecord)`,
				`	return apierrors.IsForbidden(err) || errors.Is(err, release.ErrRecord) && err == nil`}, tenancy,
			"TestHostile_AReleaseWithoutARecordOwnsNothing"),
		breaks("I12", "every object of a release may ask about another one at once",
			edit{"pkg/controller/slots.go", `claims:    fair.NewSemaphore(fair.Limits{All: 8, Each: 1, Slow: slowRequest})`,
				`claims:    fair.NewSemaphore(fair.Limits{All: math.MaxInt, Each: math.MaxInt})`}, tenancy,
			"TestHostile_ManyClaimsAreOneQuestionAtATime"),
		breaks("I8", "naming a release whose record is none opens the guard",
			edit{"pkg/claims/stances.go", `		case proof.OwnsNothing(err):
			return DeclaresNot`, `		case err == nil && proof.OwnsNothing(err):
			return DeclaresNot`},
			"./tests/guard", "TestHostile_AClaimOfNoReleaseIsRefused"),
	}
}
