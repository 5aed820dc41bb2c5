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

	"github.com/urfave/cli/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/values"
)

// isField reports whether an argument names a field, as KIND/NAME:FIELD. No name of a release has a colon.
func isField(arg string) bool { return strings.Contains(arg, ":") }

func fieldArguments(cmd *cli.Command) (fields []string) {
	for _, arg := range cmd.Args().Slice() {
		if isField(arg) {
			fields = append(fields, arg)
		}
	}
	return fields
}

// suspendFields adds ignore rules for fields of one release that end by themselves.
func (a *app) suspendFields(ctx context.Context, cmd *cli.Command, fields []string, until *time.Time) error {
	if until == nil {
		err := errors.New("fields are suspended for a time: --for or --until is needed")
		return command.UsageError(ctx, cmd, err, true)
	}
	add := func(hr *v1alpha1.HelmRelease, asked []v1alpha1.IgnoreRule) (string, error) {
		for _, rule := range asked {
			rule.Until, rule.Reason = &metav1.Time{Time: *until}, cmd.String("reason")
			hr.Spec.Ignore = append(withoutTemporary(hr.Spec.Ignore, rule), rule)
		}
		return "suspended until " + report.Time(*until), nil
	}
	return a.changeFields(ctx, cmd, fields, until, add)
}

// resumeFields takes ignore rules for fields out that would end by themselves.
func (a *app) resumeFields(ctx context.Context, cmd *cli.Command, fields []string) error {
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
	return a.changeFields(ctx, cmd, fields, nil, takeOut)
}

// withoutTemporary returns rules without those with an end for the same field.
func withoutTemporary(rules []v1alpha1.IgnoreRule, rule v1alpha1.IgnoreRule) []v1alpha1.IgnoreRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r v1alpha1.IgnoreRule) bool {
		return r.Until != nil && reflect.DeepEqual(r.Paths, rule.Paths) && reflect.DeepEqual(r.Target, rule.Target)
	})
}

// changeFields changes the ignore rules of the HelmRelease of one release by edit, which returns words for the change.
// until is the end of a pause that begins, nil when one ends.
func (a *app) changeFields(
	ctx context.Context, cmd *cli.Command, fields []string, until *time.Time,
	edit func(hr *v1alpha1.HelmRelease, asked []v1alpha1.IgnoreRule) (string, error),
) error {
	store, targets, err := a.choose(ctx, cmd)
	if err != nil {
		return err
	}
	if len(targets) != 1 || len(cmd.Args().Slice()) == len(fields) {
		return command.UsageError(ctx, cmd, errors.New("fields are those of one release: name it before them"), true)
	}
	before, err := a.lockOfTarget(ctx, cmd, store, targets[0])
	if err != nil {
		return err
	}
	asked, err := a.fieldRules(ctx, store.cluster, before, fields)
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
		if _, err := a.confirmReverts(ctx, cmd, store.cluster, []*v1alpha1.HelmRelease{after}); err != nil {
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
	return a.finish(ctx, cmd, store, []changed{{hr: hr, text: fmt.Sprintf("HelmRelease %s/%s: %s %s", hr.Namespace,
		hr.Name, strings.Join(fields, ", "), text)}}, isLocked)
}

// fieldRules returns an ignore rule for each field. The newest revision has to declare it.
func (a *app) fieldRules(
	ctx context.Context, c *connection, hr *v1alpha1.HelmRelease, fields []string,
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
	v := &valued{app: a, details: details, declared: objects}
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
