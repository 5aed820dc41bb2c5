package enforce

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// Accounts are the clients for writes to objects: the operator's own, and those that impersonate other users. All share
// the connections of one transport. A client of another user is made for each use, which takes microseconds: it holds
// no connection, goroutine or cache of its own. It is safe for concurrent use.
type Accounts struct {
	config   *rest.Config
	shared   http.RoundTripper
	own      dynamic.Interface
	required bool
}

// NewAccounts returns the clients for requests with config. With required, nothing is ever written in the operator's
// own name.
func NewAccounts(config *rest.Config, required bool) (*Accounts, error) {
	shared, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("transport for writes: %w", err)
	}
	a := &Accounts{config: config, shared: shared, required: required}
	if a.own, err = a.through(a.shared); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Accounts) through(t http.RoundTripper) (dynamic.Interface, error) {
	return dynamic.NewForConfigAndClient(a.config, &http.Client{Transport: t, Timeout: a.config.Timeout})
}

// errNoAccount makes a programming error harmless: the locker of a release must find an account for it.
var errNoAccount = errors.New("nothing is written in the operator's own name (--impersonate), and no account is given")

// client returns the client that impersonates an account, the operator's own for an empty one.
func (a *Accounts) client(account string) (dynamic.Interface, error) {
	if account == "" {
		if a.required {
			return nil, errNoAccount
		}
		return a.own, nil
	}
	// This wraps the existing transport instead of using rest.Config.Impersonate. That would make a transport, with
	// connections of its own, for every account if client-go cannot compare two configurations, as with a custom
	// dialer.
	as := transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{UserName: account}, a.shared)
	client, err := a.through(as)
	if err != nil {
		return nil, fmt.Errorf("client that writes as %s: %w", account, err)
	}
	return client, nil
}

var accessReviews = schema.GroupVersionResource{Group: authorizationv1.GroupName, Version: "v1",
	Resource: "selfsubjectaccessreviews"}

// MayPatch reports whether the account of an object may change it; all objects of a resource and namespace when it has
// no name. A user with the right to patch an object can read it too: a patch returns it. MayPatch asks the API server's
// authorizer as the account itself, so the operator needs no permission beside the one to impersonate it.
func (a *Accounts) MayPatch(ctx context.Context, o Object) (bool, error) {
	client, err := a.client(o.Account)
	if err != nil {
		return false, err
	}
	review := &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(),
			Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "patch", Group: o.GVR.Group, Version: o.GVR.Version, Resource: o.GVR.Resource,
			Namespace: o.Namespace, Name: o.Name,
		}},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, fmt.Errorf("encode an access review: %w", err)
	}
	answer, err := client.Resource(accessReviews).Create(ctx, &unstructured.Unstructured{Object: content},
		metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask what %s may change: %w", o.Account, err)
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	if err != nil {
		return false, fmt.Errorf("the API server's answer to an access review: %w", err)
	}
	return allowed, nil
}
