package cli

import (
	"reflect"

	"github.com/rancher/helm-locker/pkg/period"
	"github.com/rancher/helm-locker/pkg/report"
)

// Kinds of the output for programs, beside report.DriftKind.
const (
	kindFieldValues    = "FieldValueList"
	kindFindings       = "FindingList"
	kindLocks          = "HelmReleaseStatusList"
	kindLockEvent      = "HelmReleaseEvent"
	kindPolicies       = "HelmReleasePolicyStatusList"
	kindPolicyPreviews = "PolicyPreviewList"
	kindReleases       = "ReleaseList"
	kindTraces         = "TraceList"
	kindUnowned        = "UnownedObjectList"
	kindVersions       = "VersionList"
)

// list is the output of a command as JSON or YAML. Its fields are part of the command's interface.
type list[T any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Contexts are the clusters that a command with several contexts read.
	Contexts []report.Context `json:"contexts,omitempty"`
	Items    []T              `json:"items"`
}

// encodeList returns items as a list of a kind, neutral. contexts are their clusters; nil for one cluster.
func encodeList[T any](kind string, items []T, contexts []report.Context, format string) (string, error) {
	if items == nil {
		items = []T{} // not null
	}
	return encode(list[T]{report.ListVersion, kind, contexts, items}, format)
}

// printedKind is a kind of output for programs.
type printedKind struct {
	name string
	// commands are the command lines that print it, with -o json or -o yaml.
	commands string
	output   reflect.Type
}

// printedKinds returns all kinds of output for programs, in the order of their names.
func printedKinds() []printedKind {
	return []printedKind{
		{period.Kind, "`evidence`", reflect.TypeFor[period.Report]()},
		{kindFieldValues, "`values`", reflect.TypeFor[list[answerOut]]()},
		{kindFindings, "`check`", reflect.TypeFor[list[locatedFinding]]()},
		{kindLockEvent, "`status --watch`, one a line", reflect.TypeFor[watchLine]()},
		{kindPolicies, "`status --policies`", reflect.TypeFor[list[policyOut]]()},
		{kindLocks, "`status`", reflect.TypeFor[list[statusOut]]()},
		{kindPolicyPreviews, "`policy preview`", reflect.TypeFor[list[previewOut]]()},
		{report.DriftKind, "`diff`, `report`", reflect.TypeFor[report.Drift]()},
		{kindReleases, "`inspect`", reflect.TypeFor[list[detailsOut]]()},
		{kindTraces, "`trace`", reflect.TypeFor[list[traced]]()},
		{kindUnowned, "`report --unowned`", reflect.TypeFor[list[unownedOut]]()},
		{kindVersions, "`version`", reflect.TypeFor[list[versionOut]]()},
	}
}
