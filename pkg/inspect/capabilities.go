package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"k8s.io/client-go/discovery"

	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
)

// Capabilities are the facts about a cluster for templates.
type Capabilities struct {
	KubeVersion string
	// APIVersions are the served versions and kinds in Helm's notation: "apps/v1", "apps/v1/Deployment".
	APIVersions []string
}

// Capabilities asks the cluster. API groups whose server does not answer are left out, as by Helm.
func (c *Cluster) Capabilities() (*Capabilities, error) {
	version, err := c.Discovery.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask for the version of Kubernetes: %w", err)
	}
	groups, resources, err := c.Discovery.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("ask for the API versions: %w", err)
	}
	found := &Capabilities{KubeVersion: version.GitVersion}
	for _, group := range groups {
		for _, v := range group.Versions {
			found.APIVersions = append(found.APIVersions, v.GroupVersion)
		}
	}
	for _, list := range resources {
		for _, resource := range list.APIResources {
			found.APIVersions = append(found.APIVersions, path.Join(list.GroupVersion, resource.Kind))
		}
	}
	slices.Sort(found.APIVersions)
	found.APIVersions = slices.Compact(found.APIVersions)
	return found, nil
}

// Chart reads the chart in the payload of a record.
func (c *Cluster) Chart(ctx context.Context, record release.Record) (json.RawMessage, error) {
	_, payload, err := proof.Payload(ctx, c.kubernetes, record)
	if err != nil {
		return nil, fmt.Errorf("read revision %d of release %s: %w", record.Revision, record.Key, err)
	}
	chart, err := whole.Chart(payload, release.DefaultLimit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", record.Object(), err)
	}
	return chart, nil
}
