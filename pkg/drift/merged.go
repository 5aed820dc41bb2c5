package drift

import (
	"reflect"
	"slices"
	"strings"
)

// isMergedByApply reports whether a server-side apply merges the list in the field called name of a struct type of a
// built-in kind, against the type's tags, which the strategic merge follows. Such a list is compared as one value, and
// an apply alone can neither remove nor exchange an element. A test compares the table with client-go's schemas of
// server-side apply.
func isMergedByApply(owner reflect.Type, name string) bool {
	return slices.Contains(mergedByApply[apiType(owner)], name)
}

// apiType returns the name of a struct type of Kubernetes' API with its group, such as core.PodSpec: the same for
// all versions.
func apiType(t reflect.Type) string {
	group, found := strings.CutPrefix(t.PkgPath(), "k8s.io/api/")
	if !found {
		return ""
	}
	group, _, _ = strings.Cut(group, "/")
	return group + "." + t.Name()
}

// mergedByApply are these fields by the API group, as it is called in the package path, and the struct type.
var mergedByApply = map[string][]string{
	"admissionregistration.ValidatingAdmissionPolicyBindingSpec": {"validationActions"},
	"batch.PodFailurePolicyOnExitCodesRequirement":               {"values"},
	"core.ContainerRestartRuleOnExitCodes":                       {"values"},
	"core.NodePodPreemptionPolicy":                               {"disableResizePreemption"},
	"core.ResourceRequirements":                                  {"claims"},
	"core.VolumeMount":                                           {"bindMountOptions"},
	"discovery.Endpoint":                                         {"addresses"},
	"flowcontrol.NonResourcePolicyRule":                          {"nonResourceURLs", "verbs"},
	"flowcontrol.ResourcePolicyRule":                             {"apiGroups", "namespaces", "resources", "verbs"},
	"resource.ResourceSliceSpec":                                 {"skipNodeOperations"},
	"scheduling.CompositePodGroupTemplate":                       {"compositePodGroupTemplates", "podGroupTemplates"},
	"scheduling.WorkloadSpec":                                    {"compositePodGroupTemplates", "podGroupTemplates"},
	"storage.CSIDriverSpec":                                      {"volumeLifecycleModes"},
}
