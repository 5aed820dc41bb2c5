package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/command"
)

// empty returns the error of a command whose arguments and flags selected nothing: a misspelt name in a pipeline must
// not pass. The first of the namespaces that does not exist is the reason; an empty name stands for all namespaces.
// With --allow-empty the error is printed and not returned.
func (a *action) empty(ctx context.Context, c *connection, reason error, namespaces ...string) error {
	for _, namespace := range namespaces {
		if missing := c.missing(ctx, namespace); missing != nil {
			reason = missing
			break
		}
	}
	if a.cmd.Bool(allowEmptyName) {
		a.note("%v", reason)
		return nil
	}
	hints := append(slices.Clone(hintsFor(a.name, reason)), "--allow-empty accepts that")
	return &command.ExitError{Code: command.ExitEmpty, Err: command.Hinted(reason, hints...)}
}

// missing returns the error for a namespace that does not exist. A user without the right to get it cannot know that.
// An empty name stands for all namespaces.
func (c *connection) missing(ctx context.Context, name string) error {
	if name == "" || strings.ContainsAny(name, "*?[") { // all, or the pattern of a policy
		return nil
	}
	resource := corev1.SchemeGroupVersion.WithResource("namespaces")
	_, err := c.Dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return nil
	}
	return &command.ExitError{Code: command.ExitEmpty, Err: fmt.Errorf("namespace %q does not exist", name)}
}
