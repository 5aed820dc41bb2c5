package drift

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/pkg/managers"
)

// systemManagers are the field managers of Kubernetes itself. Their fields stay in scope Strict. The client names a
// manager, by default after its program, so these names are a convention and no proof.
var systemManagers = map[string]string{
	"kube-apiserver":           "defaults, finalizers and labels of its own, such as the last use of a token",
	"kube-controller-manager":  "revisions of a Deployment, volume binding, tokens, garbage collection, autoscaling",
	"kube-scheduler":           "the node of a pod and of a volume that waits for its first consumer",
	"kubelet":                  "static pods, nodes",
	"kube-proxy":               "its own objects",
	"cloud-controller-manager": "load balancers of Services, their finalizers and annotations; nodes",

	"clusterrole-aggregation-controller":           "kube-controller-manager: the rules of aggregated ClusterRoles",
	"api-priority-and-fairness-config-producer-v1": "kube-apiserver: mandatory flow schemas and priority levels",

	"csi-provisioner":     "sidecar of every CSI driver: volumes of claims",
	"csi-attacher":        "sidecar of every CSI driver: finalizers while a volume is attached",
	"csi-resizer":         "sidecar of every CSI driver: the size of volumes and claims",
	"csi-snapshotter":     "sidecar of every CSI driver: content of snapshots",
	"snapshot-controller": "of kubernetes-csi: finalizers of claims that a snapshot is made of",

	"k3s":       "one program with all of the above inside",
	"kubelite":  "one program with all of the above inside (MicroK8s)",
	"hyperkube": "one program with all of the above inside",
}

// cloudManager is how the controllers of a cloud provider are named, after cloud-controller-manager.
const cloudManager = "-cloud-controller-manager"

// unknownManagers are the names of unknown owners. The server uses the first for everything written before it tracked
// fields, and the others for clients without a name.
var unknownManagers = map[string]bool{"before-first-apply": true, "unknown": true, "": true}

// earlierManager is a former name of managers.Revert.
const earlierManager = "helm-locker"

// system reports whether a manager is one of Kubernetes itself.
func system(manager string) bool {
	return systemManagers[manager] != "" || strings.HasSuffix(manager, cloudManager)
}

// fieldsOf is managers.Fields; not ok for an entry without fields, or with unreadable ones.
func fieldsOf(entry *metav1.ManagedFieldsEntry) (*fieldpath.Set, bool) {
	set, err := managers.Fields(entry)
	return set, err == nil && entry.FieldsV1 != nil
}

func timeOf(entry *metav1.ManagedFieldsEntry) time.Time {
	if entry == nil || entry.Time == nil {
		return time.Time{}
	}
	return entry.Time.Time
}
