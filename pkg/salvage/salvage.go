// Package salvage finds, by dry runs, how much of a refused revert the API server accepts.
package salvage

import (
	"context"
	"errors"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/minimal"
)

// maxTrials bounds the dry runs of one Search.
const maxTrials = 12

// errNoTrialLeft ends a search with its best result so far.
var errNoTrialLeft = errors.New("the dry runs for this content of the object are used up")

// DryRunner is the part of an enforce.Enforcer needed by a Search.
type DryRunner interface {
	DryRun(ctx context.Context, r *enforce.Revert) (*unstructured.Unstructured, error)
}

// Search finds the accepted part of the refused revert of one object.
type Search struct {
	server  DryRunner
	in      judge.Input
	found   judge.Result
	revert  func(judge.Result) *enforce.Revert
	left    int
	refusal error
}

// New returns a Search of at most 12 dry runs by server. found is the judgement of in. revert returns the write that
// reverts the object to the target of a judgement. refusal is the error of that write for found.
func New(
	server DryRunner, in judge.Input, found judge.Result, revert func(judge.Result) *enforce.Revert, refusal error,
) *Search {
	return &Search{server: server, in: in, found: found, revert: revert, left: maxTrials, refusal: refusal}
}

// Refusal returns the last refusal.
func (t *Search) Refusal() error { return t.refusal }

// accepts reports whether the API server accepts the revert to the target of found.
func (t *Search) accepts(ctx context.Context, found judge.Result) (bool, error) {
	if t.left == 0 {
		return false, errNoTrialLeft
	}
	t.left--
	_, err := t.server.DryRun(ctx, t.revert(found))
	if err != nil && RefusesContent(err) {
		t.refusal = err
		return false, nil
	}
	return err == nil, err
}

// Additions returns a minimal set of undeclared fields whose removal makes the API server accept the revert; none when
// no removal helps. If the API server cannot make a dry run, these are the fields named in the refusal.
func (t *Search) Additions(ctx context.Context) ([]drift.Addition, error) {
	causes, nearness := causesOf(t.refusal), drift.Addition.Nearness
	all := byNearness(t.in.Additions(t.found), causes, nearness)
	works := func(some []drift.Addition) (bool, error) { return t.accepts(ctx, t.found.Without(some)) }
	found, err := least(works, near(all, causes, nearness), all)
	if err == nil {
		found, err = parts(found, works)
	}
	if apierrors.IsBadRequest(err) {
		return namedBy(all, causes, nearness), nil
	}
	return found, t.ended(err)
}

// Changes returns a minimal set of changes to leave out for the API server to accept the revert; none when it would be
// all of them. If the API server cannot make a dry run, these are the fields named in the refusal.
func (t *Search) Changes(ctx context.Context) ([]drift.Change, error) {
	causes := causesOf(t.refusal)
	nearness := func(ch drift.Change, path []string) int { return drift.SharedSegments(ch.Segments(), path) }
	all := byNearness(t.found.Changes, causes, nearness)
	works := func(some []drift.Change) (bool, error) {
		found := judge.Judge(t.in.Leaving(some))
		if len(found.Changes) == 0 { // there is nothing to write
			return true, nil
		}
		return t.accepts(ctx, found)
	}
	found, err := least(works, near(all, causes, nearness), all)
	if apierrors.IsBadRequest(err) {
		return namedBy(all, causes, nearness), nil
	}
	return found, t.ended(err)
}

// ended returns the error of a search; none when the search has ended early with a result.
func (t *Search) ended(err error) error {
	if errors.Is(err, errNoTrialLeft) {
		return nil
	}
	return err
}

// least returns a minimal working subset of the first of the given sets for which works is true; nil when there is
// none.
func least[T any](works func([]T) (bool, error), sets ...[]T) ([]T, error) {
	for i, set := range sets {
		if len(set) == 0 || i > 0 && len(set) == len(sets[i-1]) {
			continue
		}
		switch ok, err := works(set); {
		case err != nil:
			return nil, err
		case ok:
			return minimal.Subset(set, works)
		}
	}
	return nil, nil
}

// parts replaces additions by parts of them, where these are enough.
func parts(found []drift.Addition, works func([]drift.Addition) (bool, error)) ([]drift.Addition, error) {
	for i := 0; i < len(found); {
		inner, others := found[i].Parts(), slices.Delete(slices.Clone(found), i, i+1)
		if len(inner) < 2 {
			i++
			continue
		}
		with := func(some []drift.Addition) (bool, error) { return works(slices.Concat(others, some)) }
		few, err := least(with, inner)
		if err != nil {
			return found, err
		}
		if len(few) == 0 || len(few) == len(inner) {
			i++
			continue
		}
		found = slices.Concat(others[:i], few, others[i:])
	}
	return found, nil
}

// RefusesContent reports whether an error refuses the content of a write: by validation or by admission, and not for
// want of a permission.
func RefusesContent(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsInvalid(err) ||
		apierrors.IsForbidden(err) && errors.As(err, &status) && !unauthorized.MatchString(status.Status().Message)
}

// unauthorized is the API server's wording when the user has no permission.
var unauthorized = regexp.MustCompile(`User "[^"]*" cannot [a-z:-]+ resource "`)

// causesOf returns the paths of the fields named in a refusal. They only set the order of the trials.
func causesOf(refusal error) [][]string {
	var status apierrors.APIStatus
	if !errors.As(refusal, &status) || status.Status().Details == nil {
		return nil
	}
	var causes [][]string
	for _, cause := range status.Status().Details.Causes {
		if path := fieldSegments.FindAllString(cause.Field, -1); len(path) > 0 {
			causes = append(causes, path)
		}
	}
	return causes
}

// fieldSegments are the names, keys and indexes in a field path of the API server, as in spec.ports[0].name.
var fieldSegments = regexp.MustCompile(`[^.\[\]]+`)

// byNearness orders candidates by the length of the path shared with a cause, the longest first.
func byNearness[T any](all []T, causes [][]string, nearness func(T, []string) int) []T {
	nearest := func(x T) (most int) {
		for _, cause := range causes {
			most = max(most, nearness(x, cause))
		}
		return most
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b T) int { return nearest(b) - nearest(a) })
	return all
}

// near returns the candidates equal to a cause, or a part or a sibling of one.
func near[T any](all []T, causes [][]string, nearness func(T, []string) int) []T {
	return those(all, causes, func(x T, c []string) bool { return nearness(x, c) >= max(1, len(c)-1) })
}

// namedBy returns the candidates equal to a cause or a part of one.
func namedBy[T any](all []T, causes [][]string, nearness func(T, []string) int) []T {
	return those(all, causes, func(x T, c []string) bool { return nearness(x, c) == len(c) })
}

func those[T any](all []T, causes [][]string, is func(T, []string) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool {
		return !slices.ContainsFunc(causes, func(c []string) bool { return is(x, c) })
	})
}
