package witness

import (
	"context"
	"errors"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/accounts"
	"github.com/rancher/helm-locker/pkg/trust"
)

// lacks returns the first right that a writer lacks for the difference to one of bases; nil for none.
func (h *hearing) lacks(
	ctx context.Context, user authenticationv1.UserInfo, declared []trust.Object, bases [][]trust.Object, replace bool,
) (*trust.Right, error) {
	for _, base := range bases {
		rights, doubt := trust.Rights(base, declared, replace)
		if doubt != "" {
			return nil, errors.New(doubt)
		}
		if missing, err := h.missing(ctx, user, rights); err != nil || missing != nil {
			return missing, err
		}
	}
	return nil, nil
}

// missing returns the first right that a user lacks; nil for none.
func (h *hearing) missing(
	ctx context.Context, user authenticationv1.UserInfo, rights []trust.Right,
) (*trust.Right, error) {
	for len(rights) > 0 {
		verb := rights[0].Verb
		of := slices.DeleteFunc(slices.Clone(rights), func(r trust.Right) bool { return r.Verb != verb })
		rights = slices.DeleteFunc(rights, func(r trust.Right) bool { return r.Verb == verb })
		objects := make([]accounts.Object, len(of))
		for i, r := range of {
			objects[i] = accounts.Object{GVR: schema.GroupVersionResource{Group: r.Group, Resource: r.Resource},
				Namespace: r.Namespace, Name: r.Name}
		}
		allowed, err := accounts.Rights(ctx, objects, func(ctx context.Context, o accounts.Object) (bool, error) {
			return h.may(ctx, user, verb, o)
		})
		if err != nil {
			return nil, err
		}
		if i := slices.Index(allowed, false); i >= 0 {
			return &of[i], nil
		}
	}
	return nil, nil
}
