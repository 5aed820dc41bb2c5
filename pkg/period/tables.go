package period

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// section is a part of the report for people: all their formats have the same ones. Its texts are not escaped.
type section struct {
	title string
	// quoted is set for a title with texts of tenants.
	quoted bool
	// notes are of this package alone.
	notes  []string
	tables []table
}

type table struct {
	head []string
	rows [][]string
}

// sections returns the content of the report, of which a large one has too much for one list.
func (r *Report) sections() iter.Seq[section] {
	return func(yield func(section) bool) {
		if !yield(r.chains()) || !yield(r.gaps()) {
			return
		}
		for i := range r.Releases {
			if !yield(r.Releases[i].section()) {
				return
			}
		}
	}
}

// gaps is the section about missing evidence.
func (r *Report) gaps() section {
	gaps := section{title: "Gaps", notes: []string{
		"Events may be missing in these times. They prove nothing about what happened then."}}
	if len(r.Gaps) == 0 {
		gaps.notes = []string{"None: all of the period was watched."}
	}
	rows := table{head: []string{"Cluster", "Operator", "From", "Until", "Reason", "Missing"}}
	for _, g := range r.Gaps {
		rows.rows = append(rows.rows, []string{g.Cluster, cmp.Or(g.Lease, "all"), report.Time(g.From),
			report.Time(g.Until), string(g.Reason), count(g.Count)})
	}
	gaps.tables = []table{rows}
	return gaps
}

// chains is the section about the files.
func (r *Report) chains() section {
	s := section{title: "Files"}
	rows := table{head: []string{"Directory", "Files", "Lines", "Last digest", "Chain"}}
	for _, c := range r.Chains {
		rows.rows = append(rows.rows, []string{c.Directory, fmt.Sprint(c.Files), fmt.Sprint(c.Lines), c.Head,
			c.result()})
	}
	s.tables = []table{rows}
	return s
}

// result describes a chain in words.
func (d *Directory) result() string {
	text := "unbroken"
	if d.Begins != "" {
		text = "unbroken, without its earlier files: begins after " + d.Begins
	}
	switch {
	case d.Broken != "":
		text = "BROKEN at " + d.Broken + "; nothing from there on is in the report"
	case d.Torn != "":
		text += "; " + d.Torn
	}
	return text
}

// Lines returns the results of checking the chains, a line each.
func (r *Report) Lines() string {
	var b strings.Builder
	for _, c := range r.Chains {
		fmt.Fprintln(&b, plain.Line(fmt.Sprintf("%s: %s, %s, %s; the last digest is %s", c.Directory, c.result(),
			plain.Count(c.Files, "file"), plain.Count(c.Chain.Lines, "line"), c.Head)))
	}
	return b.String()
}

func (r *Release) section() section {
	s := section{title: r.Key() + " (HelmRelease " + r.HelmRelease + ")", quoted: true}
	locks := table{head: []string{"From", "Until", "Lock", "Reason", "Revision", "Details"}}
	for _, i := range r.Intervals {
		locks.rows = append(locks.rows, []string{report.Time(i.From), report.Time(i.Until), string(i.State), i.Reason,
			count(i.Revision), i.details()})
	}
	changes := table{head: []string{"Time", "Action", "Object", "Change", "Field manager", "User", "Lived"}}
	for _, c := range r.Changes {
		changes.rows = append(changes.rows, []string{exact(c.Time), c.Action, c.Object, c.what(), c.manager(), c.user(),
			c.lived()})
	}
	revisions := table{head: []string{"Revision", "Locked since", "Deployed by"}}
	for _, v := range r.Revisions {
		revisions.rows = append(revisions.rows, []string{fmt.Sprint(v.Revision), v.since(),
			v.writer()})
	}
	rules := table{head: []string{"Rules since", "Mode", "Scope", "Guard", "Account", "Ignored"}}
	for _, v := range r.Rules {
		rules.rows = append(rules.rows, []string{report.Time(v.From), string(v.Mode), string(v.Scope), string(v.Guard),
			v.Account, ignored(v.Rules)})
	}
	s.tables = []table{locks, changes, revisions, rules}
	return s
}

func exact(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// count returns a number, "" for none.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func (i *Interval) details() string {
	if i.Pause == nil {
		return i.Message
	}
	text := "until resumed"
	if i.Pause.Until != nil {
		text = "until " + report.Time(*i.Pause.Until)
	}
	if i.Pause.User != "" {
		text += ", by user " + i.Pause.User
	} else if i.Pause.Manager != "" {
		text += ", by field manager " + i.Pause.Manager
	}
	if i.Pause.Since != nil {
		text += " at " + report.Time(*i.Pause.Since)
	}
	if i.Pause.Reason != "" {
		text += ": " + i.Pause.Reason
	}
	return text
}

func (c *Change) what() string {
	text := strings.Join(c.Paths, ", ")
	if c.MorePaths > 0 {
		text += fmt.Sprintf(" and %d more", c.MorePaths)
	}
	if c.Operation == "" {
		return text
	}
	return strings.TrimSpace(strings.ToLower(c.Operation) + " " + text)
}

func (c *Change) manager() string {
	text := c.Manager
	if c.Subresource != "" {
		text += " (" + c.Subresource + ")"
	}
	return text
}

func (c *Change) user() string {
	if c.User == "" && len(c.PossibleUsers) > 0 {
		return strings.Join(c.PossibleUsers, " or ")
	}
	text := c.User
	if len(c.Groups) > 0 {
		text += " (" + strings.Join(c.Groups, ", ") + ")"
	}
	if c.Count > 1 {
		text += fmt.Sprintf(" (%d requests so far)", c.Count)
	}
	return text
}

// lived returns how long a change lived, with the event at which that begins.
func (c *Change) lived() string {
	if c.Lived == "" {
		return ""
	}
	return c.Lived + " since " + strings.ToLower(c.Since)
}

func (v *Revision) since() string {
	if v.Earlier {
		return report.Time(v.Time) + " or earlier"
	}
	return report.Time(v.Time)
}

func (v *Revision) writer() string {
	if v.Unexpected {
		return v.Writer + " (unexpected)"
	}
	return cmp.Or(v.Writer, "not witnessed")
}

// ignored returns ignore rules as JSON, as the API has them.
func ignored(r evidence.Rules) string {
	var all []string
	for _, rule := range r.Ignore {
		text, err := json.Marshal(rule)
		if err != nil {
			text = []byte(err.Error())
		}
		all = append(all, string(text))
	}
	return strings.Join(all, " ")
}
