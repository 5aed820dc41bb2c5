package cli

import (
	"k8s.io/apimachinery/pkg/api/meta"

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
	var blind []string
	for _, hr := range locks {
		if seesNoWriter(hr) {
			blind = append(blind, hr.Spec.Release.String())
		}
	}
	if len(blind) > 0 {
		found = append(found, finding{levelWarning, subject, plain.Count(len(blind), "release") +
			" with spec.expectedWriters, and the operator does not see the users who store revisions: " + some(blind),
			expectingTakesTrust})
	}
	return found
}

// expectingTakesTrust is the remedy for spec.expectedWriters that no operator can judge.
const expectingTakesTrust = "spec.expectedWriters takes trust.records=Witnessed in the values of the chart"

// seesNoWriter reports whether the operator of a HelmRelease does not see the users who store revisions.
func seesNoWriter(hr *v1alpha1.HelmRelease) bool {
	c := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionExpectedWriter)
	return c != nil && c.Reason == v1alpha1.ReasonGuardNotServed
}

// isFlagged reports whether an unexpected user deployed a revision.
func isFlagged(hr *v1alpha1.HelmRelease) bool {
	return meta.IsStatusConditionFalse(hr.Status.Conditions, v1alpha1.ConditionExpectedWriter)
}
