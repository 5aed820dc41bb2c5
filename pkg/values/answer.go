package values

import (
	"fmt"
	"slices"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Ask answers questions about a release. Templates look objects up in cluster; they find none when it is nil.
func Ask(source *Source, questions []Question, cluster Cluster) (*Answers, error) {
	f, err := newFinder(source, cluster)
	if err != nil {
		return nil, err
	}
	for _, q := range questions {
		f.answers.Answers = append(f.answers.Answers, f.answer(q))
	}
	return &f.answers, nil
}

func newFinder(source *Source, cluster Cluster) (*finder, error) {
	r, err := newRenderer(source, cluster)
	if err != nil {
		return nil, err
	}
	f := &finder{renderer: r, reads: readsOf(r.chart), recorded: &rendering{}, anyway: map[string]bool{}}
	set, err := manifest.Parse(source.Manifest)
	if err != nil {
		return nil, fmt.Errorf("the recorded manifest does not parse: %w", err)
	}
	f.recorded.add("", set)
	if f.config, err = source.config(); err != nil {
		return nil, err
	}
	if f.base, err = r.render(task{config: f.config}); err != nil {
		return nil, f.unrendered("the chart does not render with its values", err)
	}
	if f.present, err = r.present(f.config); err != nil {
		return nil, err
	}
	if err := f.compare(); err != nil {
		return nil, err
	}
	f.answers.Chart = r.chart.Metadata.Name + "-" + r.chart.Metadata.Version
	f.answers.Lookups, f.answers.Unchecked = f.blind(), r.unchecked
	return f, nil
}

// compare finds the differences without any new value.
func (f *finder) compare() error {
	again, err := f.renderer.render(task{config: f.config})
	if err != nil {
		return err
	}
	next, err := f.renderer.render(task{config: f.config, upgrade: true})
	if err != nil {
		return f.unrendered("the chart does not render for an upgrade", err)
	}
	random := map[string]bool{}
	for _, c := range difference(f.base, again) {
		f.answers.Random = append(f.answers.Random, Change{Field: c.Field})
		random[c.at()], f.anyway[c.at()] = true, true
	}
	for _, c := range difference(f.recorded, f.base) {
		if !random[c.at()] {
			f.answers.Mismatch = append(f.answers.Mismatch, c)
		}
	}
	for _, c := range difference(f.recorded, next) {
		if !random[c.at()] {
			f.answers.Anyway = append(f.answers.Anyway, c)
			f.anyway[c.at()] = true
		}
	}
	return nil
}

// at identifies the field of a change.
func (f Field) at() string { return f.ID.String() + " " + f.Name() }

// trial is the result of some settings.
type trial struct {
	settings []Setting
	others   []Change
}

// try renders with some settings. It returns false when the field does not get the wanted value.
func (f *finder) try(q Question, only string, settings []Setting) (trial, bool) {
	t := trial{settings: settings}
	config, err := apply(f.config, settings)
	if err != nil {
		return t, false
	}
	if only != "" {
		quick, err := f.renderer.render(task{config: config, upgrade: true, only: only})
		if err == nil && !q.reached(quick) {
			return t, false
		}
	}
	after, err := f.renderer.render(task{config: config, upgrade: true})
	if err != nil || !q.reached(after) {
		return t, false
	}
	for _, c := range difference(f.recorded, after) {
		if c.ID == q.ID && (below(c.Path, q.Path) || len(c.Path) > 0 && below(q.Path, c.Path)) || f.anyway[c.at()] {
			continue
		}
		t.others = append(t.others, c)
	}
	return t, true
}

// reached reports whether a field is as wanted.
func (q Question) reached(r *rendering) bool {
	o, found := r.find(q.ID)
	if !found {
		return false
	}
	value, declared := Get(o.Content, q.Path)
	if q.Wanted == nil {
		return !declared
	}
	return declared && same(value, q.Wanted)
}

// mostTrials bounds the trials for one field.
const mostTrials = 120

func (f *finder) answer(q Question) (a Answer) {
	before := f.renderer.renders
	q.Wanted = integers(q.Wanted)
	a.Question = q
	defer func() { a.Renders = f.renderer.renders - before }()
	o, found := f.recorded.find(q.ID)
	if !found {
		a.Governor = "the manifest does not declare this object"
		return a
	}
	q = q.asDeclared(o.Content)
	q.Path = Resolve(o.Content, q.Path)
	a.Question = q
	a.Present, a.Declared = Get(o.Content, q.Path)
	source, found := f.base.find(q.ID)
	switch {
	case !found:
		a.Governor = "the chart does not render this object: " + f.elsewhere()
		return a
	case slices.ContainsFunc(f.answers.Random, q.touches):
		a.Governor = "the templates compute another value each time that the chart is rendered"
		return a
	case slices.ContainsFunc(f.answers.Mismatch, q.touches):
		a.Governor = "the chart does not render to the recorded value: " + f.elsewhere()
		return a
	}
	best, found := f.search(q, source)
	if !found {
		a.Governor = f.governor(q, source)
		return a
	}
	a.Settings, a.Others = best.settings, best.others
	return a
}

// asDeclared returns a question about the data of a Secret, by which other commands name it, as one about its
// stringData, where the manifest declares the key there.
func (q Question) asDeclared(content map[string]any) Question {
	if q.ID.Kind != "Secret" || q.ID.Group != "" || len(q.Path) != 2 || q.Path[0] != "data" {
		return q
	}
	path := []string{"stringData", q.Path[1]}
	if _, found := Get(content, path); !found {
		return q
	}
	if encoded, ok := q.Wanted.(string); ok {
		plain, ok := decodedWanted(encoded)
		if !ok {
			return q
		}
		q.Wanted = plain
	}
	q.Path = path
	return q
}

func (q Question) touches(c Change) bool {
	return c.ID == q.ID && (below(c.Path, q.Path) || below(q.Path, c.Path))
}

// search tries the proposals for a field, the most likely first. It ends at one without other changes.
func (f *finder) search(q Question, source object) (best trial, found bool) {
	only := f.alone(source)
	tried := map[string]bool{}
	left := mostTrials
	f.proposals(q, source, only, func(settings []Setting) bool {
		key := ""
		for _, s := range settings {
			if s.Set && same(s.Present, s.Wanted) {
				return true
			}
			key += fmt.Sprintf("%s=%v;%T ", s.Name(), s.Wanted, s.Wanted)
		}
		if tried[key] {
			return true
		}
		tried[key] = true
		left--
		if t, ok := f.try(q, only, settings); ok && (!found || len(t.others) < len(best.others)) {
			best, found = t, true
		}
		return left > 0 && !(found && len(best.others) == 0)
	})
	return best, found
}
