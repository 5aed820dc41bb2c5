package report

import (
	"fmt"
	"time"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/history"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
)

// Drift is the result of comparing releases with a cluster: the content of every format of helm-locker report. Its
// fields are part of the command's interface. Its comparisons hold no value of a Secret.
type Drift struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Time       string `json:"time"`
	Cluster    string `json:"cluster,omitempty"`
	// Contexts are the clusters of a report about several.
	Contexts []Context      `json:"contexts,omitempty"`
	Summary  Summary        `json:"summary"`
	Releases []ReleaseDrift `json:"items"`
	// Day is the chart of the last day's drift for the HTML report; nil without a recorded change.
	Day *history.Chart `json:"-"`
}

// Context is one of several clusters that a command read.
type Context struct {
	// Name is that of the kubeconfig, and Cluster the address of the API server.
	Name    string `json:"context"`
	Cluster string `json:"cluster,omitempty"`
	// Error is the reason why nothing was read, or nothing was found. Unread is set when nothing was read.
	Error  string `json:"error,omitempty"`
	Unread bool   `json:"-"`
}

// ListVersion is the version of the output of the commands for programs, and DriftKind the kind of a Drift there.
const (
	ListVersion = "cli.helm-locker.cattle.io/v1"
	DriftKind   = "ReleaseDriftList"
)

// Summary holds the totals of a Drift.
type Summary struct {
	// Contexts counts the clusters of a report about several, and Unread those of which nothing was read.
	Contexts int `json:"contexts,omitempty"`
	Unread   int `json:"unreadContexts,omitempty"`
	Releases int `json:"releases"`
	Drifted  int `json:"drifted"`
	// Incomplete counts the releases with objects that could not be compared, LeftOut those with nothing deployed.
	Incomplete     int `json:"incomplete"`
	LeftOut        int `json:"leftOut"`
	Objects        int `json:"objects"`
	ObjectsDrifted int `json:"objectsDrifted"`
	// Additions counts the objects with additions of others. Scope Declared ignores those.
	Additions int `json:"additions"`
	// Known counts the objects with no other drift than that of the baseline.
	Known int `json:"known,omitempty"`
}

// ReleaseDrift is the result of comparing one release.
type ReleaseDrift struct {
	// Context names the cluster of a report about several.
	Context   string `json:"context,omitempty"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Revision  int    `json:"revision"`
	Status    string `json:"status"`
	// HelmRelease names the HelmRelease of the release, and Locked is its LockState.
	HelmRelease string        `json:"helmRelease,omitempty"`
	Locked      string        `json:"locked,omitempty"`
	Compared    int           `json:"compared"`
	Differences []ObjectDrift `json:"differences"`
	// Additions counts the objects with additions of others. Scope Declared ignores those.
	Additions int `json:"additions,omitempty"`
	// Known counts the objects left out of Differences: the baseline has all of their drift.
	Known       int             `json:"known,omitempty"`
	Failures    []ObjectFailure `json:"failures,omitempty"`
	NotCompared []string        `json:"notCompared,omitempty"`
	// ComparedLocally is the reason for the lack of a dry run. Without one, normalized values may appear as drift.
	ComparedLocally string `json:"comparedLocally,omitempty"`
	// Error is the reason why the release could not be compared at all, LeftOut why there was nothing to compare.
	Error   string `json:"error,omitempty"`
	LeftOut string `json:"leftOut,omitempty"`
}

// Object names an object.
type Object struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// ObjectOf returns the object of an identity.
func ObjectOf(id manifest.ID) Object {
	return Object{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// String returns the object as people write it.
func (o Object) String() string {
	return manifest.ID{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}.String()
}

// ObjectDrift is an object with drift.
type ObjectDrift struct {
	Object
	State string `json:"state"`
	// Severity is that of the most severe change, and SeverityReason the rule about it.
	Severity       string        `json:"severity,omitempty"`
	SeverityReason string        `json:"severityReason,omitempty"`
	Note           string        `json:"note,omitempty"`
	Changes        []FieldChange `json:"changes,omitempty"`
	// Refused are the paths of the changes that the API server refuses to revert.
	Refused []string `json:"refused,omitempty"`
	Diff    string   `json:"diff,omitempty"`
	// What describes the difference in words. Blame names the severity and the authors of the changes, one a line.
	What  string   `json:"-"`
	Blame []string `json:"-"`
}

// FieldChange is a changed field with its author.
type FieldChange struct {
	Path        string          `json:"path"`
	Operation   drift.Operation `json:"operation"`
	Severity    string          `json:"severity,omitempty"`
	Manager     string          `json:"manager,omitempty"`
	ManagedBy   string          `json:"managerOperation,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Time        string          `json:"time,omitempty"`
	// Declared and Live are the values, masked in a Secret; nil for none, and where they are not known.
	Declared any `json:"declared,omitempty"`
	Live     any `json:"live,omitempty"`
}

// ObjectFailure is an object without a result, with the error.
type ObjectFailure struct {
	Object
	Error string `json:"error"`
}

// NewDrift returns the report about releases, with the totals. contexts are the clusters of a report about several.
func NewDrift(at time.Time, cluster string, releases []ReleaseDrift, contexts ...Context) *Drift {
	d := &Drift{APIVersion: ListVersion, Kind: DriftKind, Time: Time(at), Cluster: cluster, Contexts: contexts,
		Releases: releases}
	d.Summary.In(contexts)
	for i := range releases {
		r := &releases[i]
		if r.LeftOut != "" {
			d.Summary.LeftOut++
			continue
		}
		d.Summary.Releases++
		d.Summary.Objects += r.Compared
		d.Summary.ObjectsDrifted += len(r.Differences)
		d.Summary.Additions += r.Additions
		d.Summary.Known += r.Known
		if len(r.Differences) > 0 {
			d.Summary.Drifted++
		}
		if r.Incomplete() {
			d.Summary.Incomplete++
		}
	}
	return d
}

// Incomplete reports whether something of the release could not be compared.
func (r *ReleaseDrift) Incomplete() bool { return r.Error != "" || len(r.Failures) > 0 }

// Key returns the release as it is printed, NAMESPACE/NAME.
func (r *ReleaseDrift) Key() string { return r.Namespace + "/" + r.Name }

// In adds contexts to the totals.
func (s *Summary) In(contexts []Context) {
	s.Contexts = len(contexts)
	for _, c := range contexts {
		if c.Unread {
			s.Unread++
		}
	}
}

// Result summarizes the comparison of the release in a few words.
func (r *ReleaseDrift) Result() string {
	switch {
	case r.LeftOut != "":
		return "nothing is deployed"
	case r.Error != "":
		return "not compared"
	}
	text := "no drift in " + plain.Count(r.Compared, "object")
	if n := len(r.Differences); n > 0 {
		text = fmt.Sprintf("%d of %s drifted", n, plain.Count(r.Compared, "object"))
	}
	if n := len(r.Failures); n > 0 {
		text += fmt.Sprintf("; %s could not be compared", plain.Count(n, "object"))
	}
	if r.Known > 0 {
		text += "; " + Known(r.Known)
	}
	if r.Additions > 0 {
		text += "; " + Additions(r.Additions)
	}
	return text
}

// String returns the totals in words, for example "12 releases, 2 drifted", and "3 contexts, 1 not read: 12 releases, 2
// drifted" for several clusters. Nothing compared is no success.
func (s Summary) String() string {
	if s.Releases == 0 {
		return s.Where() + "no release was compared"
	}
	text := s.Where() + plain.Count(s.Releases, "release") + ", "
	if s.Incomplete > 0 {
		text += fmt.Sprintf("%d not fully compared, ", s.Incomplete)
	}
	drifted := "none drifted"
	if s.Drifted > 0 {
		drifted = fmt.Sprintf("%d drifted", s.Drifted)
	}
	if s.Known > 0 {
		drifted += "; " + Known(s.Known)
	}
	return text + drifted
}

// Where counts the clusters of a report about several, as the beginning of a text; empty for one cluster.
func (s Summary) Where() string {
	switch {
	case s.Unread > 0:
		return fmt.Sprintf("%s, %d not read: ", plain.Count(s.Contexts, "context"), s.Unread)
	case s.Contexts > 0:
		return plain.Count(s.Contexts, "context") + ": "
	}
	return ""
}
