// Package accounts determines the account of a release, and the objects of the release that a user has a right to.
// The controller uses it before it locks a release, and the status page before it compares one, so that both have the
// same answer.
package accounts

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/rancher/helm-locker/pkg/release"
)

// Policy determines the identity of writes to the objects of releases.
type Policy struct {
	// Impersonate requires an account; without it a release that names none is written in the operator's own name.
	Impersonate bool
	// DefaultServiceAccount is for releases that name none; it is used with Impersonate only.
	DefaultServiceAccount string
}

// Of returns the user for writes to the objects of a release: the ServiceAccount of that name in the release's
// namespace, or the default one. It is empty for the operator itself. The error describes why there is no account,
// and the remedy. The account is always one of the release's own namespace: a user with the right to write the
// records of a release must not borrow the rights of another namespace by it.
func (p Policy) Of(rel release.Key, serviceAccountName string) (string, error) {
	name := serviceAccountName
	if name == "" && p.Impersonate {
		name = p.DefaultServiceAccount
	}
	switch {
	case name != "":
	case p.Impersonate:
		return "", errors.New("the operator writes only in the name of a ServiceAccount (--impersonate), and none is " +
			"named: " +
			"set spec.serviceAccountName to one in namespace " + rel.Namespace + "; nothing is locked")
	default:
		return "", nil
	}
	// The definition of HelmReleases checks the same. It may be an older one, and a name with a colon would be
	// another user.
	for _, part := range []string{name, rel.Namespace} {
		if bad := validation.NameIsDNSSubdomain(part, false); len(bad) > 0 {
			return "", fmt.Errorf("ServiceAccount %q in namespace %q: %s", name, rel.Namespace, strings.Join(bad, "; "))
		}
	}
	return "system:serviceaccount:" + rel.Namespace + ":" + name, nil
}
