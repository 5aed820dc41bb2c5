package cli

import (
	"context"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
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
