package main

// noRightByARecord are the mutants of trust in records: a record is worth what its writer could have done.
func noRightByARecord() []mutant {
	const trust, rights, state = "./pkg/trust", "pkg/trust/rights.go", "pkg/trust/state.go"
	const writers = "TestTheWriterOfARevisionIsExpectedOrNot"
	const witness, core, pruning = "pkg/witness/witness.go", "pkg/controller/trust.go", "pkg/controller/pruning.go"
	const doubt, stored, bases = "pkg/controller/doubt.go", "pkg/witness/stored.go", "pkg/witness/bases.go"
	const accepted = "TestI14_AnAcceptanceIsForOneRecord"
	const forged, replayed = "TestI14_AForgedRecordGivesItsWriterNoRight", "TestI14_AnEarlierManifestIsNotReplayed"
	const unseen = "TestI14_AnUnwitnessedRecordIsTrustedIfNothingIsToBeWritten"
	const returned = "TestI14_ADeletedUpgradeReturnsToTheTrustedRevision"
	const unwitnessed = "TestI14_ARevisionAfterAnUnwitnessedOneIsNotComparedWithAnOlderOne"
	return []mutant{
		breaks("I14", "a changed object takes no right", edit{rights, `		if old != nil && old.content == o.content {`,
			`		if old != nil {`}, trust, "TestADifferenceTakesRights"),
		breaks("I14", "a removed object takes no right", edit{rights, `was[o.id] != nil && !o.keep {`,
			`was[o.id] != nil && o.keep {`}, trust, "TestADifferenceTakesRights"),
		breaks("I14", "a role takes no right beyond that for the object",
			edit{rights, `		if o.grants != nil && (`, `		if o.grants != nil && replace && (`}, trust,
			"TestADifferenceTakesRights"),
		breaks("I14", "a label of a role takes no right to escalate", edit{rights, `		o.access = o.content
		o.grants = &Right{"escalate"`, `		o.grants = &Right{"escalate"`}, trust, "TestADifferenceTakesRights"),
		breaks("I14", "a label of a binding takes no right to bind", edit{rights, `		o.access = o.content
		ref`, `		ref`}, guardSuite, "TestHostile_AnOptedOutBindingGivesNoRight"),
		breaks("I14", "an object that was opted out is as created", edit{rights, `old == nil || old.optedOut {`,
			`old == nil {`}, trust, "TestADifferenceTakesRights"),
		breaks("I14", "a record without its labels is not as deleted", edit{witness,
			`	case err != nil && before == nil:`, `	case err != nil:`}, guardSuite,
			"TestHostile_ARecordWithoutItsLabelsIsAsDeleted"),
		breaks("I14", "a refused revision counts as not deployed", edit{witness, `before == nil && missing == nil`,
			`before == nil`}, guardSuite, "TestHostile_ARefusedRevisionIsNotUndone"),
		breaks("I14", "what a gap hides is pruned", edit{witness, `			s.Start(rec)`, `			s.Trust(rec)`},
			guardSuite, "TestHostile_AGapPrunesNothing"),
		breaks("I14", "another user takes an uninstallation over", edit{state, `		user = severalUsers
`, ``}, trust, "TestAnUninstallationEndsWithItsUser"),
		breaks("I14", "any deployed revision ends an uninstallation", edit{state,
			`	if s.AtWork == r.Writer {`, `	if r.Writer != "" {`}, trust, "TestAnUninstallationEndsWithItsUser"),
		breaks("I14", "who hides a pending record ends Helm's work", edit{"pkg/witness/ended.go",
			`			changed = s.Interrupt(before.UID, before.Revision, by)
`, ``}, guardSuite, "TestHostile_HelmIsAtWorkWhenItsRecordIsHidden"),
		breaks("I14", "a lock outlives the trust in its record", edit{"pkg/controller/releases.go",
			`	if stirred && rs.trusted.lost(ctx, hr, l) {`, `	if stirred && l != nil && l.Doubt != "" && rs.trusted.lost(ctx, hr, l) {`},
			guardSuite, "TestHostile_ARecordThatComesAndGoesUnseenEndsTheLock"),
		breaks("I14", "who begins with another record ends Helm's work", edit{state,
			`	if s.Pending != nil && s.Pending.Writer != by {
`, `	if s.Pending != nil && by == "" {
`}, guardSuite, "TestHostile_HelmIsAtWorkWhenItsRecordIsHidden"),
		breaks("I14", "a record is taken over once it is judged", edit{witness,
			`	if err := h.begun(ctx, r, hr, before, after); err != nil {
		return "", err
	}
	same, err := h.sameContent(ctx, before, after)
	if err != nil || same {
		return "Unchanged", err
	}
	return h.judge(ctx, r, hr, before, after)`, `	same, err := h.sameContent(ctx, before, after)
	if err != nil || same {
		return "Unchanged", err
	}
	result, err := h.judge(ctx, r, hr, before, after)
	if err != nil {
		return "", err
	}
	return result, h.begun(ctx, r, hr, before, after)`}, guardSuite, "TestHostile_HelmIsAtWorkWhenItsRecordIsHidden"),
		breaks("I14", "the end of the trust forgets the pending record", edit{state,
			`	*s = State{Refused: s.Refused, Pending: s.Pending, `, `	*s = State{Refused: s.Refused, `}, trust,
			"TestHelmMayGoOnWithAPendingRecord"),
		breaks("I14", "who changes a pending record ends Helm's work", edit{witness,
			`			return s.TakeOver(before.UID, writerOf(r)), nil`, `			return false, nil`}, guardSuite, "TestHostile_HelmIsAtWorkWhenItsRecordIsHidden"),
		breaks("I14", "an older trusted revision counts", edit{state, `	s.Trusted, s.Witnessed = &r, 0
`, `	if s.Trusted == nil {
		s.Trusted = &r
	}
`}, trust, "TestTrustIsInTheNewestRevision"),
		breaks("I14", "a record of the same content is the trusted one",
			edit{state, `r.UID == o.UID && r.Digest == o.Digest`, `r.Digest == o.Digest`}, trust,
			"TestTrustIsInTheNewestRevision"),
		breaks("I14", "a writer without rights is trusted", edit{witness, `	case missing != nil:`,
			`	case missing != nil && rec.Replace:`}, guardSuite, forged),
		breaks("I14", "a doubted record is enforced", edit{core, `	if !state.Trusts(r) {`,
			`	if !state.Trusts(r) && r.Revision == 0 {`}, guardSuite, forged),
		breaks("I14", "a creation that fails counts as a record",
			edit{witness, `		if err != nil || exists {`, `		if err != nil || exists && after == nil {`}, guardSuite, forged),
		breaks("I14", "a doubted record without an object is trusted", edit{pruning, `		return !r.keep &&`,
			`		return l.Doubt == "" && !r.keep &&`}, guardSuite, forged),
		breaks("I14", "a deletion of the trusted revision keeps the trust",
			edit{state, `	*s = State{Refused: s.Refused, Pending: s.Pending, `,
				`	*s = State{Trusted: s.Trusted, Refused: s.Refused, Pending: s.Pending, `}, trust, "TestTrustIsInTheNewestRevision"),
		breaks("I14", "a doubted record is trusted although something is to be written",
			edit{doubt, `	case pr.wouldWrite(v) ||`, `	case pr.wouldWrite(v) && l.Unknown ||`}, guardSuite, replayed),
		breaks("I14", "an acceptance is for a record in any state", edit{core,
			`hr.Spec.AcceptedRecord == rec.Version()`, `hr.Spec.AcceptedRecord != ""`}, guardSuite, accepted),
		breaks("I14", "an acceptance is forgotten with the next label", edit{core,
			`			state = s
			return true, nil
		})
	}`, `			state = s
			return false, nil
		})
	}`}, guardSuite, accepted),
		breaks("I14", "the writes of all users count", edit{witness, `by.IsOneOf(h.NeverWriters)`,
			`by.IsOneOf(nil)`}, guardSuite, "TestI14_NeverWritersMakeNoRecordTrusted"),
		breaks("I14", "a label of a backup tool makes a record trusted", edit{stored,
			`	if before.equals(after) {
		return true, nil`, `	if before.equals(after) {
		return false, nil`}, guardSuite, "TestHostile_NoWriterOfRecordsGainsARight"),
		breaks("I14", "a deletion by a user without rights keeps the trust", edit{"pkg/witness/ended.go",
			`	return err == nil && missing == nil`, `	return err == nil && (missing == nil || from != nil)`}, guardSuite,
			returned),
		breaks("I14", "a deletion is judged by the content that its user has stored", edit{"pkg/witness/ended.go",
			`	before, _ := h.base(ctx, s.Next, from)
`,
			`	rel, err := h.decode(ctx, from)
	if err != nil {
		return false
	}
	before, err := h.objects(rel, from.Record)
	if err != nil {
		return false
	}
`}, guardSuite, returned),
		breaks("I14", "a doubt outlives its cause", edit{"pkg/controller/releases.go", `		if old.Doubt != "" {
			rs.queues`, `		if old.Doubt == "" {
			rs.queues`}, guardSuite, "TestI14_ADoubtEndsWithItsCause"),
		breaks("I14", "a revision is compared with the trusted one across an unwitnessed one", edit{bases,
			`	if !fromHelm || !s.Follows(`, `	if !fromHelm || s == nil && !s.Follows(`}, guardSuite, unwitnessed),
		breaks("I14", "a superseded record is deployed again without rights", edit{bases,
			`	if !fromHelm || `, `	if !fromHelm && s == nil || `}, guardSuite, unwitnessed),
		breaks("I14", "the content of a pending record is changed without rights", edit{bases,
			`(s.Next.UID != rec.UID || s.Next.Digest != rec.Digest)`, `s.Next.UID != rec.UID`}, guardSuite, unwitnessed),
		breaks("I14", "a decision is stored after a change of what it was decided by", edit{"pkg/witness/store.go",
			`		if changed, err := change(state); err != nil || !changed {
			return err
		}
`, `		if changed, err := change(state); err != nil || !changed {
			return err
		}
		if _, secret, err = st.Of(ctx, hr.UID); err != nil {
			return err
		}
`}, guardSuite, "TestI14_ADecisionIsByTheNewestTrust"),
		breaks("I14", "a comparison counts after a change of the trust", edit{doubt,
			`if s.Changes != l.TrustChanges {`, `if s.Changes < 0 {`}, guardSuite,
			"TestI14_AComparisonIsForTheTrustThatItBeganWith"),
		breaks("I14", "a forged record is trusted before Helm deletes the objects", edit{doubt,
			` || state.AtWork != "":`, ` || state == nil:`}, guardSuite, "TestI14_ARecordIsNotTrustedWhileHelmUninstalls"),
		breaks("I14", "another user ends an uninstallation", edit{state, `	if s.AtWork == by {`,
			`	if s.AtWork != "" {`}, trust, "TestAnUninstallationEndsWithItsUser"),
		breaks("I14", "a refused record of trusted content stays trusted", edit{state, `	if s.Trusts(r.Record) {`,
			`	if s.Trusts(r.Record) && r.Replace {`}, trust, "TestARefusalEndsTheTrustInThatRecord"),
		breaks("I14", "a record is trusted although an object differs from it", edit{doubt,
			` || len(v.Sum.Excused) > 0 ||`, ` ||`}, guardSuite, "TestI14_AnExcusedDifferenceIsNotAsDeclared"),
		breaks("I14", "an operator that stops forgets what it was asked", edit{"pkg/guard/server.go",
			`context.WithTimeout(context.WithoutCancel(r.Context()), h.wait)`, `context.WithTimeout(r.Context(), h.wait)`},
			guardSuite, "TestTrust_AStoppingOperatorAnswersWhatItWasAsked"),
		breaks("I14", "missing ObjectSet metadata is a doubt", edit{"pkg/controller/loading.go",
			` || marked {`, ` {`}, guardSuite, "TestI14_MissingObjectSetMetadataIsNoDoubt"),
		breaks("I3", "ObjectSet metadata is reported as drift", edit{"pkg/controller/reporter.go",
			`	if rep.ObjectSetMetadata {
		if d =`, `	if rep.ObjectSetMetadata && l == nil {
		if d =`}, "./tests/integration",
			"TestObjectSetMetadata_IsTheClassicOneAndNoDrift"),
		breaks("I7", "the copy of a Secret has its data", edit{"pkg/classic/classic.go",
			`		delete(desired, "data")`, `		delete(desired, "type")`}, "./pkg/classic",
			"TestI7_TheCopyOfASecretHasNoData"),
		breaks("I3", "migrate removes what this operator writes", edit{"pkg/migrate/legacy.go",
			`found.Kept = !all && `, `found.Kept = all && `}, "./pkg/migrate", "TestFindLegacyKeepsWhatThisOperatorWrites"),
		breaks("I13", "a replica is ready before it has the certificate", edit{"pkg/operator/serve.go",
			`!p.guard.Looked()`, `p.guard == nil`}, guardSuite, "TestI13_AReplicaWithoutTheCertificateIsNotReady"),
		breaks("I14", "an unwitnessed record is never trusted", edit{doubt, `	case !pruned:`,
			`	case pruned:`}, guardSuite, unseen),
		breaks("T1", "the end of the trust forgets the writer", edit{state,
			`AtWork: s.AtWork, Writer: s.Writer,`, `AtWork: s.AtWork,`}, trust, writers),
		breaks("T1", "an unseen revision is of the last expected writer", edit{state,
			`	case w != nil && w.is(r) && w.IsOneOf(by):`, `	case w != nil && w.IsOneOf(by):`}, trust, writers),
		breaks("T1", "an unseen revision ends the flag", edit{state,
			`	case w != nil && !w.IsOneOf(by) && !(`, `	case w != nil && w.is(r) && !w.IsOneOf(by) && !(`}, trust, writers),
		breaks("T1", "the writer of a record that cannot be judged is not known", edit{witness,
			`	if after.Status == release.StatusDeployed { // before`,
			`	if _, err := h.objects(rel, after.Record); err == nil && after.Status == release.StatusDeployed { // before`},
			guardSuite, "TestHostile_NoUserBecomesAnExpectedWriter"),
		breaks("T1", "an unexpected writer is announced with each status", edit{"pkg/controller/notify.go",
			`after.writer != before.writer`, `after.uid != ""`}, guardSuite, "TestWriters_HelmAsTwoUsers"),
		breaks("T1", "an acceptance is for all later revisions", edit{core,
			`accepted = hr.Spec.AcceptedRecord == l.Record.Version()`, `accepted = hr.Spec.AcceptedRecord != ""`},
			guardSuite, "TestWriters_AnAcceptanceIsForOneRecord"),
	}
}
