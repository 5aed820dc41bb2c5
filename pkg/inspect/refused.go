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
	"github.com/rancher/helm-locker/pkg/release"
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

// answer is the result of comparing one object.
type answer struct {
	difference *Difference // nil for none
	// additions is set when others added fields, and scope Declared ignores them.
	additions bool
	// left is the reason why the object is left alone; empty when it is not.
	left string
	// local is the reason for the lack of a dry run; empty when there was one, or none was needed.
	local string
}

// answer turns a judgement into the answer for the caller.
func (c *comparer) answer(ctx context.Context, in judge.Input, found judge.Result) answer {
	switch found.State {
	case judge.NotRecreated:
		return answer{left: found.Why}
	case judge.Missing:
		return answer{difference: &Difference{ID: in.ID, State: StateMissing, Want: found.Desired}}
	}
	additions := in.HasAdditions(found, in.Live)
	switch found.State {
	case judge.InSync:
		return answer{additions: additions}
	case judge.BeingDeleted:
		return answer{additions: additions, difference: &Difference{
			ID: in.ID, State: StateDeleting, Note: found.Deletion, Want: in.Live.Object, Have: in.Live.Object,
		}}
	}
	if other := found.Claimant; other != (release.Key{}) && c.source.Declares(ctx, other, in.ID) {
		return answer{left: "it belongs to Helm release " + other.String() + ", whose manifest declares it too"}
	}
	d := &Difference{ID: in.ID, State: StateModified, Want: found.Target, Have: in.Live.Object}
	if found.Deletion != "" {
		d.State, d.Note = StateDeleting, found.Deletion
	}
	for _, by := range drift.Attribute(in.Live.GetManagedFields(), found.Desired, in.Live.Object, found.Changes,
		found.Owner) {
		for _, change := range by.Changes {
			d.Changes = append(d.Changes, Change{Change: change, Author: by.Author})
		}
	}
	if len(found.Changes) > 0 && found.Changes[0].Op == drift.Shared { // then all of them
		d.Note = "the content is as declared, and another field manager owns " + drift.Describe(found.Changes, 3)
	}
	slices.SortStableFunc(d.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return answer{additions: additions, difference: d}
}
