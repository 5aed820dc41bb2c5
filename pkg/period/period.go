// Package period makes a report of a period from lines of evidence: the intervals of each lock, the changes, the
// revisions, the rules, and each time for which evidence is missing. It is pure.
package period

import (
	"fmt"
	"time"

	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// Kind is the kind of a Report in the output for programs.
const Kind = "EvidenceReport"

// Report is the content of all formats. Its fields are part of the command's interface.
type Report struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Since      time.Time `json:"since"`
	Until      time.Time `json:"until"`
	Summary    Summary   `json:"summary"`
	// Chains are the directories that were read, and Gaps the times for which evidence is missing.
	Chains   []Directory `json:"chains"`
	Gaps     []Gap       `json:"gaps"`
	Releases []Release   `json:"items"`
}

// Summary holds the totals of a Report.
type Summary struct {
	Clusters int `json:"clusters"`
	Releases int `json:"releases"`
	Reverts  int `json:"reverts"`
	Denials  int `json:"denials"`
	Gaps     int `json:"gaps"`
	// Broken counts the directories with a broken chain.
	Broken int `json:"broken"`
}

// Directory is a directory of evidence.
type Directory struct {
	Directory string `json:"directory"`
	evidence.Chain
}

// Gap is a time for which evidence is missing, of one operator or of a whole cluster.
type Gap struct {
	Cluster string          `json:"cluster"`
	Lease   string          `json:"lease,omitempty"`
	From    time.Time       `json:"from"`
	Until   time.Time       `json:"until"`
	Reason  evidence.Reason `json:"reason"`
	Count   int             `json:"count,omitempty"`
}

// NotWatched is the reason of a gap without a line: no line proves that an operator was watched.
const NotWatched evidence.Reason = "NotWatched"

// Release is a HelmRelease in a cluster, with its release.
type Release struct {
	Cluster     string     `json:"cluster"`
	Namespace   string     `json:"namespace"`
	Name        string     `json:"name"`
	HelmRelease string     `json:"helmRelease"`
	Intervals   []Interval `json:"intervals"`
	Changes     []Change   `json:"changes"`
	Revisions   []Revision `json:"revisions"`
	Rules       []RuleSet  `json:"rules"`
}

// Key returns the release and its cluster as people read them.
func (r *Release) Key() string { return r.Cluster + " " + r.Namespace + "/" + r.Name }

// State is the state of a lock in an interval.
type State string

// The states of a lock.
const (
	Locked    State = "Locked"
	Watched   State = "Watched"
	Paused    State = "Paused"
	NotLocked State = "NotLocked"
	// Unknown is a gap in the evidence.
	Unknown State = "Unknown"
)

// Interval is a time with one state.
type Interval struct {
	From     time.Time       `json:"from"`
	Until    time.Time       `json:"until"`
	State    State           `json:"state"`
	Reason   string          `json:"reason"`
	Message  string          `json:"message,omitempty"`
	Revision int             `json:"revision,omitempty"`
	Pause    *evidence.Pause `json:"pause,omitempty"`
}

// Change is a change that was not made by Helm, with the reaction to it.
type Change struct {
	Time        time.Time `json:"time"`
	Action      string    `json:"action"`
	Object      string    `json:"object"`
	Operation   string    `json:"operation,omitempty"`
	Paths       []string  `json:"paths,omitempty"`
	MorePaths   int       `json:"morePaths,omitempty"`
	Manager     string    `json:"manager,omitempty"`
	Subresource string    `json:"subresource,omitempty"`
	User        string    `json:"user,omitempty"`
	// PossibleUsers are the users whose requests fit the change, if there are several.
	PossibleUsers []string `json:"possibleUsers,omitempty"`
	// Groups are those of User.
	Groups []string `json:"userGroups,omitempty"`
	// Changed is when the manager last wrote, and Lived how long the change lived, since Since.
	Changed *time.Time `json:"changed,omitempty"`
	Lived   string     `json:"lived,omitempty"`
	Since   string     `json:"since,omitempty"`
	// Count is the number of such requests up to then.
	Count int `json:"count,omitempty"`
}

// Revision is a revision of Helm's that was locked, watched or known while paused.
type Revision struct {
	Time     time.Time `json:"time"`
	Revision int       `json:"revision"`
	// Writer is the user who stored the record, if the operator witnessed that.
	Writer string `json:"writer,omitempty"`
	// Unexpected is set for a writer whom spec.expectedWriters did not name.
	Unexpected bool `json:"unexpected,omitempty"`
	// Earlier is set when the revision is older than the evidence about it.
	Earlier bool `json:"earlier,omitempty"`
}

// RuleSet is the rules in force from a time on.
type RuleSet struct {
	From time.Time `json:"from"`
	evidence.Rules
}

// String returns the totals in words.
func (s Summary) String() string {
	text := fmt.Sprintf("%s in %s, %s, %s, %s", plain.Count(s.Releases, "release"), plain.Count(s.Clusters, "cluster"),
		plain.Count(s.Reverts, "revert"), plain.Count(s.Denials, "denied request"), plain.Count(s.Gaps, "gap"))
	if s.Broken > 0 {
		text += ", " + plain.Count(s.Broken, "broken chain")
	}
	return text
}

func newReport(since, until time.Time) *Report {
	return &Report{APIVersion: report.ListVersion, Kind: Kind, Since: since.UTC(), Until: until.UTC(),
		Chains: []Directory{}, Gaps: []Gap{}, Releases: []Release{}}
}
