package main

const (
	tenancy    = "./tests/tenancy"
	processPkg = "./pkg/process"
)

// noBorrowedRights are the mutants of T1: a release is written with the rights of its account, and with no others.
func noBorrowedRights() []mutant {
	const accounts, admission = "pkg/enforce/accounts.go", "pkg/controller/accounts.go"
	const policy, rights = "pkg/accounts/accounts.go", "pkg/accounts/rights.go"
	return []mutant{
		breaks("T1", "the operator writes in its own name although the release has an account",
			edit{"pkg/enforce/enforcer.go", `e.accounts.client(o.Account)`, `e.accounts.client("")`}, tenancy,
			"TestImpersonation_OneReleaseOfAnOrdinaryOperator"),
		breaks("T1", "under --impersonate an object without an account is written by the operator",
			edit{accounts, `		if a.required {`, `		if a.required && a.own == nil {`}, enforce,
			"TestNothingIsWrittenWithoutAnAccount"),
		breaks("T1", "under --impersonate a release without an account is locked", edit{policy, `	case p.Impersonate:
		return`, `	case p.Impersonate && p.DefaultServiceAccount != "":
		return`}, tenancy, "TestImpersonation_NoAccountNoLock"),
		breaks("T1", "the account is one of the operator's namespace",
			edit{policy, `"system:serviceaccount:" + rel.Namespace`, `"system:serviceaccount:" + "default"`}, tenancy,
			"TestImpersonation_WritesAreTheAccounts"),
		breaks("T1", "a release owns what its account may not change", edit{admission, `	if account == "" {
		return objects, nil, nil`, `	if account != "-" {
		return objects, nil, nil`}, tenancy, "TestAttack_ForgedRecordTakesNoObjectOfAnother"),
		breaks("T1", "what was denied is never asked for again", edit{admission, `		if yes {
			return true`, `		if yes && rt == nil {
			return true`}, tenancy, "TestAttack_ForgedRecordMakesNobodyAnAdministrator"),
		breaks("T1", "a forged manifest asks as many questions as it has objects",
			edit{rights, `doubtful[:min(len(doubtful), mostNamed)]`, `doubtful[:len(doubtful)]`}, tenancy,
			"TestAttack_ManyForeignObjectsAreAFewQuestions"),
		breaks("T1", "a release that its account may not change passes for locked",
			edit{"pkg/status/coverage.go", `	case len(v.Denials.Objects) > 0:
		return`, `	case len(v.Denials.Objects) > 0 && v.Lock == nil:
		return`}, tenancy, "TestHostile_AnAccountWithoutRightsIsNoLock"),
		breaks("T1", "what is not compared passes for as declared",
			edit{"pkg/status/conditions.go", `	case c.compared < c.declared:`, `	case c.compared < 0:`},
			"./pkg/status", "TestConditions"),
		breaks("T1", "a rollout moves what is not compared",
			edit{"pkg/policy/rollout.go", ` || drifted.Status == metav1.ConditionUnknown {`, ` {`}, policyPkg,
			"TestHostile_ARolloutDoesNotCountWhatIsNotProtected"),
		breaks("T1", "a rollout goes on without rights",
			edit{"pkg/policy/rollout.go", `	case len(denied) > 0:`, `	case len(denied) > len(moved):`}, policyPkg,
			"TestHostile_ARolloutDoesNotCountWhatIsNotProtected"),
		breaks("T1", "the metrics say that a release without rights is locked",
			edit{"pkg/controller/measure.go", `v.Protected()`, `v.Lock != nil`}, tenancy,
			"TestHostile_AnAccountWithoutRightsIsNoLock"),
		breaks("T1", "the page compares what the account of the release may not change",
			edit{"pkg/page/rights.go", `	if account == "" {`, `	if account != "-" {`}, tenancy,
			"TestAttack_ThePageIsNoConfusedDeputy"),
		breaks("T1", "a viewer compares with the rights of the page",
			edit{"pkg/page/run.go", `	return func(token string) (*inspect.Cluster, error) {`,
				`	return func(token string) (*inspect.Cluster, error) {
		if token != "" {
			return inspect.Connect(own, nil, storages...)
		}`}, tenancy, "TestViewer_SeesWhatTheyMayGet"),
		breaks("T1", "whoever has a token reads the metrics",
			edit{"pkg/viewer/viewer.go", `	case !allowed:`, `	case !allowed && user.Name() == "":`},
			"./pkg/viewer", "TestOnlyThoseWhoMayAreLetThrough"),
		breaks("T1", "the page compares for viewers that nobody knows",
			edit{"pkg/page/rights.go", `func (p *Page) mayCompare(r *http.Request, namespace, name string) (viewer.User, *viewer.Refusal) {
	if p.Viewers == nil {`, `func (p *Page) mayCompare(r *http.Request, namespace, name string) (viewer.User, *viewer.Refusal) {
	if p.Viewers == nil {
		return viewer.User{}, nil
	}
	if r == nil {`}, "./pkg/page", "TestWithoutViewersThereAreStatesAndNoComparisons"),
		breaks("T1", "connections that only wait keep others out",
			edit{"pkg/serving/room.go", `	if leaves == nil {`, `	if leaves == nil || len(r.open) > 0 {`}, "./pkg/serving",
			"TestConnectionsThatOnlyWaitMakeRoom"),
		breaks("T1", "a client may take any time to send a request",
			edit{"pkg/serving/serving.go", `ReadHeaderTimeout: limits.Read, ReadTimeout: limits.Read,`,
				`ReadHeaderTimeout: 0, ReadTimeout: 0,`}, "./pkg/serving", "TestEveryPhaseHasATimeLimit"),
		breaks("T1", "a web site reads the metrics by a name of its own",
			edit{"pkg/process/serve.go", `serving.ForHosts(hosts, "--metrics-host", values)`,
				`serving.ForHosts(append(hosts, "evil.example"), "--metrics-host", values)`}, processPkg,
			"TestMetricsAndProfilesAreNotForWebSites"),
		breaks("T1", "rbac says nothing of a policy that reads every Secret", edit{"pkg/permissions/admission.go",
			`	if gvk.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {`,
			`	if gvk.GroupKind() == (schema.GroupKind{}) {`}, "./pkg/permissions",
			"TestWhatWidensTheRightsOfTheAuthorIsNoted"),
		breaks("T1", "leftovers are not deleted in the name of the account",
			edit{"pkg/controller/pruning.go", `Namespaced: kind.Namespaced}, Account: l.Account}`,
				`Namespaced: kind.Namespaced}}`}, tenancy, "TestAttack_ForgedHistoryDeletesNothingOfOthers"),
		breaks("T1", "a leftover that may not be deleted keeps the others",
			edit{"pkg/controller/pruning.go", `		if apierrors.IsForbidden(err) {
			refused`,
				`		if apierrors.IsGone(err) {
			refused`}, tenancy,
			"TestAttack_ForgedHistoryDeletesNothingOfOthers"),
		breaks("T1", "a refused deletion is tried again at once under the same record",
			edit{"pkg/controller/takeback.go", `	if w.RefusedUnder.Same(r.record) && `, `	if false && `}, tenancy, "TestAttack_WhatCannotBeTakenBackHoldsNobodyUp"),
	}
}

// hostileInput are further mutants of I10, and one of I5.
func hostileInput() []mutant {
	const yaml, parse = "pkg/manifest/yaml.go", "pkg/manifest/parse.go"
	return []mutant{
		breaks("I10", "a document is decoded however many elements it has",
			edit{yaml, `	if marks(text) > maxMarks {`, `	if marks(text) > maxMarks<<20 {`}, manifest,
			"TestManifestsThatExhaustMemory"),
		breaks("I10", "only spaces and line feeds follow the mark of an element",
			edit{yaml, `text[i+1] <= ' ' || text[i+1] >= utf8.RuneSelf {`,
				`text[i+1] == ' ' || text[i+1] == '\n' {`}, manifest, "TestManifestsThatExhaustMemory"),
		breaks("I10", "one object may have all elements that a manifest may have",
			edit{parse, `	if nodesOf(content) > maxObjectNodes {`, `	if nodesOf(content) > maxNodes {`}, manifest,
			"TestManifestsThatExhaustMemory"),
		breaks("I10", "what is masked is decoded however many elements it has",
			edit{"pkg/report/manifest.go", `	if !manifest.Decodable(text) {`,
				`	if !manifest.Decodable("") {`}, "./pkg/report", "TestMaskingIsLinear"),
		breaks("I10", "a manifest may have any number of documents",
			edit{"pkg/manifest/split.go", `		if len(docs) == MaxDocuments {
			return tooMany(doc)`, `		if len(docs) == 1<<40 {
			return tooMany(doc)`}, manifest, "TestManifestsThatExhaustMemory"),
		breaks("I10", "many documents may have too many elements together",
			edit{yaml, `	if d.nodes--; d.nodes < 0 {`, `	if d.nodes < 0 {`}, manifest,
			"TestManifestsThatExhaustMemory"),
		breaks("I12", "all of a list of large objects is in memory",
			edit{"pkg/watch/list.go", `		item, err := newLive(text, kind)`, `		r.kind.Kind += string(text)
		item, err := newLive(text, kind)`}, watch, "TestAListOfLargeObjectsIsReadOneByOne"),
		breaks("I12", "records are listed in pages of any size",
			edit{"pkg/proof/pages.go", `	options.Limit = metadataPage`,
				`	options.Limit = 0 * metadataPage`}, guard, "TestPagesAreOfOneRevision"),
		breaks("I12", "large objects are kept while they wait for another attempt",
			edit{"pkg/lock/object.go", `	if !o.Large || o.Live == nil {`, `	if o.Large || o.Live == nil {`}, lock,
			"TestALargeObjectIsNotKeptWhileItWaits"),
		breaks("I12", "all objects of all earlier revisions are remembered",
			edit{"pkg/controller/candidates.go", `len(k.removed) >= maxRemoved:`, `len(k.removed) < 0:`}, controller,
			"TestWhatIsRememberedOfEarlierRevisionsIsBounded"),
		breaks("I12", "any number of large objects is in memory at a time",
			edit{"pkg/controller/sink.go", `		if obj.Large() {
			o.Large`, `		if obj.Large() && ob == nil {
			o.Large`}, controller, "TestLargeObjectsAreReadWhenItIsTheirTurn"),
		breaks("I10", "a release may have any number of objects",
			edit{parse, `	if len(p.objects)+len(p.skipped) >= maxObjects {`,
				`	if len(p.objects)+len(p.skipped) >= 1<<40 {`}, manifest, "TestManifestsThatExhaustMemory"),
		breaks("I10", "an object may have a name that no object can have",
			edit{parse, `if why := cannotName(text); why != "" {`, `if why := cannotName(text); why == "-" {`},
			integration, "TestI10_HostileManifestsEndInACondition"),
		breaks("I10", "a condition quotes escape sequences",
			edit{"pkg/status/conditions.go", `plain.Cut(plain.Line(message), `, `plain.Cut(plain.Line("")+message, `},
			integration, "TestI10_TextOfOthersIsNeutral"),
		breaks("I10", "an event quotes escape sequences",
			edit{"pkg/controller/reporter.go", `plain.Cut(plain.Line(e.Text), maxEventBytes)`,
				`plain.Cut(plain.Line("")+e.Text, maxEventBytes)`}, integration,
			"TestI10_TextOfOthersIsNeutral"),
		breaks("I10", "the log quotes escape sequences",
			edit{"pkg/process/log.go", `line != entry.Message {`, `line == "" {`}, processPkg,
			"TestLogLinesAreNeutral"),
		breaks("I10", "any Secret with a record's labels counts as one before a revert",
			edit{"pkg/proof/records.go", `, FieldSelector: storage.FieldSelector()}`, `}`}, integration, "TestI10_TamperedRecords"),
		breaks("I5", "every other event is dropped",
			edit{"pkg/controller/sink.go", `if l.Known(id, o.Version, o.Digest) {`,
				`if l.Known(id, o.Version, o.Digest) || o.Version%2 == 1 {`}, integration,
			"TestI5_StormOfEventsLosesNoDrift"),
	}
}
