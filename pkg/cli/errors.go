package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

// explain returns an error with its remedy, for a terminal: a line each, the first one after the program's name.
func explain(name string, err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && apierrors.IsInvalid(err) {
		text = invalid(status)
	}
	lines := []string{name + ": " + plain.Line(text)}
	for _, hint := range hintsFor(name, err) {
		lines = append(lines, "  "+plain.Line(hint))
	}
	return strings.Join(lines, "\n")
}

func hintsFor(name string, err error) []string {
	var (
		advised *command.HintError
		missing *inspect.NotFoundError
	)
	switch {
	case errors.As(err, &advised):
		return advised.Hints
	case errors.As(err, &missing):
		return notFoundHints(missing)
	case apierrors.IsForbidden(err):
		return forbiddenHints(err)
	case apierrors.IsUnauthorized(err):
		return []string{
			"the API server does not know who you are: log in again, or choose another context with --context",
		}
	case errors.Is(err, release.ErrRecord):
		return []string{"a record that cannot be read may be the newest one, so " + name +
			" does not take an older one for it"}
	}
	return nil
}

func notFoundHints(missing *inspect.NotFoundError) []string {
	if missing.Revision != 0 {
		return []string{"leave --revision out for the newest one"}
	}
	if missing.Elsewhere != "" {
		return []string{"its record is in " + missing.Elsewhere + ": name both with --release-storage=secret,configmap"}
	}
	if len(missing.Similar) == 0 {
		if missing.Source != "" {
			return nil
		}
		return []string{"helm list -A lists all releases; choose the namespace with -n, the cluster with --context, and " +
			"where Helm keeps records with --release-storage"}
	}
	return []string{didYouMean(missing.Key, missing.Similar)}
}

// didYouMean proposes releases instead of a missing one.
func didYouMean(missing release.Key, similar []release.Key) string {
	var names []string
	for _, key := range similar {
		if key.Namespace == missing.Namespace {
			names = append(names, key.Name)
		} else {
			names = append(names, fmt.Sprintf("%s -n %s", key.Name, key.Namespace))
		}
	}
	return "did you mean " + strings.Join(names, ", or ") + "?"
}

// denied is how the API server's authorizers word a refusal.
var denied = regexp.MustCompile(
	`User "([^"]*)" cannot ([a-z:-]+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?`,
)

// refusedAtAdmission is how the API server words the refusals of ValidatingAdmissionPolicies and of webhooks. The rest
// of such a message is the reason.
var refusedAtAdmission = regexp.MustCompile(` denied (the )?request: `)

func forbiddenHints(err error) []string {
	if refusedAtAdmission.MatchString(err.Error()) {
		if strings.Contains(err.Error(), v1alpha1.SuspendReasonAnnotation) {
			return []string{"give it by --reason TEXT"}
		}
		return nil
	}
	found := denied.FindStringSubmatch(err.Error())
	if found == nil {
		return []string{"ask for the permission that the message names"}
	}
	where, kind := "in the whole cluster", "ClusterRole"
	if found[5] != "" {
		where, kind = "in namespace "+found[5], "Role"
	}
	return []string{fmt.Sprintf("%s needs a %s with verbs: [%s], apiGroups: [%q], resources: [%s], bound %s",
		found[1], kind, found[2], found[4], found[3], where)}
}

// invalid describes the API server's validation errors for an object of ours, field by field.
func invalid(status apierrors.APIStatus) string {
	s := status.Status()
	if s.Details == nil || len(s.Details.Causes) == 0 {
		return s.Message
	}
	var causes []string
	for _, cause := range s.Details.Causes {
		causes = append(causes, cause.Field+": "+cause.Message)
	}
	return "the API server refuses it: " + strings.Join(causes, "; ")
}
