package cli

import (
	"fmt"
	"strings"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/report"
)

// traced is the answer of trace as JSON or YAML. Its fields are part of the command's interface.
type traced struct {
	Object tracedObject `json:"object"`
	// Owners are the controllers of the object: its own, the owner's own, and so on.
	Owners []report.Object `json:"owners,omitempty"`
	// OwnersUnknown is the reason why the next owner could not be read.
	OwnersUnknown string         `json:"ownersUnknown,omitempty"`
	Release       *tracedRelease `json:"release,omitempty"`
	HelmReleases  []tracedLock   `json:"helmReleases"`
	// HelmReleasesUnknown is the reason why the HelmReleases could not be read.
	HelmReleasesUnknown string       `json:"helmReleasesUnknown,omitempty"`
	Drift               *tracedDrift `json:"drift,omitempty"`
	Advice              string       `json:"advice"`
}

// tracedObject is the object of the command line.
type tracedObject struct {
	report.Object
	// Exists is yes, no or unknown, for Reason.
	Exists string `json:"exists"`
	Reason string `json:"reason,omitempty"`
}

// tracedRelease is the release of an object.
type tracedRelease struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// NamedBy is the object, or the owner, whose metadata names the release; nil if its record was searched.
	NamedBy *report.Object `json:"namedBy,omitempty"`
	// Object is the object, or the owner, that the release declares; NamedBy when it declares neither.
	Object report.Object `json:"object"`
	// Exists reports whether the release has a record: yes, no or unknown.
	Exists string `json:"exists"`
	// Revision and Status are those of the newest record.
	Revision int            `json:"revision,omitempty"`
	Status   release.Status `json:"status,omitempty"`
	// Declares is yes, no, hook (Helm creates the object as a hook) or unknown, in the manifest of revision Manifest.
	Declares string `json:"declares"`
	Manifest int    `json:"manifestRevision,omitempty"`
	// Hook has the events of a hook.
	Hook []string `json:"hook,omitempty"`
	// Reason is why something is unknown.
	Reason string `json:"reason,omitempty"`
}

// tracedLock is a HelmRelease of the release.
type tracedLock struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// ReadFrom is the ReleaseLock that shows the HelmRelease to a user who may not read it. Its scope and rules are
	// unknown.
	ReadFrom string         `json:"readFrom,omitempty"`
	Policy   string         `json:"policy,omitempty"`
	Mode     v1alpha1.Mode  `json:"mode,omitempty"`
	Scope    v1alpha1.Scope `json:"scope,omitempty"`
	// Locked is as in the output of status; it is from the time when the operator was last seen, if that is stopped.
	Locked    string `json:"locked"`
	Suspended string `json:"suspended,omitempty"`
	Ready     string `json:"ready"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	// Ignored are the rules of spec.ignore that match the object.
	Ignored []v1alpha1.IgnoreRule `json:"ignored,omitempty"`
	// Operator is running, stopped or unknown, for OperatorReason.
	Operator       string `json:"operator"`
	OperatorSeen   string `json:"operatorSeen,omitempty"`
	OperatorReason string `json:"operatorReason,omitempty"`

	advice string
}

const (
	operatorRunning = "running"
	operatorStopped = "stopped"
)

// tracedDrift is the drift of the object.
type tracedDrift struct {
	// State is none, drifted, left (the object is not compared) or unknown.
	State   string               `json:"state"`
	Changes []report.FieldChange `json:"changes,omitempty"`
	Reason  string               `json:"reason,omitempty"`
	// Local is the reason why the API server was not asked for its form of the object.
	Local string `json:"comparedLocally,omitempty"`

	words string
	blame []string
}

const (
	driftNone    = "none"
	driftDrifted = "drifted"
	driftLeft    = "left"
)

// Answers of trace to a question, beside yes and no.
const (
	answerYes     = "yes"
	answerNo      = "no"
	answerUnknown = "unknown"
	// answerHook is for an object that Helm creates as a hook.
	answerHook = "hook"
)

// text returns the answer in lines of a name and a text.
func (t *traced) text() string {
	var table report.Table
	line := func(name, text string) {
		if text != "" {
			table.Add(nil, name+":", text)
		}
	}
	object := t.Object.String()
	switch t.Object.Exists {
	case answerNo:
		object += ", which does not exist"
	case answerUnknown:
		object += ", unknown: " + t.Object.Reason
	}
	line("Object", object)
	line("Owned by", t.owners())
	if t.Release == nil {
		line("Release", "none")
	} else {
		line("Release", t.Release.words())
		line("Declared", t.Release.declared())
	}
	if t.HelmReleasesUnknown != "" {
		line("HelmRelease", "unknown: "+t.HelmReleasesUnknown)
	} else if t.Release != nil && len(t.HelmReleases) == 0 {
		line("HelmRelease", "none")
	}
	for i := range t.HelmReleases {
		t.HelmReleases[i].lines(line)
	}
	if t.Drift != nil {
		line("Drift", t.Drift.text())
		for _, blame := range t.Drift.blame {
			table.Add(nil, "", blame)
		}
		if t.Drift.Local != "" && t.Drift.State == driftDrifted {
			table.Add(nil, "", "compared locally: "+t.Drift.Local)
		}
	}
	line("Advice", t.Advice)
	return table.String(0)
}

func (t *traced) owners() string {
	var names []string
	for _, owner := range t.Owners {
		names = append(names, owner.String())
	}
	if t.OwnersUnknown != "" {
		names = append(names, "unknown: "+t.OwnersUnknown)
	}
	return strings.Join(names, ", ")
}

// words returns how the release was found, and what its records are.
func (r *tracedRelease) words() string {
	text := r.Namespace + "/" + r.Name
	switch r.Exists {
	case answerYes:
		text += fmt.Sprintf(", revision %d, %s", r.Revision, r.Status)
	case answerNo:
		text += ", which has no record"
	default:
		text += ", unknown: " + r.Reason
	}
	if r.NamedBy == nil {
		return text + " (found by its record)"
	}
	return text + " (named by the metadata of " + r.NamedBy.String() + ")"
}

// declared returns whether the manifest declares the object.
func (r *tracedRelease) declared() string {
	switch r.Declares {
	case answerYes:
		if r.Manifest != r.Revision {
			return fmt.Sprintf("yes: %s, in the manifest of revision %d", r.Object, r.Manifest)
		}
		return "yes: " + r.Object.String()
	case answerHook:
		return fmt.Sprintf("no: Helm creates %s as a hook (%s)", r.Object, strings.Join(r.Hook, ", "))
	case answerNo:
		if r.Exists == answerNo {
			return "no"
		}
		return fmt.Sprintf("no: %s is not in the manifest of revision %d", r.Object, r.Manifest)
	}
	return "unknown: " + r.Reason
}

func (l *tracedLock) lines(line func(name, text string)) {
	name := l.Namespace + "/" + l.Name
	if l.Policy != "" {
		name += ", of policy " + l.Policy
	}
	if l.ReadFrom != "" {
		name += ", read from " + l.ReadFrom
	}
	line("HelmRelease", name)
	locked := l.Locked
	if l.Suspended != "" {
		locked += " " + l.Suspended
	}
	if l.Operator == operatorStopped {
		locked += " when its operator last ran"
	}
	locked = fmt.Sprintf("%s, mode %s", locked, l.Mode)
	if l.Scope != "" {
		locked += ", scope " + string(l.Scope)
	}
	line("Locked", locked)
	ready := l.Ready
	if l.Reason != "" {
		ready += ", " + l.Reason
	}
	if l.Message != "" {
		ready += ": " + l.Message
	}
	line("Ready", ready)
	if l.ReadFrom != "" {
		return // it shows neither the operator nor the rules
	}
	operator := l.Operator
	if l.OperatorSeen != "" {
		operator += ", last seen " + l.OperatorSeen
	}
	if l.OperatorReason != "" {
		operator += ": " + l.OperatorReason
	}
	line("Operator", operator)
	for _, rule := range l.Ignored {
		line("Ignored", ruleText(rule))
	}
}

func (d *tracedDrift) text() string {
	switch d.State {
	case driftDrifted:
		return d.words
	case driftNone:
		return driftNone
	case driftLeft:
		return "not compared: " + d.Reason
	}
	return "unknown: " + d.Reason
}
