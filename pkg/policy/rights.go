package policy

import (
	"fmt"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// OwnRights reports whether a policy enforces releases with the operator's own rights, where the operator runs neither
// with --impersonate nor with --trust-records=Witnessed. A record is then as powerful as these rights: every user who
// may write one has them.
func OwnRights(p *v1alpha1.HelmReleasePolicy) bool {
	return modeOf(p) == v1alpha1.ModeEnforce && p.Spec.Template.Spec.ServiceAccountName == ""
}

// ownRights describes OwnRights to an administrator.
const ownRights = "with the operator's own rights: every user who may write a release record (a Secret) in a matched " +
	"namespace decides what the operator writes in the whole cluster"

// unless begins the descriptions of OwnRights.
const unless = "unless the operator runs with --impersonate or --trust-records=Witnessed, "

// Rights describes the rights with which a policy enforces releases, as determined by the policy alone.
func Rights(p *v1alpha1.HelmReleasePolicy) string {
	account := p.Spec.Template.Spec.ServiceAccountName
	switch {
	case modeOf(p) == v1alpha1.ModeDetect:
		return "mode Detect writes to no object of a release"
	case account != "":
		return fmt.Sprintf("releases are enforced with the rights of ServiceAccount %q in the namespace of each",
			account)
	case p.Spec.AcceptRecordsOfAnyone:
		return unless + "releases are enforced " + ownRights +
			"; spec.acceptRecordsOfAnyone accepts that"
	}
	return unless + "no release is enforced: that would be " + ownRights + "; " + accept
}

// accept is the advice for a policy that does not accept OwnRights.
const accept = "set spec.template.spec.serviceAccountName, to write with the rights of that ServiceAccount in the " +
	"namespace of each release, or accept it by spec.acceptRecordsOfAnyone: true"

// unaccepted reports whether a policy enforces with the operator's own rights, and does not accept that.
func (c *candidate) unaccepted() bool { return c.ownRights && !c.Spec.AcceptRecordsOfAnyone }

// acceptance is the problem of an unaccepted policy.
func (s *Summary) acceptance() Problem {
	return Problem{v1alpha1.ReasonAcceptanceRequired, fmt.Sprintf(
		"no more releases are enforced, because that would be %s; %s; until then new HelmReleases have mode Detect, "+
			"and %d that had mode Enforce keep it", ownRights, accept, s.enforced)}
}
