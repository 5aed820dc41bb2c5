package main

const (
	guardSuite = "./tests/guard"
	guardPkg   = "./pkg/guard"
	judgePkg   = "./pkg/judge"
)

// guardNeverRefusesHelm are the mutants of I13: the rules for passing requests, and the failure policy.
func guardNeverRefusesHelm() []mutant {
	const decision, answers, claims = "pkg/judge/admission.go", "pkg/admit/admit.go", "pkg/admit/claimants.go"
	const stances = "pkg/claims/stances.go"
	const server, registration, keeper = "pkg/guard/server.go", "pkg/guard/registration.go", "pkg/guard/keeper.go"
	return []mutant{
		breaks("I13", "the record is not read before a refusal",
			edit{answers, `	case !holds:`, `	case !holds && err != nil:`}, guardSuite, "TestI13_ARecordThatIsOnItsWay"),
		breaks("I13", "a release that takes an object over is refused it",
			edit{stances, `	case declared && works:`, `	case declared && works && len(records) == 0:`}, guardSuite,
			"TestI13_AnotherReleaseTakesOver"),
		breaks("I13", "a release may take an object over whenever it likes",
			edit{claims, `found == claims.HelmRests && claimant == owner`, `found == claims.HelmRests`},
			guardSuite, "TestHostile_ClaimsProveNothing"),
		breaks("I13", "a release takes over an object that it does not declare",
			edit{stances, `		return known.Owns(named, id)`, `		return known != nil`}, guardSuite, "TestHostile_ClaimsProveNothing"),
		breaks("I13", "Helm may not delete with a release an object that was handed over",
			edit{claims, `	for _, stored := range working {`, `	for _, stored := range working[:0] {`},
			guardSuite, "TestI13_HandedOver"),
		breaks("I13", "Helm may not delete an object that the newest revision of a release drops",
			edit{stances, `found && o.inRecord(ctx, before, named, id)`,
				`!found && o.inRecord(ctx, before, named, id)`},
			guardSuite, "TestI13_HandedOver"),
		breaks("I13", "changes in a namespace that is being deleted are refused",
			edit{answers, `	case namespace.DeletionTimestamp != nil:`, `	case namespace.Name == "":`}, guardSuite,
			"TestI13_NamespacesAndOwnersGo"),
		breaks("I13", "a guard that stops closes a connection as the API server sends a request on it",
			edit{"pkg/serving/serving.go", `			drain(limits.Drain, ended)`, `			drain(0, ended)`}, "./pkg/serving",
			"TestAStoppedServerAnswersOnEachConnectionOnceMore"),
		breaks("I13", "a guard that stops keeps its connections until it closes them",
			edit{"pkg/serving/serving.go", `		if ctx.Err() != nil {
			w.`, `		if ctx.Err() != nil && r == nil {
			w.`}, "./pkg/serving", "TestAStoppedServerAnswersOnEachConnectionOnceMore"),
		breaks("I13", "a Scale to zero has no replicas",
			edit{"pkg/admit/question.go", `	if r.SubResource == "scale" {
		if`, `	if r.SubResource == "none" {
		if`}, guardSuite, "TestI13_ScaleToZero"),
		breaks("I13", "a release without a guard has one",
			edit{decision, `	case !a.Guard.IsOn():`, `	case a.Guard == "-":`},
			judgePkg, "TestAdmit"),
		breaks("I13", "a guard that observes refuses", edit{answers, `	if q.Guard == v1alpha1.GuardObserve {`,
			`	if q.Guard == "-" {`}, guardSuite, "TestI13_Observe"),
		breaks("I13", "a drift is of whoever has sent a request",
			edit{"pkg/events/senders.go", `(r.Deletion || r.Paths == nil ||`, `(r.User != "" ||`},
			"./pkg/events", "TestADriftIsOfTheRequestsThatFit"),
		breaks("I13", "the sender of a reverted change is a possible sender of the next one",
			edit{"pkg/lock/requests.go", `		taken = append(taken, o.Request)
		return true`, `		taken = append(taken, o.Request)
		return false`}, lock, "TestRequestsAreRememberedForMinutes"),
		breaks("I13", "no one is exempt", edit{decision, `	case a.By.IsOneOf(a.Exempt):`,
			`	case a.By.IsOneOf(a.Exempt[:0]):`}, judgePkg, "TestAdmit"),
		breaks("I13", "a ServiceAccount of any namespace is exempt",
			edit{decision, `return r.User == "system:serviceaccount:"+s.Namespace+":"+s.Name`,
				`return len(r.User) > len(s.Name) && r.User[len(r.User)-len(s.Name):] == s.Name`},
			judgePkg, "TestAdmit"),
		breaks("I13", "the garbage collector is refused", edit{decision, `	case a.By.collects(), `, `	case `}, judgePkg,
			"TestAdmit"),
		breaks("I13", "deletions that keep the cluster working are refused",
			edit{decision, `, a.After == nil && a.By.isOfCluster():`, `:`}, judgePkg, "TestAdmit"),
		breaks("I13", "controllers of Kubernetes may change what they like",
			edit{decision, `a.After == nil && a.By.isOfCluster()`, `a.By.isOfCluster()`}, judgePkg, "TestAdmit"),
		breaks("I13", "an object of another release is guarded",
			edit{claims, `found == claims.HelmRests && claimant == owner`, `found == claims.HelmRests && claimant == q.Locked`},
			guardSuite, "TestI13_HandedOver"),
		breaks("I13", "the account of a release may change what it likes",
			edit{decision, `	if a.After == nil {
		return a.deletion(), nil
	}`, `	if a.After == nil || a.Account != "" && a.By.User == a.Account {
		return a.deletion(), nil
	}`}, judgePkg, "TestAdmit"),
		breaks("I13", "the operator may not replace an object in the name of its account",
			edit{decision, `	return len(in.compared().Changes) > 0`, `	return len(in.compared().Changes) < 0`}, judgePkg,
			"TestAdmit"),
		breaks("I13", "the account of a release may delete what it likes",
			edit{decision, `	return len(in.compared().Changes) > 0`, `	return len(in.compared().Changes) >= 0`}, judgePkg,
			"TestAdmit"),
		breaks("I13", "the account of a release replaces where that is not allowed",
			edit{decision, `	if !a.ReplaceImmutable || a.Account == "" `, `	if a.Account == "" `}, judgePkg, "TestAdmit"),
		breaks("I13", "a deletion that is pending cannot be asked for again",
			edit{decision, `	case a.Before.GetDeletionTimestamp() != nil:`, `	case a.Before == nil:`}, judgePkg, "TestAdmit"),
		breaks("I13", "a Job that has run cannot be deleted",
			edit{decision, `	case a.Rules.Deletion() || a.hasRun(a.Before):`, `	case a.Before == nil:`}, judgePkg, "TestAdmit"),
		breaks("I13", "a Job that runs can be deleted because it has a time to live",
			edit{decision, `	case a.Rules.Deletion() || a.hasRun(a.Before):`,
				`	case a.Rules.Deletion() || a.hasRun(a.Before) || expires(a.Desired, time.Hour):`}, judgePkg,
			"TestAdmit").and(edit{decision, `import (`, `import (
	"time"`}),
		breaks("I13", "a deletion is refused without the way out of an uninstallation",
			edit{"pkg/judge/admission_text.go", `	case a.After == nil: // a deletion`, `	case a.DryRun:`}, guardSuite,
			"TestI13_UninstallationThatCannotStoreItsRecord"),
		breaks("I13", "a denial quotes a name with a command substitution in a command",
			edit{"pkg/judge/admission_text.go", ` || !plainName.MatchString(id.Name)`, ``}, judgePkg,
			"TestHostile_NoCommandHoldsTextForAShell"),
		breaks("I13", "a denial quotes a key with a command substitution in a command",
			edit{"pkg/judge/admission_text.go", ` || !plainPath.MatchString(path)`, ``}, judgePkg,
			"TestHostile_NoCommandHoldsTextForAShell"),
		breaks("I13", "a user may end a Job, and then delete it",
			edit{"pkg/judge/jobs.go", `jobKind || a.By.isOfCluster()`, `jobKind || !a.By.isOfCluster()`}, judgePkg, "TestAdmit"),
		breaks("I13", "a user may have Kubernetes end a Job or a Pod by a deadline, and then delete it",
			edit{"pkg/judge/admission.go", `		changes = a.shortened()`, `		_ = a.shortened()`}, judgePkg, "TestAdmit"),
		breaks("I13", "a user may have the Job controller end a Job",
			edit{"pkg/judge/jobs.go", `batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:`,
				`batchv1.JobFailed:`}, judgePkg, "TestAdmit"),
		breaks("I13", "the Job controller may not end a Job",
			edit{"pkg/judge/jobs.go", `jobKind || a.By.isOfCluster()`, `jobKind`}, judgePkg, "TestAdmit"),
		breaks("I13", "metadata can be changed through the status",
			edit{registration, `admissionregistrationv1.Update, admissionregistrationv1.Delete), of)`,
				`admissionregistrationv1.Update, admissionregistrationv1.Delete))
		_ = of`}, guardSuite, "TestHostile_MetadataThroughStatus"),
		breaks("I13", "every status waits for the guard",
			edit{registration, "`!has(request.subResource) || request.subResource == \"\" || `",
				"`has(request.name) || `"},
			guardSuite, "TestHostile_MetadataThroughStatus"),
		breaks("I13", "a user may have an object deleted with an owner",
			edit{decision, `return a.By.isOfCluster() }
`, `return true }
`}, judgePkg, "TestAdmit"),
		breaks("I13", "controllers of Kubernetes may not adopt",
			edit{decision, `func(map[string]any) bool { return a.By.isOfCluster() }`,
				`func(map[string]any) bool { return a.By.collects() }`}, judgePkg, "TestAdmit"),
		breaks("I13", "an owner may take the place of another one",
			edit{decision, `	before := drift.Compare(`, `	options.Accepted = in.Baseline
	before := drift.Compare(`}, judgePkg, "TestAdmit"),
		breaks("I2", "an owner that is not declared stays",
			edit{"pkg/drift/drift.go", `	target = c.withoutOwners(desired, live, target)`, ``}, "./pkg/drift",
			"TestOwnersThatAreNotDeclaredGo"),
		breaks("I3", "Pods that Kubernetes adopts are fought over",
			edit{"pkg/judge/adoption.go", `	return Adopted(in.ID)`, `	return nil`}, judgePkg, "TestJudge"),
		breaks("I13", "a refusal quotes values of custom resources",
			edit{"pkg/judge/admission_text.go", `!HasReplicas(a.ID) || `, ``}, judgePkg, "TestWhatARequesterIsTold"),
		breaks("I13", "drift that was there before is refused again",
			edit{decision, `		return !slices.Contains(since, c) || `, `		return len(since) < 0 || `}, judgePkg, "TestAdmit"),
		// "before" holds additions of scope Strict alone, since the baseline accepts the rest: c.Op has no mutant.
		breaks("I13", "every change is taken for harmless",
			edit{decision, `return a.After != nil && len(a.afterwards().Changes) == 0`, `return a.After != nil`}, judgePkg,
			"TestAdmit"),
		breaks("I13", "a dry run is refused", edit{server, `	case d.Denied && !dryRun:`, `	case d.Denied || d.Denied && dryRun:`}, guardPkg,
			"TestHandlerAnswers"),
		breaks("I13", "strangers may ask what an object holds",
			edit{server, `subtle.ConstantTimeCompare([]byte(asked), []byte(path)) == 1`, `subtle.ConstantTimeCompare([]byte(asked), nil) != 1`}, guardPkg,
			"TestHandlerTurnsAway"),
		breaks("I12", "reviews take as much memory as they like", edit{server, `		defer leave()`, `		leave()`}, guardPkg,
			"TestASlotIsHeldUntilTheDecisionHasEnded"),
		breaks("I12", "who changes large objects all the time keeps the guard from small ones",
			edit{server, `	return h.rooms[i]`, `	return h.rooms[min(i, 0)]`}, guardPkg, "TestReviewsHaveSharesOfNamespaces"),
		breaks("I12", "one namespace's changes keep the guard from those of others",
			edit{server, `Acquire(ctx, namespaceIn(head))`, `Acquire(ctx, namespaceIn(nil))`}, guardPkg,
			"TestReviewsHaveSharesOfNamespaces"),
		breaks("I13", "the guard is not asked about the resizing of pods",
			edit{registration, `"pods/resize"`, `"pods/none"`}, guardSuite, "TestHostile_NoSubresourceIsAWayAround"),
		breaks("I5", "the resources of a Pod are written to the Pod, which takes none",
			edit{"pkg/enforce/subresource.go", `		name, without = resizing, withoutResources`, `		without = withoutResources`},
			enforce, "TestSubresourceOfARevert"),
		breaks("I5", "the finalizers of a Namespace are written to the Namespace, which takes none",
			edit{"pkg/enforce/subresource.go", `		name, without = finalizing, func`, `		without = func`},
			guardSuite, "TestHostile_NoSubresourceIsAWayAround"),
		breaks("I13", "the guard is not asked about the finalizers of a Namespace",
			edit{registration, `"namespaces/finalize"`, `"namespaces/none"`}, guardSuite,
			"TestHostile_NoSubresourceIsAWayAround"),
		breaks("I13", "the guard is not asked about the approval of certificates",
			edit{registration, `"certificatesigningrequests/approval"`, `"certificatesigningrequests/none"`}, guardSuite,
			"TestHostile_NoSubresourceIsAWayAround"),
		breaks("I13", "a version that another release declares is a way around the guard",
			edit{registration, `		list := versions[r.GroupResource()]`, `		list := 0 * versions[r.GroupResource()]`},
			guardSuite, "TestHostile_NoVersionOfAnotherReleaseIsAWayAround"),
		breaks("I12", "one namespace takes all slots of the guard",
			edit{server, `fair.Limits{All: 32, Each: 12, Most: 268}`, `fair.Limits{All: 32, Each: 32, Most: 268}`},
			guardSuite, "TestHostile_ManyWritersAtOnce"),
		breaks("I12", "the requests of one namespace wait in any number",
			edit{"pkg/fair/semaphore.go", `	if s.Most > 0 && `, `	if s.Most < 0 && `}, "./pkg/fair",
			"TestSemaphore_FewOfOneTenantWait"),
		breaks("I13", "the registration of a guard that is not served stays",
			edit{"pkg/operator/guard.go", `	if p.guard != nil {
		return`, `	if p.guard == nil {
		return`}, guardSuite, "TestI13_AGuardThatIsTurnedOffIsNotAskedAnyMore"),
		breaks("I13", "the configuration of another tool is deleted",
			edit{"pkg/guard/write.go", `		return w.Name == objectsWebhook`, `		return w.Name != ""`}, guardSuite,
			"TestI13_AGuardThatIsTurnedOffIsNotAskedAnyMore"),
		breaks("I7", "who reads the registration learns whether a guess at a value is right",
			edit{"pkg/admit/identity.go", `	case live.UID != q.Before.GetUID() || live.ResourceVersion != q.Before.GetResourceVersion():`,
				`	case live.UID == "":`}, guardSuite, "TestHostile_WhoReadsTheRegistrationLearnsNoValue"),
		breaks("I7", "a client without a certificate is answered", edit{"pkg/guard/tls.go", `tls.RequireAndVerifyClientCert`,
			`tls.RequestClientCert`}, guardSuite, "TestHostile_OnlyAPIServersAreAnswered"),
		breaks("I13", "a review full of escapes is not read", edit{server, `	maxReview = 32 << 20`, `	maxReview = 4 << 20`},
			guardSuite, "TestHostile_ReviewsFullOfEscapes"),
		breaks("I13", "a deletion of a tracked object passes", edit{decision, `	return StopDeletion`,
			`	return AdmitNoDrift`}, judgePkg, "TestAdmit"),
		breaks("I13", "objects of a collection that is deleted have no name",
			edit{"pkg/admit/question.go", `Name: object.GetName()}`, `Name: r.Name}`}, guardSuite, "TestI13_WhatPeopleDoIsRefused"),
		breaks("I13", "a check that fails is no reason to let a request pass",
			edit{answers, `	case err != nil:
		ad.Log.WithField("object", q.ID.String()).`, `	case err != nil && ctx.Err() != nil:
		ad.Log.WithField("object", q.ID.String()).`}, guardSuite, "TestI13_AnErrorOfTheCheckPasses"),
		breaks("I13", "the API server asks the operator about its own requests",
			edit{registration, `	if self != "" {
		conditions`, `	if self == "-" {
		conditions`}, guardPkg, "TestKeeperRegistersWhatIsWanted"),
		breaks("I13", "the API server waits for a guard that hangs",
			edit{server, `	timeoutSeconds = 2
`, `	timeoutSeconds = 30
`}, guardPkg, "TestKeeperRegistersWhatIsWanted"),
		breaks("I13", "what is not decided in time is refused",
			edit{server, `	case <-ctx.Done():
		return Decision{}`, `	case <-ctx.Done():
		return Decision{Denied: true}`}, guardPkg, "TestHandlerFailsOpen"),
		breaks("I13", "a certificate of cert-manager's that has run out is not noticed",
			edit{keeper, `max(have.serves.Leaf.NotAfter.Sub(now), retryFirst)`, `idle`}, guardPkg,
			"TestKeeperLeavesTheSecretToCertManager"),
		breaks("I13", "a guard that is down blocks every write",
			edit{registration, `ptr.To(admissionregistrationv1.Ignore)`, `ptr.To(admissionregistrationv1.Fail)`}, guardPkg,
			"TestKeeperRegistersWhatIsWanted"),
		breaks("I13", "a leader that knows no lock yet takes the registration away",
			edit{keeper, `	if !k.isReady() {
		return idle, nil
	}`, ``}, guardPkg, "TestKeeperWritesOnlyAsALeaderThatKnows"),
		breaks("I13", "a standby writes", edit{keeper, `	if !k.leading.Load() {
		return idle, nil
	}`, ``}, guardPkg, "TestKeeperWritesOnlyAsALeaderThatKnows"),
		breaks("I13", "who serves the old certificate is not trusted during a renewal",
			edit{"pkg/guard/certificate.go", `	if old != nil {`, `	if old != nil && host == "" {`}, guardPkg,
			"TestKeeperRenewsTheCertificate"),
		breaks("I13", "the scale of a custom resource sets spec.replicas, whatever its definition names",
			edit{"pkg/drift/definition.go", `	compiled.replicas = replicasOf(declared)`, `	_ = replicasOf(declared)`},
			guardSuite, "TestHostile_TheScaleOfACustomResource"),
	}
}
