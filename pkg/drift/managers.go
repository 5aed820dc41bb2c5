package drift

import (
	"bytes"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/pkg/managers"
)

// systemManagers are the field managers of Kubernetes itself. What they own stays in scope Strict. A manager is
// named by the client, by default after its program, so these names are a convention and no proof.
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

// unknownManagers are the names of owners that are not known: the server records all that was written before it
// tracked fields under the first, and a client that gave no name under the others.
var unknownManagers = map[string]bool{"before-first-apply": true, "unknown": true, "": true}

// RevertManager is the field manager of writes whose fields then become Helm's.
const RevertManager = managers.Revert

// earlierManager is what RevertManager was called.
const earlierManager = "helm-locker"

// keeps reports whether what the manager of an entry owns stays; helm is the name of Helm's manager.
func (s *Strict) keeps(entry *metav1.ManagedFieldsEntry, helm string) bool {
	switch name := entry.Manager; {
	case name == helm, unknownManagers[name], name == RevertManager, name == earlierManager:
		return true
	case system(name):
		return true
	case s.Keep != nil && s.Keep(name):
		return true
	default:
		return likeHelm(entry)
	}
}

// system reports whether a manager is one of Kubernetes itself.
func system(manager string) bool {
	return systemManagers[manager] != "" || strings.HasSuffix(manager, cloudManager)
}

func (s *Strict) helm() string {
	if s.Helm.Manager != "" {
		return s.Helm.Manager
	}
	return ManagedBy(s.ManagedFields).Manager
}

// likeHelm reports whether an entry is that of another Helm than the one that owns the object now: releases change
// hands between the CLI and other tools, and what the earlier one wrote remains its own. Owning Helm's metadata is
// not enough: an apply of the whole object, as it was read and edited, owns that too.
func likeHelm(entry *metav1.ManagedFieldsEntry) bool {
	if entry.Manager == ManagedBy(nil).Manager {
		return true
	}
	return strings.Contains(entry.Manager, "helm") && ManagedBy([]metav1.ManagedFieldsEntry{*entry}).Known
}

// foreign returns what managers own whose fields do not stay as such, or nil for nothing. An entry that cannot be read
// owns nothing. Writes of the status are left out, since they can change little else. What was written in another
// version of the kind counts as far as its paths are those of this version.
func (s *Strict) foreign(helm string) *fieldpath.Set {
	var all *fieldpath.Set
	for i := range s.ManagedFields {
		entry := &s.ManagedFields[i]
		if entry.Subresource == "status" || s.keeps(entry, helm) {
			continue
		}
		switch set, ok := fieldsOf(entry); {
		case !ok || set.Empty():
		case all == nil:
			all = set
		default:
			all = all.Union(set)
		}
	}
	return all
}

// others returns what managers own whose fields stay. It is not ok when that cannot be known.
func (s *Strict) others(helm string) (all *fieldpath.Set, ok bool) {
	all = &fieldpath.Set{}
	for i := range s.ManagedFields {
		entry := &s.ManagedFields[i]
		if !s.keeps(entry, helm) || entry.FieldsV1 == nil {
			continue
		}
		set, ok := fieldsOf(entry)
		if !ok {
			return nil, false
		}
		all = all.Union(set)
	}
	return all, true
}

func fieldsOf(entry *metav1.ManagedFieldsEntry) (*fieldpath.Set, bool) {
	if entry.FieldsV1 == nil {
		return nil, false
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return nil, false
	}
	return set, true
}
