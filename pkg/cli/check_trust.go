package cli

import (
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
)

// trustFindings reports by whose rights the locked releases are enforced, and lists those without a trusted record.
func trustFindings(locks []*v1alpha1.HelmRelease) (found []finding) {
	const subject = "trust in records"
	of := map[v1alpha1.TrustState][]string{}
	for _, hr := range locks {
		if hr.Status.Trust != nil {
			of[hr.Status.Trust.State] = append(of[hr.Status.Trust.State], hr.Spec.Release.String())
		}
	}
	count := func(state v1alpha1.TrustState) string { return plain.Count(len(of[state]), "release") }
	if len(of[v1alpha1.TrustStateTrusted]) > 0 {
		found = append(found, finding{levelOK, subject, "Witnessed: " + count(v1alpha1.TrustStateTrusted) +
			" enforced as far as the writers of the records have the rights", ""})
	}
	if len(of[v1alpha1.TrustStateAny]) > 0 {
		found = append(found, finding{levelNote, subject, "Any: " + count(v1alpha1.TrustStateAny) +
			" enforced whoever writes the record: a user who may write Secrets there decides what the operator writes",
			"trust.records=Witnessed in the values of the chart has the operator ask for the rights of the writers"})
	}
	if not := of[v1alpha1.TrustStateNotTrusted]; len(not) > 0 {
		found = append(found, finding{levelWarning, subject, count(v1alpha1.TrustStateNotTrusted) +
			" with a record that is not trusted: " + some(not), ""})
	}
	return found
}
