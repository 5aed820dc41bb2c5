package cli

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// It is unknown which of two records Helm reads, so none is compared, whether the release is named or not.
func TestAReleaseWithRecordsInTwoStoragesIsNotCompared(t *testing.T) {
	key := release.Key{Namespace: "apps", Name: "web"}
	records := []release.Record{
		{Key: key, Storage: release.Secrets, Revision: 1, Status: release.StatusDeployed},
		{Key: key, Storage: release.ConfigMaps, Revision: 2, Status: release.StatusDeployed},
	}
	for _, named := range []bool{false, true} {
		_, err := currentOf(&action{}, records, named)
		const want = "release apps/web has records in Secrets and in ConfigMaps; choose one of the two with --release-storage"
		check.That(t, err != nil && strings.HasPrefix(err.Error(), want), "named %v: %v", named, err)
	}
	record, err := currentOf(&action{}, records[1:], false)
	check.That(t, err == nil && record.Revision == 2, "of one storage: %+v, %v", record, err)
}
