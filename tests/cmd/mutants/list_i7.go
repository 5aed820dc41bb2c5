package main

// secretsStaySecret are the mutants of I7.
func secretsStaySecret() []mutant {
	const errorsFile, judge = "pkg/apierror/apierror.go", "pkg/controller/judge.go"
	const test = "TestI7_SecretsStaySecret"
	return []mutant{
		breaks("I7", "what a webhook or a policy says about a Secret is passed on",
			edit{errorsFile, `	if kind != (schema.GroupKind{Kind: "Secret"}) || !errors.As(err, &status) {`,
				`	if kind.Kind != "" || !errors.As(err, &status) {`}, integration, test),
		breaks("I7", "a refusal is described by its message",
			edit{errorsFile, `	text := fmt.Sprintf("the API server refused it: %s", s.Reason)`,
				`	text := fmt.Sprintf("the API server refused it: %s", s.Message)`}, integration, test),
		breaks("I7", "a refused dry run is logged with its message",
			edit{"pkg/controller/form.go", `Debugf("dry run: %s", apierror.About(v.ID.GroupKind(), err))`,
				`Debugf("dry run: %s%.0s", err, apierror.About(v.ID.GroupKind(), err))`}, integration, test),
		breaks("I7", "drifted content is logged at trace level", edit{judge, `	v.Found = judge.Judge(v.in)
`, `	v.Found = judge.Judge(v.in)
	if w.Live != nil {
		cp.Log.WithField("live", w.Live.Object["data"]).Debug("judged")
	}
`}, integration, test),
		breaks("I7", "wrangler gets the contents of objects, which it logs",
			edit{"pkg/enforce/objectset.go", `		ApplyObjects(ref)`,
				`		ApplyObjects(&unstructured.Unstructured{Object: r.Desired})`}, integration, test),
		breaks("I7", "status and events say what a field is now",
			edit{"pkg/events/drift.go", `drift.Describe(p.Changes, plain.MaxNamed) + " changed"`,
				`fmt.Sprint(drift.Describe(p.Changes, plain.MaxNamed), " changed: ", d.Live.Object["data"])`},
			integration, test).and(edit{"pkg/events/drift.go", `import (`, `import (
	"fmt"`}),
		breaks("I7", "a refusal by validation is described with the values at fault",
			edit{errorsFile, `	if faultyFields(s) != "" || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {`,
				`	if apierrors.IsForbidden(err) {`}, "./pkg/apierror", "TestAnErrorIsDescribedWithoutTheValuesInIt"),
		breaks("I7", "the error of a payload that is not JSON quotes it",
			edit{"pkg/release/decode.go", `		return fmt.Errorf("%w: it is not JSON at byte %d; %s", ErrFormat, syntaxErr.Offset, advice)`,
				`		return fmt.Errorf("%w: it is not JSON at byte %d: %w; %s", ErrFormat, syntaxErr.Offset, err, advice)`},
			releases, "TestDecodeExplainsBadPayloadsAndLeaksNothing"),
		breaks("I7", "the page gets the values of Secrets",
			edit{"pkg/page/compare.go", `Masker: report.NewMasker(key)`, `Masker: report.Masker{Show: true}`},
			statusPage, "TestI7_ThePageGetsNoValueOfASecret"),
		breaks("I7", "a comparison shows a Secret's value where another object repeats it",
			edit{"pkg/report/mask.go", `	if m.Show || object == nil {`,
				`	if m.Show || object["kind"] != "Secret" {`}, "./pkg/inspect", "TestNoValueOfEitherSideGetsOut"),
		breaks("I7", "a comparison masks declared values of Secrets, and live ones only in their own fields",
			edit{"pkg/inspect/mask.go", `	s.keep(live.Object)`, `	s.keep(nil)`}, "./pkg/inspect",
			"TestNoValueOfEitherSideGetsOut"),
		breaks("I7", "a comparison masks live values of Secrets, and declared ones only in their own fields",
			edit{"pkg/inspect/mask.go", `			s.keep(o.Content)`, `			s.keep(nil)`}, "./pkg/inspect",
			"TestNoValueOfEitherSideGetsOut"),
		breaks("I7", "a manifest is shown with the values that its objects quote",
			edit{"pkg/report/manifest.go", `err := v.addDocument(doc.text); errors`,
				`err := v.addDocument(doc.separator); errors`}, "./pkg/report",
			"TestAManifestThatQuotesItsValuesIsMasked"),
	}
}

// noExemption are the mutants of I8.
func noExemption() []mutant {
	const judge, owners, test = "pkg/judge/judge.go", "pkg/controller/owners.go",
		"TestI8_LiveMetadataExemptsNothing"
	exempt := func(condition string) edit {
		return edit{judge, `	r := Result{Desired: desired, Options: options}
`, `	if ` + condition + ` {
		return Result{State: InSync, Baseline: in.Baseline}
	}
	r := Result{Desired: desired, Options: options}
`}
	}
	return []mutant{
		breaks("I8", "the annotation that exempts an object counts on live objects",
			exempt(`in.Live.GetAnnotations()["helmreleases.cattle.io/lock"] == "disabled"`), integration, test),
		breaks("I8", "resource-policy keep on a live object exempts it",
			exempt(`in.Live.GetAnnotations()["helm.sh/resource-policy"] == "keep"`), integration, test),
		breaks("I8", "an object that says it is another release's is left alone", edit{owners, `	if waits || len(unread) > 0 {`,
			`	if waits || len(known) == 0 {`}, integration, test),
		breaks("I8", "a live annotation opts an object out",
			edit{judge, `	if in.Live.GetDeletionTimestamp() != nil {`, `	if in.Live.GetAnnotations()["helmreleases.cattle.io/lock"] != "" {
		return Result{State: InSync}
	}
	if in.Live.GetDeletionTimestamp() != nil {`}, integration, "TestI8_OptOutCountsInTheManifestOnly"),
		breaks("I8", "an object that says it is the release's that does not declare it is left alone",
			edit{"pkg/claims/declarations.go", `d.as == named) && d.has(id)`, `d.as == named || d.has(id))`}, integration,
			test),
		breaks("I8", "an object without Helm's label is taken for somebody else's",
			exempt(`in.Live.GetLabels()[manifest.ManagedByLabel] != manifest.ManagedByHelm`), integration, test),
	}
}
