package main

const (
	tenancy     = "./tests/tenancy"
	operatorPkg = "./pkg/operator"
)

// noBorrowedRights are the mutants of T1: a release is written with the rights of its account, and with no others.
func noBorrowedRights() []mutant {
	const accounts, admission = "pkg/enforce/accounts.go", "pkg/controller/accounts.go"
	const policy, rights = "pkg/accounts/accounts.go", "pkg/accounts/rights.go"
	return []mutant{
		{
			promise: "T1", what: "the operator writes in its own name although the release has an account",
			edit: edit{"pkg/enforce/enforcer.go", `e.accounts.client(o.Account)`, `e.accounts.client("")`},
			pkg:  tenancy, run: "TestImpersonation_OneReleaseOfAnOrdinaryOperator",
		},
		{
			promise: "T1", what: "under --impersonate an object without an account is written by the operator",
			edit: edit{accounts, `		if a.required {`, `		if a.required && a.own == nil {`},
			pkg:  enforce, run: "TestNothingIsWrittenWithoutAnAccount",
		},
		{
			promise: "T1", what: "every account that ever wrote has a client for good",
			edit: edit{accounts, `lru.New(clientsKept)`, `lru.New(1 << 20)`}, pkg: enforce,
			run: "TestAccountsShareConnections",
		},
		{
			promise: "T1", what: "under --impersonate a release without an account is locked",
			edit: edit{policy, `	case p.Impersonate:
		return`, `	case p.Impersonate && p.DefaultServiceAccount != "":
		return`}, pkg: tenancy, run: "TestImpersonation_NoAccountNoLock",
		},
		{
			promise: "T1", what: "the account is one of the operator's namespace",
			edit: edit{policy, `"system:serviceaccount:" + rel.Namespace`, `"system:serviceaccount:" + "default"`},
			pkg:  tenancy, run: "TestImpersonation_WritesAreTheAccounts",
		},
		{
			promise: "T1", what: "a release owns what its account may not change",
			edit: edit{admission, `	if account == "" {
		return objects, nil, nil`, `	if account != "-" {
		return objects, nil, nil`}, pkg: tenancy, run: "TestAttack_ForgedRecordTakesNoObjectOfAnother",
		},
		{
			promise: "T1", what: "what was denied is never asked for again",
			edit: edit{admission, `		if yes {
			return true`, `		if yes && rs == nil {
			return true`}, pkg: tenancy, run: "TestAttack_ForgedRecordMakesNobodyAnAdministrator",
		},
		{
			promise: "T1", what: "a forged manifest asks as many questions as it has objects",
			edit: edit{rights, `doubtful[:min(len(doubtful), mostNamed)]`, `doubtful[:len(doubtful)]`},
			pkg:  tenancy, run: "TestAttack_ManyForeignObjectsAreAFewQuestions",
		},
		{
			promise: "T1", what: "the page compares what the account of the release may not change",
			edit: edit{"pkg/page/rights.go", `	if account != "" {`, `	if account == "-" {`},
			pkg:  tenancy, run: "TestAttack_ThePageIsNoConfusedDeputy",
		},
		{
			promise: "T1", what: "a viewer compares objects that they may not get",
			edit: edit{"pkg/page/rights.go", `			if !allowed[i] {`,
				`			if !allowed[i] && account == why {`},
			pkg: tenancy, run: "TestViewer_SeesWhatTheyMayGet",
		},
		{
			promise: "T1", what: "whoever has a token reads the metrics",
			edit: edit{"pkg/viewer/viewer.go", `	case !allowed:`, `	case !allowed && user.Name() == "":`},
			pkg:  "./pkg/viewer", run: "TestOnlyThoseWhoMayAreLetThrough",
		},
		{
			promise: "T1", what: "the page compares for viewers that nobody knows",
			edit: edit{"pkg/page/rights.go", `func (p *Page) mayCompare(r *http.Request, namespace, name string) (viewer.User, *viewer.Refusal) {
	if p.Viewers == nil {`, `func (p *Page) mayCompare(r *http.Request, namespace, name string) (viewer.User, *viewer.Refusal) {
	if p.Viewers == nil {
		return viewer.User{}, nil
	}
	if r == nil {`},
			pkg: "./pkg/page", run: "TestWithoutViewersThereAreStatesAndNoComparisons",
		},
		{
			promise: "T1", what: "connections that only wait keep others out",
			edit: edit{"pkg/serving/room.go", `		if longest == nil {`,
				`		if longest == nil || len(r.open) > 0 {`},
			pkg: "./pkg/serving", run: "TestConnectionsThatOnlyWaitMakeRoom",
		},
		{
			promise: "T1", what: "a client may take any time to send a request",
			edit: edit{"pkg/serving/serving.go", `ReadHeaderTimeout: limits.Read, ReadTimeout: limits.Read,`,
				`ReadHeaderTimeout: 0, ReadTimeout: 0,`},
			pkg: "./pkg/serving", run: "TestEveryPhaseHasATimeLimit",
		},
		{
			promise: "T1", what: "a web site reads the metrics by a name of its own",
			edit: edit{"pkg/operator/serve.go", `serving.ForHosts(o.MetricsHosts, "--metrics-host", values)`,
				`serving.ForHosts(append(o.MetricsHosts, "evil.example"), "--metrics-host", values)`},
			pkg: operatorPkg, run: "TestMetricsAndProfilesAreNotForWebSites",
		},
		{
			promise: "T1", what: "rbac says nothing of a policy that reads every Secret",
			edit: edit{"pkg/permissions/admission.go",
				`	if gvk.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {`,
				`	if gvk.GroupKind() == (schema.GroupKind{}) {`},
			pkg: "./pkg/permissions", run: "TestWhatWidensTheRightsOfTheAuthorIsNoted",
		},
		{
			promise: "T1", what: "leftovers are not deleted in the name of the account",
			edit: edit{"pkg/controller/pruning.go", `Namespaced: kind.Namespaced}, Account: l.Account}`,
				`Namespaced: kind.Namespaced}}`},
			pkg: tenancy, run: "TestAttack_ForgedHistoryDeletesNothingOfOthers",
		},
		{
			promise: "T1", what: "a leftover that may not be deleted keeps the others",
			edit: edit{"pkg/controller/pruning.go", `err := pr.prune(ctx, l, id, r); apierrors.IsForbidden(err) {`,
				`err := pr.prune(ctx, l, id, r); apierrors.IsGone(err) {`},
			pkg: tenancy, run: "TestAttack_ForgedHistoryDeletesNothingOfOthers",
		},
		{
			promise: "T1", what: "a deletion that is refused is tried for ever",
			edit: edit{"pkg/controller/insist.go", `		if !transient(err) {`,
				`		if !transient(err) && pr == nil {`},
			pkg: tenancy, run: "TestAttack_WhatCannotBeTakenBackHoldsNobodyUp",
		},
	}
}

// hostileInput are further mutants of I10, and one of I5.
func hostileInput() []mutant {
	const yaml, parse = "pkg/manifest/yaml.go", "pkg/manifest/parse.go"
	return []mutant{
		{
			promise: "I10", what: "a document is decoded however many elements it has",
			edit: edit{yaml, `	if marks(text) > maxMarks {`, `	if marks(text) > maxMarks<<20 {`}, pkg: manifest,
			run: "TestManifestsThatExhaustMemory",
		},
		{
			promise: "I10", what: "only spaces and line feeds follow the mark of an element",
			edit: edit{yaml, `text[i+1] <= ' ' || text[i+1] >= utf8.RuneSelf {`,
				`text[i+1] == ' ' || text[i+1] == '\n' {`},
			pkg: manifest, run: "TestManifestsThatExhaustMemory",
		},
		{
			promise: "I10", what: "one object may have all elements that a manifest may have",
			edit: edit{parse, `	if nodesOf(content) > maxObjectNodes {`, `	if nodesOf(content) > maxNodes {`},
			pkg:  manifest, run: "TestManifestsThatExhaustMemory",
		},
		{
			promise: "I10", what: "what is masked is decoded however many elements it has",
			edit: edit{"pkg/report/manifest.go", `	if !manifest.Decodable(text) {`,
				`	if !manifest.Decodable("") {`},
			pkg: "./pkg/report", run: "TestMaskingIsLinear",
		},
		{
			promise: "I10", what: "a manifest may have any number of documents",
			edit: edit{"pkg/manifest/split.go", `		if len(docs) == MaxDocuments {
			return tooMany(doc)`, `		if len(docs) == 1<<40 {
			return tooMany(doc)`},
			pkg: manifest, run: "TestManifestsThatExhaustMemory",
		},
		{
			promise: "I10", what: "many documents may have too many elements together",
			edit: edit{yaml, `	if d.nodes--; d.nodes < 0 {`, `	if d.nodes < 0 {`}, pkg: manifest,
			run: "TestManifestsThatExhaustMemory",
		},
		{
			promise: "I12", what: "all of a list of large objects is in memory",
			edit: edit{"pkg/watch/list.go", `		item, err := newLive(text, kind)`, `		r.kind.Kind += string(text)
		item, err := newLive(text, kind)`},
			pkg: watch, run: "TestAListOfLargeObjectsIsReadOneByOne",
		},
		{
			promise: "I12", what: "records are listed in pages of any size",
			edit: edit{"pkg/proof/pages.go", `	options.Limit = metadataPage`,
				`	options.Limit = 0 * metadataPage`},
			pkg: guard, run: "TestPagesAreOfOneRevision",
		},
		{
			promise: "I12", what: "large objects are kept while they wait for another attempt",
			edit: edit{"pkg/lock/object.go", `	if !o.Large || o.Live == nil {`, `	if o.Large || o.Live == nil {`},
			pkg:  lock, run: "TestALargeObjectIsNotKeptWhileItWaits",
		},
		{
			promise: "I12", what: "all objects of all earlier revisions are remembered",
			edit: edit{"pkg/controller/pruning.go", `len(k.removed) >= maxRemoved:`, `len(k.removed) < 0:`},
			pkg:  controller, run: "TestWhatIsRememberedOfEarlierRevisionsIsBounded",
		},
		{
			promise: "I12", what: "any number of large objects is in memory at a time",
			edit: edit{"pkg/controller/sink.go", `		if obj.Large() {
			o.Large`, `		if obj.Large() && rm == nil {
			o.Large`},
			pkg: tenancy, run: "TestI12_NobodyExhaustsTheMemoryOfTheOperator",
		},
		{
			promise: "I10", what: "a release may have any number of objects",
			edit: edit{parse, `	if len(p.objects)+len(p.skipped) >= maxObjects {`,
				`	if len(p.objects)+len(p.skipped) >= 1<<40 {`}, pkg: manifest,
			run: "TestManifestsThatExhaustMemory",
		},
		{
			promise: "I10", what: "an object may have a name that no object can have",
			edit: edit{parse, `if why := cannotName(text); why != "" {`, `if why := cannotName(text); why == "-" {`},
			pkg:  integration, run: "TestI10_HostileManifestsEndInACondition",
		},
		{
			promise: "I10", what: "a condition quotes escape sequences",
			edit: edit{"pkg/controller/conditions.go", `cut(report.Line(message), `, `cut(report.Line("")+message, `},
			pkg:  integration, run: "TestI10_TextOfOthersIsNeutral",
		},
		{
			promise: "I10", what: "an event quotes escape sequences",
			edit: edit{"pkg/controller/reporter.go", `cut(report.Line(fmt.Sprintf(format, args...)), maxEventBytes)`,
				`cut(report.Line("")+fmt.Sprintf(format, args...), maxEventBytes)`},
			pkg: integration, run: "TestI10_TextOfOthersIsNeutral",
		},
		{
			promise: "I10", what: "the log quotes escape sequences",
			edit: edit{"pkg/operator/options.go", `line != entry.Message {`, `line == "" {`}, pkg: operatorPkg,
			run: "TestLogLinesAreNeutral",
		},
		{
			promise: "I10", what: "any Secret with a record's labels counts as one before a revert",
			edit: edit{"pkg/proof/guard.go", `"type=" + release.SecretType`, `""`},
			pkg:  integration, run: "TestI10_TamperedRecords",
		},
		{
			promise: "I5", what: "every other event is dropped",
			edit: edit{"pkg/controller/sink.go", `if l.Known(id, o.Version, o.Digest) {`,
				`if l.Known(id, o.Version, o.Digest) || o.Version%2 == 1 {`},
			pkg: integration, run: "TestI5_StormOfEventsLosesNoDrift",
		},
	}
}
