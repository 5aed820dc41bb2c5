package main

import "slices"

// theOracle are the mutants of the oracle: each makes it overlook one way to break a promise, or report a false one.
func theOracle() []mutant {
	const pkg = "./tests/oracle"
	const judge, writes, rest, records, object, log = "tests/oracle/judge.go", "tests/oracle/writes.go",
		"tests/oracle/rest.go", "tests/oracle/records.go", "tests/oracle/object.go", "tests/oracle/log.go"
	return []mutant{
		breaks("I1", "oracle: a revision that was never deployed may be written",
			edit{judge, `m.newest.status == "deployed" &&`, `m.newest.status != "" &&`}, pkg, "TestRules"),
		breaks("I1", "oracle: a write to another value than the declared one is overlooked",
			edit{writes, `	for _, path := range slices.Sorted(maps.Keys(wrong)) {`,
				`	for _, path := range slices.Sorted(maps.Keys(wrong))[:0] {`}, pkg, "TestRules"),
		breaks("I1", "oracle: a write may be put right at any later time",
			edit{writes, `.Sub(before.event.At) <= mendTime`, `.Sub(before.event.At) >= 0`}, pkg, "TestRules"),
		breaks("I1", "oracle: a write need not be proven",
			edit{writes, `	} else if !read {`, `	} else if !read && end.IsZero() {`}, pkg, "TestRules"),
		breaks("I1", "oracle: the same release in its own namespace is not at work",
			edit{judge, `	return native != r.key && len(all) > 0 &&`, `	return native != r.key && len(all) < 0 &&`}, pkg,
			"TestRules"),
		breaks("I1", "oracle: records in a release's own namespace count before they exist",
			edit{judge, `all[0].from <= from && !slices`, `!slices`}, pkg, "TestRules"),
		breaks("I1", "oracle: an uninstalled release counts in its own namespace",
			edit{judge, `m.newest == nil || m.newest.status == "uninstalled"`, `m.newest == nil`}, pkg, "TestRules"),
		breaks("I1", "oracle: what the release itself does without may stay created",
			edit{writes, `m.wants(id) && !j.outranked(m.newest, math.MaxInt64, math.MaxInt64)`, `m.wants(id)`}, pkg,
			"TestRules"),
		breaks("I1", "oracle: what another release has taken over may be written",
			edit{writes, `j.candidates(cmp.Or(before, after).value(), from`, `j.candidates(after.value(), from`}, pkg,
			"TestRules"),
		breaks("I1", "oracle: what another release had taken over is never given back",
			edit{judge, `i == len(all)-1 && m.newest.claims(o)`, `i >= 0 && m.newest.claims(o)`}, pkg, "TestRules"),
		breaks("I1", "oracle: what a hook kept Helm from writing mends a write",
			edit{writes, `m.wants(after.id) && !m.newest.before &&`, `m.wants(after.id) &&`}, pkg, "TestRules"),
		breaks("I1", "oracle: an answer that names another's write makes that the operator's",
			edit{log, `r != nil && !e.At.Before(r.Received)`, `r != nil`}, pkg, "TestRules"),
		breaks("I1", "oracle: null in a Secret's data is a value",
			edit{object, `data[key] = value; value != nil`, `data[key] = value; data != nil`}, pkg,
			"TestSecretsAreComparedAndNotShown"),
		breaks("I2", "oracle: what a current revision declares may be deleted",
			edit{writes, `	case declaring != "":`, `	case declaring == "-":`}, pkg, "TestRules"),
		breaks("I2", "oracle: what is to be kept may be deleted",
			edit{writes, `	case o.annotation(resourcePolicy) == "keep" ||`, `	case`}, pkg, "TestRules"),
		breaks("I2", "oracle: an object without a namespace in the manifest is another one",
			edit{records, `matches(d.namespace, r.as, id.namespace)`, `d.namespace == id.namespace`}, pkg,
			"TestRules|TestDeclares"),
		breaks("I3", "oracle: an object without drift may be written",
			edit{writes, `	if asHelmLeft(before, best) {`, `	if asHelmLeft(before, best) && best.record == nil {`}, pkg,
			"TestRules"),
		breaks("I3", "oracle: a release that nobody has enforced may be written",
			edit{rest, `(l.enforced || at.Sub(l.until) < modeTime)`, `(l.enforced || at.After(l.until))`}, pkg,
			"TestRules"),
		breaks("I4", "oracle: others may share what Helm applied with it",
			edit{writes, `fault := cmp.Or(others, lacking)`, `fault := lacking + others[:0]`}, pkg, "TestRules"),
		breaks("I4", "oracle: the owners of data count for stringData",
			edit{writes, `ok && c.record.ssa && c.declared`, `ok && !c.record.ssa && c.declared`}, pkg,
			"TestOwnersOfStringData"),
		breaks("I4", "oracle: ownership is judged before the operator has finished",
			edit{rest, `	if until.Before(j.limit(l.event.At, restTime)) ||`, `	if`}, pkg, "TestRules"),
		breaks("I1", "oracle: an outage of the API server is no excuse for a late proof",
			edit{"tests/oracle/judge.go", `			end = n.Up.Add(d)`, `			end = from.Add(d)`}, pkg, "TestRules"),
		breaks("I5", "oracle: drift at the end is overlooked",
			edit{rest, `at.Sub(o.event.At) < restTime {`, `at.Sub(o.event.At) > restTime {`}, pkg, "TestRules"),
		breaks("I5", "oracle: what is missing at the end is overlooked",
			edit{rest, `		if o == nil && id.kind != "Job"`, `		if o == nil && id.kind == "Job"`}, pkg, "TestRules"),
		breaks("I5", "oracle: a status of an earlier spec counts",
			edit{rest, `		l.object.at("metadata", "generation") != l.object.at("status", "observedGeneration") ||`, ``},
			pkg, "TestRules"),
		breaks("I6", "oracle: a loop of writes is overlooked",
			edit{writes, `	if after.writes == loopAfter {`, `	if after.writes == -loopAfter {`}, pkg, "TestRules"),
		breaks("I13", "oracle: the guard may refuse Helm",
			edit{rest, `r.ResponseStatus.Code == 403`, `r.ResponseStatus.Code == 500`}, pkg, "TestRules"),
		breaks("I14", "oracle: a path below a Pod is a plain resource",
			edit{rest, `	return goodPath.MatchString(path) &&`, `	return (goodPath.MatchString(path) ||
		strings.Contains(path, "/pods/")) &&`}, pkg, "TestPaths"),
		breaks("I14", "oracle: a name may smuggle a status into a selector",
			edit{rest, `names == 1 && !strings.Contains(selector, ",status=")`, `names == 1`}, pkg, "TestSelectors"),
		breaks("I14", "oracle: an object that no release declares may be written",
			edit{writes, `	case len(j.releases.of(id)) == 0:
		j.report.fail(ruleForeign`, `	case len(j.releases.of(id)) == 0:
		fmt.Sprint(ruleForeign`}, pkg, "TestRules"),
		breaks("I14", "oracle: any account may be used",
			edit{rest, `(as == account || own`, `(as == account || as != "" || own`}, pkg, "TestRights"),
		breaks("I14", "oracle: an operator that impersonates may use its own rights",
			edit{rest, `	own := as == "" && !`, `	own := as == "" || !`}, pkg, "TestRights"),
		breaks("I14", "oracle: a policy may lend the operator's rights without an acceptance",
			edit{rest, ` && !l.unasked)) {`, `)) {`}, pkg, "TestRights"),
		breaks("I14", "oracle: an acceptance that has ended counts",
			edit{rest, `e.At.Before(j.accepted[e.Key])`, `e.At.IsZero()`}, pkg, "TestRights"),
	}
}

// seenByTheOracle returns mutants of a list once more, to be found by the oracle in a recording of their tests.
func seenByTheOracle(all []mutant) []mutant {
	names := []string{
		"I1 a revert is only proven when the record changes",
		"I1 a proof does not hold for where the release is, but for where its records are stored",
		"I2 what the newest revision declares at a version that is not served is a prune candidate",
		"I2 what Helm installs where the release is goes as a leftover of the records elsewhere",
		"I13 Helm is refused what it does where the release is",
		"I4 a revert that was not completed counts as one that was",
		"I14 what annotations say is taken for a release",
		"T1 the operator writes in its own name although the release has an account",
		"P1 a policy hands the operator's rights to all who may write a record",
	}
	var found []mutant
	for _, name := range names {
		m := mutant{what: name} // of no promise, which check reports, if there is none of that name
		if i := slices.IndexFunc(all, func(m mutant) bool { return m.String() == name }); i >= 0 {
			m = all[i]
			m.what, m.judged = "seen by the oracle: "+m.what, true
		}
		found = append(found, m)
	}
	return found
}
