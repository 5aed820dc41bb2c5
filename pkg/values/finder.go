package values

// Question asks for the value behind a field.
type Question struct {
	Field
	// Wanted is the wanted value of the field, nil to remove it.
	Wanted any
}

// Answer is the answer to a Question. Either Settings or Governor is set.
type Answer struct {
	Question
	// Present is the declared value of the field, and Declared reports whether there is one.
	Present  any
	Declared bool
	// Settings are the values to set, Others the further fields that change with them.
	Settings []Setting
	Others   []Change
	// Governor describes the origin of a field that depends on no value.
	Governor string
	// Renders counts the renders of the chart for the answer.
	Renders int
}

// Answers holds the results for a release.
type Answers struct {
	Answers []Answer
	// Chart is the name and version of the chart.
	Chart string
	// Anyway are the fields that an upgrade changes without any new value, Random those that differ in each render.
	Anyway, Random []Change
	// Mismatch are the other fields in which the rendered chart differs from the recorded manifest.
	Mismatch []Change
	// Lookups are the templates that call lookup, in a rendering without a cluster: it finds nothing there.
	Lookups []string
	// Unchecked is set when the values were not validated, because the chart's schema refers to other documents.
	Unchecked bool
}

// finder answers questions about one release.
type finder struct {
	renderer *renderer
	reads    *reads
	// config are the user's values, present includes the chart's own.
	config, present map[string]any
	// recorded is the recorded manifest, base the present output of the chart.
	recorded, base *rendering
	answers        Answers
	// anyway holds Answers.Anyway and Answers.Random, by object and pointer.
	anyway map[string]bool
}

// alone returns the template of an object if it renders alike without the others, and "" otherwise.
func (f *finder) alone(o object) string {
	rendered, err := f.renderer.render(task{config: f.config, only: o.file})
	if err != nil {
		return ""
	}
	alone, found := rendered.at(o.file, o.ID.Kind, o.n)
	if !found || len(differenceOf(o.ID, o.Content, alone.Content)) > 0 {
		return ""
	}
	return o.file
}
