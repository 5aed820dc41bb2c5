package judge

import (
	"fmt"
	"strconv"

	"github.com/rancher/helm-locker/pkg/drift"
)

// namedPaths is how many paths a text for a requester names before it only counts the rest.
const namedPaths = 3

// Refusal returns the text for someone whose request was refused, or would be if it were no dry run.
func (a *Admission) Refusal(changes []drift.Change) string {
	what, were := "its deletion", "was"
	if a.After != nil {
		what = a.describe(changes)
		if len(changes) > 1 {
			were = "were"
		}
	}
	if a.DryRun {
		were = "would be"
	}
	return fmt.Sprintf("helm-locker: %s, which is locked; %s %s refused. Use \"helm upgrade %s -n %s\", or "+
		"\"helm-locker suspend %s -n %s --for 30m\"", a.subject(), what, were, a.Locked.Name,
		a.Locked.Namespace, a.Locked.Name, a.Locked.Namespace)
}

// Warning returns the text for someone whose request passes and is not kept; detected says that it is only reported.
func (a *Admission) Warning(changes []drift.Change, detected bool) string {
	what, fate := "its deletion", "will be undone"
	if a.After != nil {
		what, fate = a.describe(changes), "will be reverted"
	}
	if detected {
		fate = "is drift, and will be reported"
		if len(changes) > 1 {
			fate = "are drift, and will be reported"
		}
	}
	return fmt.Sprintf("helm-locker: %s, which is locked; %s %s", a.subject(), what, fate)
}

// subject returns "Deployment apps/web belongs to the Helm release apps/shop".
func (a *Admission) subject() string {
	object := a.ID.Name
	if a.ID.Namespace != "" {
		object = a.ID.Namespace + "/" + a.ID.Name
	}
	return fmt.Sprintf("%s %s belongs to the Helm release %s", a.ID.Kind, object, a.Locked)
}

// describe names the fields that a request changes. It tells the values of a single one that is a number or a boolean:
// such values are no secrets, and the requester sees them in the object.
func (a *Admission) describe(changes []drift.Change) string {
	text := drift.Describe(changes, namedPaths)
	if len(changes) != 1 || a.ID.Kind == "Secret" {
		return text
	}
	before, after := plainValue(a.Before.Object, changes[0]), plainValue(a.After.Object, changes[0])
	if before == "" || after == "" || before == after {
		return text
	}
	return fmt.Sprintf("%s %s -> %s", text, before, after)
}

// plainValue returns a number or a boolean that is found without passing a list; empty for everything else.
func plainValue(object map[string]any, change drift.Change) string {
	var value any = object
	for _, segment := range change.Segments() {
		fields, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		value = fields[segment]
	}
	switch value := value.(type) {
	case bool:
		return strconv.FormatBool(value)
	case int64:
		return strconv.FormatInt(value, 10)
	}
	return ""
}
