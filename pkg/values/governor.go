package values

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// elsewhere lists other sources of a chart's manifest.
func (f *finder) elsewhere() string {
	var why []string
	for _, name := range f.lookups() {
		why = append(why, name+" calls "+f.lookup())
	}
	why = append(why, "a post-renderer, or other API versions or another version of Kubernetes, may have been at work")
	return strings.Join(why, "; ")
}

// lookup describes the function of that name.
func (f *finder) lookup() string {
	if f.renderer.cluster == nil {
		return "lookup, which finds nothing without --lookup"
	}
	return "lookup, which reads the cluster"
}

// mostNamed bounds the templates that a message names.
const mostNamed = 3

// lookups returns the names of templates that call lookup, at most mostNamed.
func (f *finder) lookups() []string {
	var names []string
	for name, read := range f.reads.templates {
		if slices.Contains(read.functions, "lookup") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), mostNamed)]
}

// blind returns the names of the templates whose lookup finds nothing, because there is no cluster.
func (f *finder) blind() []string {
	if f.renderer.cluster != nil {
		return nil
	}
	return f.lookups()
}

// unrendered wraps an error of the templates. It names those whose lookup finds nothing.
func (f *finder) unrendered(what string, err error) error {
	if names := f.blind(); len(names) > 0 {
		what += ", perhaps because " + strings.Join(names, ", ") + " calls " + f.lookup()
	}
	return fmt.Errorf("%s: %w", what, err)
}

// governor describes the origin of a field that depends on no value.
func (f *finder) governor(q Question, o object) string {
	if value, declared := Get(o.Content, q.Path); declared {
		if where := f.constant(q, o, value); where != "" {
			return "a constant in " + where
		}
		if f.lookedUp(q, o) {
			return f.lookup() + ", in " + o.file
		}
		if what := f.builtIn(q, o); what != "" {
			return what + ", in " + o.file
		}
	}
	_, functions := f.reads.all(o.file)
	if slices.Contains(functions, "lookup") {
		return "perhaps " + f.lookup() + ", in " + o.file
	}
	if _, declared := Get(o.Content, q.Path); !declared {
		return "no value that was tried adds this field; the template is " + o.file
	}
	return "no value that was tried gives it this value; the template is " + o.file
}

// lookedUp reports whether a field is another one when lookup finds nothing.
func (f *finder) lookedUp(q Question, o object) bool {
	if f.renderer.cluster == nil || len(f.lookups()) == 0 {
		return false
	}
	blind := *f.renderer
	blind.cluster = nil
	rendered, err := blind.render(task{config: f.config, only: f.alone(o)})
	return err == nil && q.changes(rendered, o)
}

// builtIn returns the built-in object of Helm behind a field; empty for none.
func (f *finder) builtIn(q Question, o object) string {
	release := func(key string, value any) func(*chart.Chart, map[string]any) {
		return func(_ *chart.Chart, top map[string]any) { put(top, []string{"Release", key}, value) }
	}
	for _, b := range [...]struct {
		what   string
		change func(c *chart.Chart, top map[string]any)
	}{
		{"the name of the release", release("Name", "zq")},
		{"the namespace of the release", release("Namespace", "zq")},
		{"the revision of the release", release("Revision", firstNumber)},
		{"the version of the chart", func(c *chart.Chart, _ map[string]any) { c.Metadata.Version = "9.9.9-zq" }},
		{"the appVersion of the chart", func(c *chart.Chart, _ map[string]any) { c.Metadata.AppVersion = "9.9.9-zq" }},
		{"the version of Kubernetes", func(_ *chart.Chart, top map[string]any) {
			caps := f.renderer.caps.Copy()
			caps.KubeVersion = chartutil.KubeVersion{Version: "v1.99.0", Major: "1", Minor: "99"}
			top["Capabilities"] = caps
		}},
	} {
		rendered, err := f.renderer.render(task{config: f.config, only: f.alone(o), change: b.change})
		if err == nil && q.changes(rendered, o) {
			return b.what
		}
	}
	return ""
}

// changes reports whether a field of an object has another value in a rendering, perhaps under another name.
func (q Question) changes(r *rendering, o object) bool {
	other, found := r.at(o.file, o.ID.Kind, o.n)
	if !found {
		return false
	}
	before, _ := Get(o.Content, q.Path)
	after, _ := Get(other.Content, q.Path)
	return !same(before, after)
}

// mostLines bounds the trials of template lines.
const mostLines = 40

// constant returns the file and the line of the text behind a field: an edit there changes the field.
func (f *finder) constant(q Question, o object, value any) string {
	printed, ok := text(value)
	if !ok || printed == "" {
		return ""
	}
	printed, _, _ = strings.Cut(printed, "\n")
	only := f.alone(o)
	left := mostLines
	for _, place := range f.places(q, o, printed) {
		if left--; left < 0 {
			return ""
		}
		rendered, err := f.renderer.render(task{config: f.config, only: only, edit: place.edit})
		if err == nil && q.changes(rendered, o) {
			return fmt.Sprintf("%s:%d", place.file, place.line)
		}
	}
	return ""
}

// place is a text on a line of a template.
type place struct {
	file       string
	line       int
	start, end int
	instead    string
}

// edit puts another text in the place.
func (p place) edit(name string, text []byte) []byte {
	if name != p.file {
		return text
	}
	return slices.Concat(text[:p.start], []byte(p.instead), text[p.end:])
}

// places returns the places of a text in the templates that may print it: lines with the key of the field first.
func (f *finder) places(q Question, o object, printed string) []place {
	word := regexp.MustCompile(`(^|[^\w.])(` + regexp.QuoteMeta(printed) + `)($|[^\w])`)
	key := q.Path[len(q.Path)-1]
	if _, err := strconv.Atoi(key); err == nil && len(q.Path) > 1 {
		key = q.Path[len(q.Path)-2]
	}
	var likely, others []place
	var visit func(c *chart.Chart, name string)
	visit = func(c *chart.Chart, name string) {
		for _, file := range c.Templates {
			full := name + "/" + file.Name
			if full != o.file && !strings.Contains(string(file.Data), "define") {
				continue
			}
			for _, at := range word.FindAllSubmatchIndex(file.Data, -1) {
				before := string(file.Data[:at[4]])
				line := before[strings.LastIndex(before, "\n")+1:]
				p := place{full, strings.Count(before, "\n") + 1, at[4], at[5], another(printed)}
				if strings.Contains(line, key) {
					likely = append(likely, p)
				} else {
					others = append(others, p)
				}
			}
		}
		for _, d := range c.Dependencies() {
			visit(d, name+"/charts/"+d.Name())
		}
	}
	visit(f.renderer.chart, f.renderer.chart.Name())
	return append(likely, others...)
}

// another returns a unique text of the same kind.
func another(printed string) string {
	switch {
	case printed == "true":
		return "false"
	case printed == "false":
		return "true"
	case digits.MatchString(printed):
		return strconv.Itoa(firstNumber)
	}
	return printed + "zq"
}
