package values

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// renderer renders the chart of a release, as often as needed.
type renderer struct {
	source *Source
	chart  *chart.Chart
	caps   *chartutil.Capabilities
	// cluster is read by lookup; lookup finds nothing when it is nil.
	cluster Cluster
	// unchecked is set when the chart's schema refers to other documents: validation would fetch them.
	unchecked bool
	// renders counts.
	renders int
}

// Cluster serves the objects that templates look up.
type Cluster = engine.ClientProvider

func newRenderer(source *Source, cluster Cluster) (*renderer, error) {
	c, err := source.LoadChart()
	if err != nil {
		return nil, err
	}
	caps, err := source.capabilities()
	if err != nil {
		return nil, err
	}
	return &renderer{source: source, chart: c, caps: caps, cluster: cluster, unchecked: refersElsewhere(c)}, nil
}

// foreignReference matches a reference of a JSON schema to another document.
var foreignReference = regexp.MustCompile(`"\$(?:ref|schema|dynamicRef)"\s*:\s*"(?:https?|file|urn):[^"]*"`)

// refersElsewhere reports whether a schema refers to other documents: Helm's validator would fetch them.
func refersElsewhere(c *chart.Chart) bool {
	for _, found := range foreignReference.FindAllString(string(c.Schema), -1) {
		// The validator includes the drafts of JSON schema.
		if !strings.Contains(found, "://json-schema.org/") {
			return true
		}
	}
	return slices.ContainsFunc(c.Dependencies(), refersElsewhere)
}

// object is an object of a manifest with its template.
type object struct {
	manifest.Object
	// file is the template, empty in a recorded manifest; n counts the objects of its kind in that file.
	file string
	n    int
}

// rendering is the output of a render.
type rendering struct {
	objects []object
	hooks   []manifest.Skipped
}

// task is one way to render.
type task struct {
	config map[string]any
	// upgrade renders the next revision instead of the recorded one.
	upgrade bool
	// only, unless empty, is the one template to render.
	only string
	// change, if set, changes the input of the templates, after all checks: the chart, and Values, Release and so on.
	change func(c *chart.Chart, top map[string]any)
	// edit, if set, replaces the text of a template.
	edit func(name string, text []byte) []byte
}

// inputs returns the chart and the values of a task in the form for Helm's engine.
func (r *renderer) inputs(t task) (*chart.Chart, chartutil.Values, error) {
	c := clone(r.chart)
	config, _ := copyOf(t.config).(map[string]any)
	if err := chartutil.ProcessDependenciesWithMerge(c, config); err != nil {
		return nil, nil, err
	}
	options := chartutil.ReleaseOptions{Name: r.source.Name, Namespace: r.source.Namespace, Revision: r.source.Revision}
	if t.upgrade {
		options.Revision = r.source.Next
	}
	options.IsInstall = options.Revision == 1
	options.IsUpgrade = !options.IsInstall
	unchecked := r.unchecked || t.change != nil
	values, err := chartutil.ToRenderValuesWithSchemaValidation(c, config, options, r.caps, unchecked)
	if err != nil {
		return nil, nil, err
	}
	if t.change != nil {
		values["Values"] = plainMaps(values["Values"])
		t.change(c, values)
	}
	if t.only != "" || t.edit != nil {
		choose(c, c.Name(), t)
	}
	return c, values, nil
}

// present returns all values for the templates: the user's and the chart's own.
func (r *renderer) present(config map[string]any) (map[string]any, error) {
	_, values, err := r.inputs(task{config: config})
	if err != nil {
		return nil, err
	}
	present, _ := plainMaps(values["Values"]).(map[string]any)
	return present, nil
}

// plainMaps returns a deep copy without Helm's map types.
func plainMaps(value any) any {
	switch v := value.(type) {
	case chartutil.Values:
		return plainMaps(map[string]any(v))
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, member := range v {
			m[key] = plainMaps(member)
		}
		return m
	}
	return copyOf(value)
}

// choose replaces the templates of a chart called name by those of a task. Templates that define others stay.
func choose(c *chart.Chart, name string, t task) {
	var kept []*chart.File
	for _, file := range c.Templates {
		full := path.Join(name, file.Name)
		partial := strings.HasPrefix(path.Base(file.Name), "_") || strings.Contains(string(file.Data), "define")
		if t.only != "" && full != t.only && !partial {
			continue
		}
		if t.edit != nil {
			file = &chart.File{Name: file.Name, Data: t.edit(full, file.Data)}
		}
		kept = append(kept, file)
	}
	c.Templates = kept
	for _, d := range c.Dependencies() {
		choose(d, path.Join(name, "charts", d.Name()), t)
	}
}

// render renders a task and parses the output.
func (r *renderer) render(t task) (*rendering, error) {
	r.renders++
	c, values, err := r.inputs(t)
	if err != nil {
		return nil, err
	}
	files, err := r.execute(c, values)
	if err != nil {
		return nil, err
	}
	found := &rendering{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		base := path.Base(name)
		if strings.HasPrefix(base, "_") || strings.HasSuffix(base, "NOTES.txt") || t.only != "" && name != t.only {
			continue
		}
		set, err := manifest.Parse(files[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found.add(name, set)
	}
	return found, nil
}

// execute runs the templates of a chart.
func (r *renderer) execute(c *chart.Chart, values chartutil.Values) (map[string]string, error) {
	if r.cluster == nil {
		return engine.Render(c, values)
	}
	return engine.RenderWithClientProvider(c, values, r.cluster)
}

func (r *rendering) add(file string, set *manifest.Set) {
	counts := map[string]int{}
	for _, o := range set.Objects {
		r.objects = append(r.objects, object{Object: o, file: file, n: counts[o.ID.Kind]})
		counts[o.ID.Kind]++
	}
	r.hooks = append(r.hooks, set.Skipped...)
}

// find returns the object with an identity.
func (r *rendering) find(id manifest.ID) (object, bool) {
	i := slices.IndexFunc(r.objects, func(o object) bool { return o.ID == id })
	if i < 0 {
		return object{}, false
	}
	return r.objects[i], true
}

// at returns the nth object of a kind in a template: its name may be another one.
func (r *rendering) at(file, kind string, n int) (object, bool) {
	i := slices.IndexFunc(r.objects, func(o object) bool { return o.file == file && o.ID.Kind == kind && o.n == n })
	if i < 0 {
		return object{}, false
	}
	return r.objects[i], true
}
