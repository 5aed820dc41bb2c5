package cli

import (
	"fmt"
	"strings"

	"github.com/rancher/helm-locker/pkg/report"
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

// advice returns the next step.
func (t *tracer) advice(of *origin) string {
	if of == nil || of.declares == answerUnknown {
		err := t.unread
		if of != nil {
			err = of.err
		}
		if err == nil {
			return "none: Helm does not manage the object, and no lock protects it"
		}
		return t.remedy(err)
	}
	name := quoted(of.key.Name) + " -n " + of.key.Namespace
	switch {
	case of.declares == answerHook:
		return "change the hook in the chart: no lock protects the objects of hooks"
	case of.exists == answerNo:
		return "none: Helm knows no such release, and no lock protects the object"
	case of.declares == answerNo:
		return t.app.name + " inspect " + name + " --manifest shows what the release declares; the object is left from an earlier revision, or its metadata is forged"
	case t.unreadLocks != nil:
		return t.remedy(t.unreadLocks)
	case len(t.out.HelmReleases) == 0:
		return t.app.name + " lock " + name + " locks the release"
	}
	for i := range t.out.HelmReleases {
		if l := &t.out.HelmReleases[i]; l.Operator == operatorStopped {
			return fmt.Sprintf("start the operator: nothing is reverted now; %s check -n %s shows more", t.app.name, of.key.Namespace)
		} else if l.advice != "" {
			return l.advice
		}
	}
	return t.change(of, name)
}

// remedy returns the way out of an error.
func (t *tracer) remedy(err error) string {
	if hints := hintsFor(t.app.name, err); len(hints) > 0 {
		return hints[0]
	}
	return "try again as a user who may read it"
}

// change returns how to change an object of a release with a HelmRelease that acts as specified.
func (t *tracer) change(of *origin, name string) string {
	suspend := fmt.Sprintf("%s suspend %s --for 30m allows changes at once", t.app.name, name)
	switch {
	case t.out.HelmReleases[0].Locked == report.LockedDetect:
		return t.app.name + " lock " + name + " --mode Enforce has the operator revert changes"
	case t.out.Drift != nil && t.out.Drift.State == driftDrifted:
		return fmt.Sprintf("%s values %s shows the Helm values that keep the change; %s", t.app.name, name, suspend)
	}
	object := strings.ToLower(of.at.id.Kind) + "/" + of.at.id.Name
	return fmt.Sprintf("%s values %s %s PATH=VALUE shows how to change it with Helm; %s", t.app.name, name, quoted(object), suspend)
}
