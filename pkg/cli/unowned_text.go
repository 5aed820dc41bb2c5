package cli

import (
	"fmt"
	"strings"

	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// failuresOf returns the kinds that could not be listed; none where nothing was read.
func failuresOf(found *inspect.Inventory) []inspect.Failure {
	if found == nil {
		return nil
	}
	return found.Failures
}

func unownedSummary(all []located[inspect.Inventory]) string {
	var total report.Summary
	total.In(contextsOf(all))
	unowned, objects, failures := 0, 0, 0
	for _, l := range all {
		if l.read != nil {
			unowned += len(l.read.Unowned)
			objects += l.read.Objects
			failures += len(l.read.Failures)
		}
	}
	text := total.Where() + fmt.Sprintf("%d of %s without an owner", unowned, plain.Count(objects, "object"))
	if failures > 0 {
		text += fmt.Sprintf("; %s not listed", plain.Count(failures, "kind"))
	}
	return text
}

func unownedText(all []located[inspect.Inventory], format string) (string, error) {
	items := []unownedOut{}
	for _, l := range all {
		if l.read == nil {
			continue
		}
		for _, o := range l.read.Unowned {
			items = append(items, unownedOut{Context: l.Name, Object: report.ObjectOf(o.ID),
				Created: report.Time(o.Created), Manager: o.Manager, Release: o.Release})
		}
	}
	if format == formatJSON {
		return encodeList(kindUnowned, items, contextsOf(all), formatJSON)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Objects of no release\n\n**%s**\n", unownedSummary(all))
	b.WriteString(report.UnreadContexts(contextsOf(all)))
	column, line := "", ""
	if isLocated(all) {
		column, line = "Context | ", "--- | "
	}
	if len(items) > 0 {
		fmt.Fprintf(&b, "\n| %sObject | Created | By | Names release |\n| %s--- | --- | --- | --- |\n", column, line)
	}
	for _, o := range items {
		cells := []string{report.Cell(o.Object.String()), o.Created, report.Cell(o.Manager), report.Cell(o.Release)}
		if isLocated(all) {
			cells = append([]string{report.Cell(o.Context)}, cells...)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String(), nil
}

// unownedOut is an object of no release. It is part of the command's interface.
type unownedOut struct {
	Context string `json:"context,omitempty"`
	report.Object
	Created string `json:"created"`
	Manager string `json:"manager,omitempty"`
	// Release is the name of a release in the object's metadata. No such release declares the object.
	Release string `json:"release,omitempty"`
}
