package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/salvage"
)

// trials makes the dry runs of a search at the API server of a source.
type trials struct{ source Source }

// errNoDryRun ends a search when the API server gives no answer.
var errNoDryRun = errors.New("the API server made no dry run")

// DryRun is part of salvage.DryRunner.
func (t trials) DryRun(ctx context.Context, r *enforce.Revert) (*unstructured.Unstructured, error) {
	after, why, err := t.source.DryRun(ctx, r)
	if err == nil && after == nil {
		err = fmt.Errorf("%w: %s", errNoDryRun, why)
	}
	return after, err
}

// salvaged returns the answer about an object whose revert the API server refuses. Like the operator, it retries
// without the additions that exclude every declared value, or without the refused fields.
func (c *comparer) salvaged(
	ctx context.Context, in judge.Input, found judge.Result, revert func(judge.Result) *enforce.Revert, refusal error,
) (answer, error) {
	search := salvage.New(trials{c.source}, in, found, revert, refusal)
	additions, err := search.Additions(ctx)
	if err == nil && len(additions) > 0 {
		a := c.answer(ctx, in, found.Without(additions))
		a.note(fmt.Sprintf("a revert takes out %s: the API server refuses the declared values beside it (%s)",
			drift.Describe(removals(additions), 3), reasonOf(refusal)))
		return a, nil
	}
	refused := found.Changes
	if err == nil {
		if some, searched := search.Changes(ctx); searched != nil || len(some) > 0 {
			refused, err = some, searched
		}
	}
	if err != nil && !errors.Is(err, errNoDryRun) {
		return answer{}, err
	}
	a := c.answer(ctx, in, found)
	if d := a.difference; d != nil {
		d.Refused = refused
		a.note(fmt.Sprintf("%s cannot be restored: the API server refuses it (%s)", drift.Describe(refused, 3),
			reasonOf(search.Refusal())))
	}
	return a, nil
}

func removals(additions []drift.Addition) []drift.Change {
	changes := make([]drift.Change, len(additions))
	for i, a := range additions {
		changes[i] = a.Change
	}
	return changes
}

// note adds a text to the difference of an answer, after the changed fields.
func (a *answer) note(text string) {
	if a.difference == nil {
		return
	}
	texts := []string{Describe(a.difference.Changes, 3), a.difference.Note, text}
	a.difference.Note = strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "; ")
}
