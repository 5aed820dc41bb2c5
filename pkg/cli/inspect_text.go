package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/pkg/report"
)

// summary describes a release in lines of a name and a text.
func summary(d *whole.Release, now time.Time) string {
	var t report.Table
	line := func(name, text string) {
		if text != "" {
			t.Add(nil, name+":", text)
		}
	}
	since := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return fmt.Sprintf("%s (%s ago)", report.Time(at), report.Age(at, now))
	}
	line("Name", d.Name)
	line("Namespace", d.Namespace)
	line("Revision", fmt.Sprint(d.Revision))
	line("Status", string(d.Status))
	line("Chart", strings.TrimSuffix(d.ChartName+"-"+d.ChartVersion, "-"))
	line("App version", d.AppVersion)
	line("Updated", since(d.LastDeployed))
	line("First deployed", since(d.FirstDeployed))
	line("Description", d.Description)
	line("Applied by", applyMethod(d.ApplyMethod))
	line("Objects", objectCounts(d.Manifest))
	for i, hook := range d.Hooks {
		name := ""
		if i == 0 {
			name = "Hooks:"
		}
		t.Add(nil, name, fmt.Sprintf("%s %s (%s)", hook.Kind, hook.Name, strings.Join(eventsOf(hook), ", ")))
	}
	return t.String(0)
}

func eventsOf(hook whole.Hook) []string {
	events := make([]string, len(hook.Events))
	for i, event := range hook.Events {
		events[i] = event.String()
	}
	return events
}

func applyMethod(method string) string {
	switch method {
	case release.ApplyMethodServerSide:
		return "server-side apply"
	case release.ApplyMethodClientSide:
		return "three-way patch (chosen with Helm 4)"
	}
	return "three-way patch"
}

// objectCounts returns the numbers of objects in a manifest by kind.
func objectCounts(text string) string {
	set, err := manifest.Parse(text)
	if err != nil {
		return "the manifest does not parse: " + err.Error()
	}
	if len(set.Objects) == 0 {
		return "none"
	}
	counts := map[string]int{}
	for _, object := range set.Objects {
		counts[object.ID.Kind]++
	}
	var kinds []string
	for kind, n := range counts {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(kinds)
	return fmt.Sprintf("%d (%s)", len(set.Objects), strings.Join(kinds, ", "))
}

// maskJSON returns a JSON value with every occurrence of the values in its texts masked.
func maskJSON(raw json.RawMessage, masker report.Masker, secrets report.Values) (json.RawMessage, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	var decoded map[string]any
	if err := utiljson.Unmarshal(raw, &decoded); err != nil {
		return nil, fmt.Errorf("the values are malformed")
	}
	return json.Marshal(masker.Value(decoded, secrets))
}

// detailsOut is a release as JSON or YAML. Its fields are part of the command's interface.
type detailsOut struct {
	Name          string          `json:"name"`
	Namespace     string          `json:"namespace"`
	Revision      int             `json:"revision"`
	Status        release.Status  `json:"status"`
	Chart         string          `json:"chart"`
	ChartVersion  string          `json:"chartVersion"`
	AppVersion    string          `json:"appVersion,omitempty"`
	FirstDeployed string          `json:"firstDeployed,omitempty"`
	LastDeployed  string          `json:"lastDeployed,omitempty"`
	Description   string          `json:"description,omitempty"`
	ApplyMethod   string          `json:"applyMethod,omitempty"`
	Objects       []report.Object `json:"objects"`
	Hooks         []hookOut       `json:"hooks,omitempty"`
	Values        map[string]any  `json:"values,omitempty"`
	Notes         string          `json:"notes,omitempty"`
	Manifest      string          `json:"manifest"`
}

type hookOut struct {
	Kind   string   `json:"kind"`
	Name   string   `json:"name"`
	Events []string `json:"events,omitempty"`
	Weight int      `json:"weight,omitempty"`
}

func detailsOf(d *whole.Release) (*detailsOut, error) {
	out := &detailsOut{
		Name: d.Name, Namespace: d.Namespace, Revision: d.Revision, Status: d.Status, Chart: d.ChartName,
		ChartVersion: d.ChartVersion,
		AppVersion:   d.AppVersion, FirstDeployed: report.Time(d.FirstDeployed),
		LastDeployed: report.Time(d.LastDeployed),
		Description:  d.Description, ApplyMethod: d.ApplyMethod, Notes: d.Notes, Manifest: d.Manifest,
		Objects: []report.Object{}, Values: map[string]any{},
	}
	if len(d.Values) > 0 {
		if err := utiljson.Unmarshal(d.Values, &out.Values); err != nil {
			return nil, fmt.Errorf("the values are malformed")
		}
	}
	if set, err := manifest.Parse(d.Manifest); err == nil {
		for _, object := range set.Objects {
			out.Objects = append(out.Objects, report.ObjectOf(object.ID))
		}
	}
	for _, hook := range d.Hooks {
		out.Hooks = append(out.Hooks, hookOut{Kind: hook.Kind, Name: hook.Name, Events: eventsOf(hook),
			Weight: hook.Weight})
	}
	return out, nil
}
