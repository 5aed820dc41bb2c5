package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

// chartFindings reports the gaps in the definitions of the chart directories crds/ of locked releases. A record that
// cannot be read has findings of its own.
func chartFindings(ctx context.Context, c *connection, locks []*v1alpha1.HelmRelease) (found []finding) {
	for _, hr := range locks {
		key := keyOf(hr)
		records, err := c.Records(ctx, key.Namespace, key.Name)
		record, exists := inspect.Current(records)
		if err != nil || !exists {
			continue
		}
		subject := "crds/ of release " + key.String()
		gaps, err := c.DefinitionGaps(ctx, record)
		if err != nil {
			found = append(found, unreadable(subject, err))
		}
		for _, gap := range gaps {
			found = append(found, finding{levelWarning, subject,
				gap + "; Helm does not upgrade it, and the lock leaves it alone", command.Program + " values " + key.Name +
					" -n " + key.Namespace + " --chart-out DIR writes the chart with its crds/"})
		}
	}
	return found
}

// ruleFindings reports the paths that HelmReleases ignore without effect. A policy's rules are for many releases, so
// those of its HelmReleases are not expected to apply to each.
func ruleFindings(ctx context.Context, c *connection, locks []*v1alpha1.HelmRelease) []finding {
	var found []finding
	for _, hr := range locks {
		if v1alpha1.PolicyOf(hr) != nil {
			continue
		}
		subject := fmt.Sprintf("HelmRelease %s/%s", hr.Namespace, hr.Name)
		misspelt, others, err := c.idleOf(ctx, hr)
		if err != nil {
			unchecked := "its ignore rules were not checked: " + err.Error()
			found = append(found, finding{levelWarning, subject, unchecked, ""})
		}
		for _, text := range misspelt {
			found = append(found, finding{levelWarning, subject, "it " + text, "kubectl edit changes spec.ignore"})
		}
		for _, text := range others {
			found = append(found, finding{levelNote, subject, "it " + text, ""})
		}
	}
	return found
}

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

// recordFindings reports unreadable records, releases with records in two storages, and deployed releases without a
// HelmRelease. It reads all storages, as an operator may read fewer than Helm uses.
func recordFindings(ctx context.Context, c *connection, namespace string, locks []*v1alpha1.HelmRelease) []finding {
	var found []finding
	releases := map[release.Key][]release.Record{}
	for _, storage := range release.Storages {
		records, err := c.RecordsIn(ctx, storage, namespace)
		if err != nil {
			f := unreadable("records in "+storage.Kind()+"s", err)
			if errors.Is(err, release.ErrRecord) {
				f.Advice = "inspect that object: Helm did not write it so, and it may keep a release from being locked"
			}
			found = append(found, f)
		}
		for _, record := range records {
			releases[record.Key] = append(releases[record.Key], record)
		}
	}
	return append(found, releaseFindings(releases, c.Storages(), locks)...)
}

// releaseFindings is recordFindings for given records; read are the storages of the other commands.
func releaseFindings(
	releases map[release.Key][]release.Record, read []release.Storage, locks []*v1alpha1.HelmRelease,
) []finding {
	locked := map[release.Key]bool{}
	for _, hr := range locks {
		locked[keyOf(hr)] = true
	}
	var contested, unlocked, unread []string
	for _, key := range slices.SortedFunc(maps.Keys(releases), compareKeys) {
		newest, _ := release.Newest(releases[key])
		current := slices.ContainsFunc(releases[key], func(r release.Record) bool {
			return r.Storage == newest.Storage && r.Status == release.StatusDeployed
		})
		switch {
		case newest.Contested:
			contested = append(contested, key.String())
		case locked[key] || !current:
		case slices.Contains(read, newest.Storage):
			unlocked = append(unlocked, key.String())
		default:
			unread = append(unread, key.String())
		}
	}
	var found []finding
	add := func(level string, keys []string, what, advice string) {
		if len(keys) > 0 {
			found = append(found, finding{level, "releases", plain.Count(len(keys), "release") + what + some(keys), advice})
		}
	}
	add(levelWarning, contested, " with records in Secrets and in ConfigMaps: ",
		"Helm reads one of the two (HELM_DRIVER): delete the records that it does not use")
	add(levelNote, unlocked, " that no HelmRelease names: ", command.Program+" lock NAME -n NAMESPACE locks one")
	for _, storage := range release.Unread(read) {
		add(levelNote, unread, fmt.Sprintf(" in %ss that no HelmRelease names: ", storage.Kind()),
			"an operator that runs with --release-storage=secret,configmap (releaseStorage in the chart's values) locks them")
	}
	return found
}
