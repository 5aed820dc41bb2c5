package proof

import (
	"testing"

	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestListsReadStorageBeforeKubernetes131(t *testing.T) {
	for text, want := range map[string]bool{
		"v1.29.0": true, "v1.30.14": true, "v1.30.5-eks-ce1d5eb": true, "v1.30.2+k3s1": true,
		"v1.30.5-gke.1014001": true,
		"v1.31.0":             false, "v1.31.1+rke2r1": false, "v1.36.3": false, "v2.0.0": false, "": false,
		"unknown": false,
	} {
		check.Equal(t, ListsReadStorage(&apiversion.Info{GitVersion: text}), want, "%v", text)
	}
}
