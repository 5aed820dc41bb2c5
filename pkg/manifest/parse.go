package manifest

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

const (
	// maxLists bounds how deep Lists nest in Lists.
	maxLists = 8
	// maxName is Kubernetes' maximum length for names of objects, in bytes.
	maxName = 253
)

// kindName matches names of kinds.
var kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)

// Parse reads a manifest, all or nothing: for one bad document it returns an error (a *DocumentError) and no Set.
//
// It ignores documents that are empty or only comments. An object with items is a list, whatever its kind, and stands
// for its items; an item without apiVersion and kind gets them from the list (PodList holds v1 Pods). Hooks and objects
// with generateName but no name are skipped.
//
// The size, the documents, the elements, the objects and the nesting of a manifest are bounded. Otherwise a user with
// access to the Secrets of one namespace could exhaust the memory of a program for all. All bounds are checked in one
// pass over the text, before the YAML library reads it, or during the conversion of its result.
func Parse(manifest string) (*Set, error) {
	if len(manifest) > maxBytes {
		return nil, document{index: 1}.errorf(1, "the manifest has %d bytes, more than %d", len(manifest), maxBytes)
	}
	docs, err := split(manifest)
	if err != nil {
		return nil, err
	}
	p := parser{}
	decoder := newDecoder(manifest)
	for _, doc := range docs {
		content, rest, err := decoder.decode(doc)
		if err != nil {
			return nil, err
		}
		if content != nil {
			p.doc = doc
			object, ok := content.(map[string]any)
			if !ok {
				return nil, doc.errorf(doc.firstLine(), "it is not an object: a mapping is needed at the top")
			}
			if err := p.add(object, inherited{}, 0); err != nil {
				return nil, err
			}
		}
		if rest {
			p.skipped = append(p.skipped, Skipped{Doc: doc.index,
				Reason: "Helm ignores what follows the end of the document"})
		}
	}
	set := &Set{Skipped: p.skipped}
	set.Objects = lastOfEach(p.objects, func(i int) {
		set.Skipped = append(set.Skipped, Skipped{Doc: p.docs[i], Kind: p.objects[i].ID.Kind,
			Name:   p.objects[i].ID.Name,
			Reason: "it is declared again later, and the last declaration counts"})
	})
	return set, nil
}

type parser struct {
	doc     document
	objects []Object
	docs    []int // for each object, the index of its document
	skipped []Skipped
}

// inherited are the fields that a list passes to its items.
type inherited struct {
	apiVersion, kind string
	keep             bool
}

// add adds one object, or the items of a list.
func (p *parser) add(content map[string]any, from inherited, depth int) error {
	apiVersion, err := p.text(content, "apiVersion")
	if err != nil {
		return err
	}
	kind, err := p.text(content, "kind")
	if err != nil {
		return err
	}
	if apiVersion == "" && kind == "" && from.kind != "" {
		apiVersion, kind = from.apiVersion, from.kind
		content["apiVersion"], content["kind"] = apiVersion, kind
	}
	switch {
	case apiVersion == "":
		return p.errorf("an object has no apiVersion")
	case kind == "":
		return p.errorf("an object has no kind")
	case !kindName.MatchString(kind):
		return p.errorf("an object's kind is not a word of letters and digits")
	}
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || cannotName(version.Group) != "" || !kindName.MatchString(version.Version) {
		return p.errorf("an apiVersion is not of the form GROUP/VERSION or VERSION")
	}
	metadata, err := p.mapping(content, "metadata")
	if err != nil {
		return err
	}
	annotations, err := p.mapping(metadata, "annotations")
	if err != nil {
		return err
	}
	name, err := p.text(metadata, "name")
	if err != nil {
		return err
	}
	if _, hook := annotations[hookAnnotation]; hook {
		return p.skip(kind, name, "it is a hook: Helm runs it and does not manage it")
	}
	keep := from.keep || isKeep(annotations)
	if items, isList := content["items"]; isList {
		// The server sends items of a typed list without their type, and so do manifests made from its answers.
		typed := inherited{apiVersion: apiVersion, kind: strings.TrimSuffix(kind, "List"), keep: keep}
		return p.addItems(items, typed, depth)
	}
	return p.addObject(version.WithKind(kind), content, metadata,
		Object{ID: ID{Name: name}, Keep: keep, OptedOut: isOptedOut(annotations)})
}

func (p *parser) addItems(value any, from inherited, depth int) error {
	if depth >= maxLists {
		return p.errorf("Lists nest deeper than %d levels", maxLists)
	}
	items, ok := value.([]any)
	if !ok && value != nil {
		return p.errorf("the items of a List are not a sequence")
	}
	for _, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return p.errorf("an item of a List is not an object")
		}
		if err := p.add(object, from, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// addObject completes an object with known name and annotations, and adds it.
func (p *parser) addObject(gvk schema.GroupVersionKind, content, metadata map[string]any, object Object) error {
	namespace, err := p.text(metadata, "namespace")
	if err != nil {
		return err
	}
	if err := p.count(); err != nil {
		return err
	}
	for field, text := range map[string]string{"metadata.name": object.ID.Name, "metadata.namespace": namespace} {
		if why := cannotName(text); why != "" {
			return p.errorf("an object's %s %s, which no Kubernetes object's does", field, why)
		}
	}
	if object.ID.Name == "" {
		generated, err := p.text(metadata, "generateName")
		if err != nil {
			return err
		}
		if generated == "" {
			return p.errorf("an object has no metadata.name")
		}
		return p.skip(gvk.Kind, generated, "it has generateName and no name, so that its live name is not known")
	}
	if nodesOf(content) > maxObjectNodes {
		return p.errorf("an object has more than %d elements", maxObjectNodes)
	}
	object.ID = ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: object.ID.Name}
	object.GVK, object.Content = gvk, content
	p.objects = append(p.objects, object)
	p.docs = append(p.docs, p.doc.index)
	return nil
}

// nodesOf counts the mappings, sequences and scalars of a value.
func nodesOf(value any) int {
	nodes := 1
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			nodes += nodesOf(member)
		}
	case []any:
		for _, element := range v {
			nodes += nodesOf(element)
		}
	}
	return nodes
}

// cannotName returns the reason why the API server refuses a name or namespace for objects of all kinds.
func cannotName(text string) string {
	switch {
	case len(text) > maxName:
		return fmt.Sprintf("has more than %d bytes", maxName)
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has characters that are not printable"
	}
	if problems := content.IsPathSegmentName(text); len(problems) > 0 {
		return problems[0]
	}
	return ""
}

// skip leaves an object out. Its name is not validated, and truncated to the maximum length of a name.
func (p *parser) skip(kind, name, reason string) error {
	if err := p.count(); err != nil {
		return err
	}
	p.skipped = append(p.skipped, Skipped{Doc: p.doc.index, Kind: kind, Name: name[:min(len(name), maxName)],
		Reason: reason})
	return nil
}

// count returns an error when there is no room for one more object.
func (p *parser) count() error {
	if len(p.objects)+len(p.skipped) >= maxObjects {
		return p.errorf("the manifest has more than %d objects", maxObjects)
	}
	return nil
}

func (p *parser) errorf(format string, args ...any) error {
	return p.doc.errorf(p.doc.firstLine(), format, args...)
}

// text returns a field that must be text if present and not null.
func (p *parser) text(content map[string]any, field string) (string, error) {
	switch value := content[field].(type) {
	case string:
		return value, nil
	case nil:
		return "", nil
	}
	return "", p.errorf("an object's %s is not text (is it a number or boolean that needs quotes?)", field)
}

// mapping returns a field that must be a mapping if present and not null.
func (p *parser) mapping(content map[string]any, field string) (map[string]any, error) {
	switch value := content[field].(type) {
	case map[string]any:
		return value, nil
	case nil:
		return nil, nil
	}
	return nil, p.errorf("an object's %s is not a mapping", field)
}

// isKeep is Kept for annotations as they are parsed.
func isKeep(annotations map[string]any) bool {
	policy, _ := annotations[policyAnnotation].(string)
	return keeps(policy)
}

// Kept reports whether Helm would keep an object with these annotations instead of deleting it.
func Kept(annotations map[string]string) bool { return keeps(annotations[policyAnnotation]) }

// keeps reads the policy as leniently as helm uninstall does.
func keeps(policy string) bool { return strings.EqualFold(strings.TrimSpace(policy), PolicyKeep) }

// isOptedOut reads the two annotations literally: no other value has a meaning, neither true nor Disabled.
func isOptedOut(annotations map[string]any) bool {
	return annotations[v1alpha1.LockAnnotation] == v1alpha1.LockDisabled ||
		annotations[v1alpha1.FluxDriftAnnotation] == v1alpha1.LockDisabled
}
