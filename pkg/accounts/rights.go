package accounts

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// QuestionsAtOnce bounds the concurrent requests to the API server's authorizer for one release.
	QuestionsAtOnce = 8
	// mostNamed is how many objects of a release are asked for by name, where the user has no right to all objects
	// of the kind. A forged manifest of a million objects is not worth a million requests.
	mostNamed = 256
)

// Object is an object to check rights for.
type Object struct {
	GVR schema.GroupVersionResource
	// Namespace is empty for a cluster-scoped object. Name is empty in a question about all objects of a resource
	// and namespace.
	Namespace, Name string
}

// Review returns a question to the API server's authorizer about a user. The caller adds the access.
func Review(user authenticationv1.UserInfo) *authorizationv1.SubjectAccessReview {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra}}
}

// Ask asks the API server's authorizer whether some user may do some thing with an object.
type Ask func(ctx context.Context, o Object) (bool, error)

// Rights reports for each object whether ask allows it. Objects of one resource and namespace are checked together at
// first, and by name if that is denied. Objects beyond a bound count as denied. The error is the first one of ask.
func Rights(ctx context.Context, objects []Object, ask Ask) ([]bool, error) {
	index := map[Object]int{}
	var places []Object
	for _, o := range objects {
		o.Name = ""
		if _, known := index[o]; !known {
			index[o] = len(places)
			places = append(places, o)
		}
	}
	general, err := AskAll(len(places), func(i int) (bool, error) { return ask(ctx, places[i]) })
	if err != nil {
		return nil, err
	}
	allowed := make([]bool, len(objects))
	var doubtful []int
	for i, o := range objects {
		o.Name = ""
		if allowed[i] = general[index[o]]; !allowed[i] {
			doubtful = append(doubtful, i)
		}
	}
	doubtful = doubtful[:min(len(doubtful), mostNamed)]
	named, err := AskAll(len(doubtful), func(i int) (bool, error) { return ask(ctx, objects[doubtful[i]]) })
	if err != nil {
		return nil, err
	}
	for i, answer := range named {
		allowed[doubtful[i]] = answer
	}
	return allowed, nil
}

// AskAll asks n questions, QuestionsAtOnce at a time, and returns the answers, or the first error.
func AskAll(n int, ask func(int) (bool, error)) ([]bool, error) {
	answers := make([]bool, n)
	var asking errgroup.Group
	asking.SetLimit(QuestionsAtOnce)
	for i := range n {
		asking.Go(func() (err error) {
			answers[i], err = ask(i)
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		return nil, err
	}
	return answers, nil
}
