package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

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

// some returns the first names of a list, and the number of the others.
func some(names []string) string {
	const most = 10
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}
