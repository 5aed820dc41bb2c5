package oracle

import (
	"testing"
	"time"
)

// TestRights has a story for each way in which an operator lends rights without being asked.
func TestRights(t *testing.T) {
	t.Parallel()
	const account = "system:serviceaccount:apps:deployer"
	asDeployer := map[string]any{"serviceAccountName": "deployer"}
	tests := map[string]told{
		"an account writes for the HelmRelease that names it": {func(s *story) {
			s.lock(asDeployer, nil)
			s.wait(2 * modeTime)
			s.revert(account)
		}, ""},
		"the operator writes for a HelmRelease that names an account": {func(s *story) {
			s.lock(asDeployer, nil)
			s.wait(2 * modeTime)
			s.revert("")
		}, ruleRights},
		"the account was named a moment ago": {func(s *story) {
			s.lock(asDeployer, nil)
			s.revert("")
		}, ""},
		"another account writes": {func(s *story) {
			s.lock(asDeployer, nil)
			s.wait(2 * modeTime)
			s.revert("system:serviceaccount:apps:admin")
		}, ruleRights},
		"the account of another namespace writes": {func(s *story) {
			s.revert("system:serviceaccount:kube-system:deployer")
		}, ruleRights},
		"the account of another namespace deletes": {func(s *story) {
			s.shop(2, "deployed", "")
			r := s.remove(locker, settings)
			r.ImpersonatedUser.Username = "system:serviceaccount:kube-system:deployer"
		}, ruleRights},
		"an account writes for an operator that impersonates": {func(s *story) {
			s.excused = []exception{{Impersonates: "locker"}}
			s.revert(account)
		}, ""},
		"an operator that impersonates writes with its own rights": {func(s *story) {
			s.excused = []exception{{Impersonates: "locker"}}
			s.revert("")
		}, ruleRights},
		"a policy without acceptance has a release enforced": {func(s *story) {
			s.policy(false)
			s.made(nil)
			s.revert("")
		}, ruleRights},
		"a policy without acceptance has a release enforced by an operator that trusts any record": {func(s *story) {
			s.policy(false)
			s.trusted("Any")
			s.revert("")
		}, ruleRights},
		"a policy without acceptance has a release enforced whose record is trusted": {func(s *story) {
			s.policy(false)
			s.trusted("Trusted")
			s.revert("")
		}, ""},
		"a policy without acceptance names an account": {func(s *story) {
			s.policy(false)
			s.made(asDeployer)
			s.revert(account)
		}, ""},
		"a policy without acceptance drops the account": {func(s *story) {
			s.policy(false)
			s.made(asDeployer)
			s.made(nil)
			s.wait(2 * modeTime)
			s.revert("")
		}, ruleRights},
		"a policy accepts the records of anyone": {func(s *story) {
			s.policy(true)
			s.made(nil)
			s.revert("")
		}, ""},
		"an acceptance ends, and what was enforced stays so": {func(s *story) {
			s.policy(true)
			s.made(nil)
			s.policy(false)
			s.wait(2 * modeTime)
			s.made(map[string]any{"scope": "Strict"})
			s.revert("")
		}, ""},
		"an acceptance has ended before a release is enforced": {func(s *story) {
			s.policy(true)
			s.policy(false)
			s.wait(2 * modeTime)
			s.made(nil)
			s.revert("")
		}, ruleRights},
		"a user has a release enforced that a policy made": {func(s *story) {
			s.policy(false)
			s.made(map[string]any{"mode": "Detect"})
			s.lock(nil, nil)
			s.revert("")
		}, ""},
		"what another release declares is written, which nobody locks": {func(s *story) {
			s.record(stored{"mallory", 1, "deployed", "apps", "", configMap("other"), ""})
			s.put(settings, settingsAs("tampered"))
			s.write(locker, settings, settingsAs("other"))
		}, ruleStale},
	}
	judgeStories(t, tests)
}

// rest lets the operator read the records, twice in an hour.
func (s *story) rest() {
	s.check()
	s.wait(time.Hour)
	s.check()
}

// recreate has the operator undo a deletion.
func (s *story) recreate() {
	s.put(settings, nil)
	s.write(locker, settings, settingsAs("one"))
}

// revert has the operator undo a change with the rights of a user; with its own for none.
func (s *story) revert(as string) {
	s.put(settings, settingsAs("tampered"))
	s.write(locker, settings, settingsAs("one")).ImpersonatedUser.Username = as
}

// policy stores a HelmReleasePolicy with or without acceptRecordsOfAnyone.
func (s *story) policy(accepts bool) {
	s.put(policies+"locker/every", object{"apiVersion": "helm.cattle.io/v1alpha1", "kind": "HelmReleasePolicy",
		"metadata": map[string]any{"namespace": "locker", "name": "every"},
		"spec":     map[string]any{"acceptRecordsOfAnyone": accepts}})
}

// made stores, as the operator, the policy's HelmRelease in place of the user's.
func (s *story) made(spec map[string]any) {
	const key = "/registry/helm.cattle.io/helmreleases/locker/"
	s.put(key+"shop", nil)
	s.wait(time.Hour)
	made := helmRelease("apps.shop", spec, nil).labelled("helmreleases.cattle.io/policy", "every")
	s.write(locker, key+"apps.shop", made)
}

// trusted is made, with a status that has the trust in the record.
func (s *story) trusted(state string) {
	const key = "/registry/helm.cattle.io/helmreleases/locker/apps.shop"
	s.made(nil)
	made := helmRelease("apps.shop", nil, nil).labelled("helmreleases.cattle.io/policy", "every")
	made["status"] = map[string]any{"trust": map[string]any{"state": state}}
	s.write(locker, key, made)
}
