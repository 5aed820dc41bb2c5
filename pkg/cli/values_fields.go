package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/values"
)

// asked returns the questions of a command line.
func (v *valued) asked(object string, fields []string) ([]values.Question, error) {
	declared, err := v.object(object)
	if err != nil {
		return nil, err
	}
	var questions []values.Question
	for _, field := range fields {
		path, value, found := cutField(field)
		if !found {
			return nil, command.Hinted(fmt.Errorf("%q has no value", field), "write PATH=VALUE, such as spec.replicas=5")
		}
		segments, err := values.ParsePath(path)
		if err != nil {
			return nil, err
		}
		segments = values.Resolve(declared.Content, segments)
		q := values.Question{Field: values.Field{ID: declared.ID, Path: segments}}
		if q.Wanted, err = wantedValue(declared.Content, segments, value); err != nil {
			return nil, err
		}
		questions = append(questions, q)
	}
	return questions, nil
}

// cutField cuts PATH=VALUE at the first = outside of brackets.
func cutField(field string) (path, value string, found bool) {
	inside := false
	for i, r := range field {
		switch {
		case r == '[':
			inside = true
		case r == ']':
			inside = false
		case r == '=' && !inside:
			return field[:i], field[i+1:], true
		}
	}
	return field, "", false
}

// textMaps are fields whose values are texts in all kinds.
var textMaps = []string{"labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData", "binaryData"}

// wantedValue reads a value. It is a text where the field has one now, or is in a map of texts.
func wantedValue(content map[string]any, path []string, value string) (any, error) {
	var wanted any
	if err := yaml.Unmarshal([]byte(value), &wanted); err != nil {
		return nil, fmt.Errorf("the value of %s is no YAML", strings.Join(path, "."))
	}
	if wanted == nil && value != "" {
		return nil, nil
	}
	now, declared := values.Get(content, path)
	_, isText := now.(string)
	if !declared && len(path) > 1 {
		isText = slices.Contains(textMaps, path[len(path)-2])
	}
	if isText {
		return value, nil
	}
	return wanted, nil
}

// object returns the declared object that KIND/NAME or KIND/NAMESPACE/NAME means.
func (v *valued) object(text string) (manifest.Object, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return manifest.Object{}, command.Hinted(fmt.Errorf("%q is no object", text),
			"write KIND/NAME, or KIND/NAMESPACE/NAME")
	}
	var found []manifest.Object
	var names []string
	for _, o := range v.declared {
		names = append(names, strings.ToLower(o.ID.Kind)+"/"+o.ID.Name)
		if isKind(o, parts[0]) && o.ID.Name == parts[len(parts)-1] && (len(parts) == 2 ||
			v.namespaceOf(o.ID) == parts[1]) {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		slices.Sort(names)
		const most = 12
		if len(names) > most {
			names = append(names[:most], "...")
		}
		return manifest.Object{}, command.Hinted(fmt.Errorf("release %s declares no %s", v.details.Key, text),
			"it declares "+strings.Join(names, ", "))
	}
	return manifest.Object{}, command.Hinted(fmt.Errorf("release %s declares several %s", v.details.Key, text),
		"write KIND.GROUP/NAMESPACE/NAME")
}

func (v *valued) namespaceOf(id manifest.ID) string {
	if id.Namespace == "" {
		return v.details.Namespace
	}
	return id.Namespace
}

// shortKinds are what people call common kinds.
var shortKinds = map[string]string{
	"deploy": "deployment", "svc": "service", "cm": "configmap", "sts": "statefulset", "ds": "daemonset",
	"sa": "serviceaccount", "ing": "ingress", "hpa": "horizontalpodautoscaler", "pdb": "poddisruptionbudget",
	"netpol": "networkpolicy", "pvc": "persistentvolumeclaim", "crd": "customresourcedefinition", "cj": "cronjob",
	"ns": "namespace", "sc": "storageclass", "pc": "priorityclass",
}

// isKind reports whether an object is of a kind as people write it: Deployment, deployments, deploy, deployment.apps.
func isKind(o manifest.Object, text string) bool {
	name, group, withGroup := strings.Cut(strings.ToLower(text), ".")
	if long := shortKinds[name]; long != "" {
		name = long
	}
	kind := strings.ToLower(o.ID.Kind)
	plurals := []string{kind, kind + "s", kind + "es", strings.TrimSuffix(kind, "y") + "ies"}
	return slices.Contains(plurals, name) && (!withGroup || strings.EqualFold(group, o.ID.Group))
}

// differing returns the fields that differ from the cluster, with their live values.
func (v *valued) differing(ctx context.Context, c *connection) ([]values.Question, error) {
	options := inspect.CompareOptions{Masker: report.Masker{Show: true}, Progress: v.progress(v.details.Key, 1, 1)}
	locks, _ := locksOf(ctx, v.action, c)
	if err := asLocked(v.action, locks, v.details.Key, &options); err != nil {
		return nil, err
	}
	comparison, err := inspect.Compare(ctx, c, v.details, options)
	if err != nil {
		return nil, err
	}
	noteComparison(v.action, comparison)
	var questions []values.Question
	for _, d := range comparison.Differences {
		if d.State != inspect.StateModified {
			v.note("note: %s is left out: it does not exist, or its deletion is pending", d.ID)
			continue
		}
		i := slices.IndexFunc(v.declared, func(o manifest.Object) bool { return v.sameObject(o.ID, d.ID) })
		if i < 0 {
			return nil, errors.New(d.ID.String() + " is not in the manifest under that name")
		}
		if d.ID.Kind == "Secret" {
			v.secrets = append(v.secrets, d.Have)
		}
		for _, change := range d.Changes {
			q := values.Question{Field: values.Field{ID: v.declared[i].ID, Path: change.Segments()}}
			if change.Op != drift.Removed {
				q.Wanted = liveValue(v.declared[i].Content, d.Have, q.Path)
			}
			questions = append(questions, q)
		}
	}
	return questions, nil
}

func (v *valued) sameObject(declared, live manifest.ID) bool {
	if declared.Namespace == "" && live.Namespace != "" {
		declared.Namespace = v.details.Namespace
	}
	return declared == live
}
