package admit

import (
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// The names of a user and of its groups are text of others: they stay on their line.
func TestASenderIsNamedWithItsPod(t *testing.T) {
	for want, u := range map[string]authenticationv1.UserInfo{
		"alice":                               {Username: "alice"},
		"a\\nb":                               {Username: "a\nb"},
		"system:serviceaccount:a:b (Pod b-1)": {Username: "system:serviceaccount:a:b", Extra: map[string]authenticationv1.ExtraValue{podName: {"b-1"}}},
	} {
		check.Equal(t, sender(&u), want, "the sender")
	}
	groups := groupsOf(&authenticationv1.UserInfo{Groups: []string{"web", "system:authenticated", "a\nb",
		"system:serviceaccounts", "system:serviceaccounts:apps", "system:masters", "1", "2", "3"}})
	check.That(t, slices.Equal(groups, []string{"web", `a\nb`, "system:masters", "1", "2"}), "the groups are %q", groups)
}
