package main

// whatIsToldIsTrue are the mutants of reported facts: the author and the lifetime of a change, additions of others,
// and open windows.
func whatIsToldIsTrue() []mutant {
	const attribute, life, windows = "pkg/drift/attribute.go", "pkg/controller/life.go", "pkg/lock/windows.go"
	const apart, lives = "TestEachChangeIsItsAuthors", "TestTheLifeOfAChange"
	const additions, wrong = "TestAdditionsThatDeclaredLeavesAloneAreCounted",
		"TestWindowsThatAreWrongKeepTheReleaseLocked"
	return []mutant{
		breaks("T2", "all changes are the first author's", edit{attribute, `return a.Author == author })`,
			`return a.Author.Manager != "" })`}, drift, apart),
		breaks("T2", "a removal is ascribed to whoever wrote last", edit{attribute,
			`if w.alone || slices.Contains(authors, w.suspect) {`, `if len(authors) > 0 {`}, drift, apart),
		breaks("T2", "one of two who wrote in the same second is blamed", edit{attribute,
			`			w.suspect = nil
`, ``}, drift, apart),
		breaks("T2", "a controller of Kubernetes is blamed for what it answers", edit{attribute,
			` || system(m.Manager) {`, ` {`}, drift, apart),
		breaks("T2", "what was changed while no operator ran lived since it was seen", edit{life,
			`known && (v.First || `, `known && (`}, integration, "TestEachManagerIsToldApart"),
		breaks("T2", "a late watch event counts as the change", edit{life, ` > missedAfter)`, ` < 0)`}, controller,
			lives),
		breaks("T2", "whole seconds count where there are milliseconds", edit{life, ` > missedAfter)`, ` > 0)`},
			controller, lives),
		breaks("T2", "the time of a manager's last write counts as that of a removal", edit{life,
			`		if c.Op != drift.Removed {`, `		if c.Op != drift.Removed || c.Path != "" {`}, controller, lives),
		breaks("T2", "a change that is older than the lock counts from the change", edit{life,
			`changed.After(l.Began)`, `!changed.IsZero()`}, controller, lives),
		breaks("T2", "additions are not counted after a revert", edit{"pkg/controller/act.go",
			`Additions: v.in.HasAdditions(v.found, done)`, `Additions: false`}, integration, additions),
		breaks("T2", "additions are not counted when an object is judged", edit{"pkg/controller/judge.go",
			`Additions: v.in.HasAdditions(v.found, v.Live)`, `Additions: false`}, integration, additions),
		breaks("T2", "an object with a field that cannot be restored counts as protected", edit{"pkg/controller/coverage.go",
			` || p.Refused != ""`, ``}, controller, "TestConditions"),
		breaks("T2", "advice about immutable fields where none is immutable", edit{"pkg/controller/replace.go",
			` || !rv.enforcer.Immutable(ctx, v.revert) {`, ` {`}, fidelity, "TestAdviceOnlyWhereAFieldIsImmutable"),
		breaks("T2", "diff does not show the addition that a revert takes out", edit{"pkg/inspect/refused.go",
			`c.answer(ctx, in, found.Without(additions))`, `c.answer(ctx, in, found.Without(additions[:0]))`}, fidelity,
			"TestDiffShowsWhatTheAPIServerRefuses/helm_3"),
		breaks("T2", "a wrong window leaves the others open", edit{windows,
			`			return nil, fmt.Errorf("spec.windows[%d]: %w", i, err)`,
			`			return ws, fmt.Errorf("spec.windows[%d]: %w", i, err)`}, lock, wrong).
			and(edit{"pkg/lock/decide.go", `		d.Invalid = err.Error()
		return false`, `		d.Invalid = err.Error()`}),
		breaks("T2", "a schedule with a time zone reaches the parser, which panics", edit{windows,
			`if strings.Contains(spec.Schedule, "=") {`, `if spec.Schedule == "" {`}, lock, wrong),
		breaks("T2", "a window ends a moment late", edit{windows, `!start.After(at) {`,
			`!start.After(at.Add(time.Second)) {`}, lock, "TestWindows"),
		breaks("T2", "a reader of the stream starts without the way to the leader", edit{"pkg/follow/reader.go",
			`	r.where.Store(&first) // run loads it
`, ``}, "./pkg/follow", "TestAReaderKnowsItsFirstAnnouncement"),
		breaks("T2", "a printed command holds the marker of a Secret", edit{"pkg/cli/values_run.go",
			`run.secret = err != nil || command != run.command`, `run.secret = err != nil && command != ""`}, "./pkg/cli",
			"TestACommandWithAMaskedValueIsNotPrinted"),
		breaks("T2", "a chart's name is a flag of the printed command", edit{"pkg/cli/values_run.go",
			`if strings.HasPrefix(file, "-") {`, `if file == "-" {`}, "./pkg/cli", "TestHostile_TheNameOfAChartIsNoFlag"),
		breaks("T2", "lock begins to revert without a yes", edit{"pkg/cli/reverts.go",
			`	if err == nil && !agreed {`, `	if err == nil && !agreed && a.errTTY {`}, "./pkg/cli",
			"TestAskRevertsNeedsAYes"),
		breaks("T2", "--selector selects by the labels of HelmReleases", edit{"pkg/cli/selected.go",
			`if fits(keyOf(hr)) && ofHelmReleases.Matches(`,
			`if (fits(keyOf(hr)) || hr.Labels["team"] != "") && ofHelmReleases.Matches(`}, "./tests/clitest",
			"TestSelectorSelectsReleases"),
		breaks("T2", "unlock deletes a HelmRelease that its policy makes again", edit{"pkg/cli/unlock.go",
			`owner != nil && !deleted[owner.UID]`, `owner != nil && owner.UID == ""`}, "./tests/clitest",
			"TestUnlockTakesThePolicyBack"),
		breaks("T2", "a value without a name is another element's", edit{"pkg/cli/reverts_text.go",
			`if isList && nameOf(content) == nil {`, `if isList && content == nil {`}, "./pkg/cli",
			"TestRevertTextOfListElements"),
		breaks("T2", "windows are in UTC whatever their zone", edit{windows, `fields.Location = zone`,
			`_, _ = fields, zone`}, lock, "TestWindows"),
	}
}
