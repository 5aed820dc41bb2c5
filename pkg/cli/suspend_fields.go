package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/values"
)

func fieldArguments(a *action) (fields []string) {
	for _, arg := range a.cmd.Args().Slice() {
		if isField(arg) {
			fields = append(fields, arg)
		}
	}
	return fields
}

// suspendFields adds ignore rules for fields of one release that end by themselves.
func suspendFields(ctx context.Context, a *action, fields []string, until *time.Time) error {
	if until == nil {
		err := errors.New("fields are suspended for a time: --for or --until is needed")
		return a.misused(err)
	}
	add := func(hr *v1alpha1.HelmRelease, asked []v1alpha1.IgnoreRule) (string, error) {
		for _, rule := range asked {
			rule.Until, rule.Reason = &metav1.Time{Time: *until}, a.cmd.String("reason")
			hr.Spec.Ignore = append(withoutTemporary(hr.Spec.Ignore, rule), rule)
		}
		return "suspended until " + report.Time(*until), nil
	}
	return changeFields(ctx, a, fields, until, add)
}

// resumeFields takes ignore rules for fields out that would end by themselves.
func resumeFields(ctx context.Context, a *action, fields []string) error {
	takeOut := func(hr *v1alpha1.HelmRelease, asked []v1alpha1.IgnoreRule) (string, error) {
		for i, rule := range asked {
			rest := withoutTemporary(hr.Spec.Ignore, rule)
			if len(rest) == len(hr.Spec.Ignore) {
				return "", fmt.Errorf("HelmRelease %s/%s does not suspend %s", hr.Namespace, hr.Name, fields[i])
			}
			hr.Spec.Ignore = rest
		}
		return "resumed", nil
	}
	return changeFields(ctx, a, fields, nil, takeOut)
}

// withoutTemporary returns rules without those with an end for the same field.
func withoutTemporary(rules []v1alpha1.IgnoreRule, rule v1alpha1.IgnoreRule) []v1alpha1.IgnoreRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r v1alpha1.IgnoreRule) bool {
		return r.Until != nil && reflect.DeepEqual(r.Paths, rule.Paths) && reflect.DeepEqual(r.Target, rule.Target)
	})
}

// changeFields changes the ignore rules of the HelmRelease of one release by edit, which returns words for the change.
// until is the end of a pause that begins, nil when one ends.
func changeFields(
	ctx context.Context, a *action, fields []string, until *time.Time,
	edit func(hr *v1alpha1.HelmRelease, asked []v1alpha1.IgnoreRule) (string, error),
) error {
	store, targets, err := choose(ctx, a)
	if err != nil {
		return err
	}
	if len(targets) != 1 || len(a.cmd.Args().Slice()) == len(fields) {
		return a.misused(errors.New("fields are those of one release: name it before them"))
	}
	before, err := lockOfTarget(ctx, a, store, targets[0])
	if err != nil {
		return err
	}
	asked, err := fieldRules(ctx, a, store.cluster, before, fields)
	if err != nil {
		return err
	}
	if until != nil {
		if err := store.mayPause(ctx, before, until, a.now()); err != nil {
			return err
		}
		user := store.user(ctx)
		for i := range asked {
			asked[i].By = user
		}
	}
	after := before.DeepCopy()
	if _, err := edit(after, asked); err != nil {
		return err
	}
	if until == nil {
		if _, err := confirmReverts(ctx, a, store.cluster, []*v1alpha1.HelmRelease{after}); err != nil {
			return err
		}
	}
	var text string
	hr, err := store.update(ctx, before, func(hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
		after := hr.DeepCopy()
		words, err := edit(after, asked)
		if err != nil {
			return nil, err
		}
		text = words
		return store.patch(ctx, hr, nil, map[string]any{"ignore": after.Spec.Ignore})
	})
	if err != nil {
		return err
	}
	return finish(ctx, a, store, []changed{{hr: hr, text: fmt.Sprintf("HelmRelease %s/%s: %s %s", hr.Namespace,
		hr.Name, strings.Join(fields, ", "), text)}}, isLocked)
}

// fieldRules returns an ignore rule for each field. The newest revision has to declare it.
func fieldRules(
	ctx context.Context, a *action, c *connection, hr *v1alpha1.HelmRelease, fields []string,
) ([]v1alpha1.IgnoreRule, error) {
	record, err := c.Find(ctx, keyOf(hr), 0)
	if err != nil {
		return nil, err
	}
	details, err := c.Read(ctx, record)
	if err != nil {
		return nil, err
	}
	objects, err := inspect.Objects(details, c.Scope())
	if err != nil {
		return nil, err
	}
	v := &valued{action: a, details: details, declared: objects}
	var asked []v1alpha1.IgnoreRule
	for _, field := range fields {
		object, path, _ := strings.Cut(field, ":")
		declared, err := v.object(object)
		if err != nil {
			return nil, err
		}
		segments, err := values.ParsePath(path)
		if err != nil {
			return nil, err
		}
		pointer := drift.Pointer(values.Resolve(declared.Content, segments)...)
		target := &v1alpha1.IgnoreTarget{
			Group: regexp.QuoteMeta(declared.ID.Group), Kind: regexp.QuoteMeta(declared.ID.Kind),
			Name: regexp.QuoteMeta(declared.ID.Name), Namespace: regexp.QuoteMeta(declared.ID.Namespace),
		}
		use, err := useOf(pointer, target, objects)
		if err != nil {
			return nil, err
		}
		if !use.declared {
			err := fmt.Errorf("the release declares no field %s in %s", path, object)
			if use.near != "" {
				err = command.Hinted(err, "did you mean "+use.near+"?")
			}
			return nil, err
		}
		asked = append(asked, v1alpha1.IgnoreRule{Paths: []string{pointer}, Target: target})
	}
	return asked, nil
}
