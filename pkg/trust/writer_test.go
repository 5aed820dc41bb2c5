package trust

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func subjects(names ...string) (all []v1alpha1.GuardSubject) {
	for i := 0; i < len(names); i += 2 {
		all = append(all, v1alpha1.GuardSubject{Kind: v1alpha1.GuardSubjectKind(names[i]), Name: names[i+1]})
	}
	return all
}

func revision(n int, writer string) Record {
	return Record{UID: types.UID(fmt.Sprint("u", n)), Revision: n, Digest: fmt.Sprint(n), Writer: writer}
}

func TestTheWriterOfARevisionIsExpectedOrNot(t *testing.T) {
	ci := judge.Requester{User: "ci", Groups: []string{"bots", "deployers"}}
	alice := judge.Requester{User: "alice"}
	bot := judge.Requester{User: "system:serviceaccount:ci:deployer"}
	expected := append(subjects("User", "root", "Group", "deployers"),
		v1alpha1.GuardSubject{Kind: v1alpha1.GuardSubjectServiceAccount, Namespace: "ci", Name: "deployer"})
	many := judge.Requester{User: "alice"}
	for i := range 2 * maxGroups {
		many.Groups = append(many.Groups, fmt.Sprint("group-", i))
	}
	stored := func(n int, by judge.Requester) func(*State) {
		return func(s *State) { s.Deployed(revision(n, by.User), by, expected) }
	}
	changed := revision(1, "")
	changed.Digest = "other"
	for name, tc := range map[string]struct {
		did    []func(*State)
		locked Record
		want   string
	}{
		"no record was witnessed": {nil, revision(1, ""), v1alpha1.ReasonWriterUnknown},
		"a user":                  {[]func(*State){stored(1, judge.Requester{User: "root"})}, revision(1, ""), v1alpha1.ReasonExpectedWriter},
		"a group":                 {[]func(*State){stored(1, ci)}, revision(1, ""), v1alpha1.ReasonExpectedWriter},
		"a ServiceAccount":        {[]func(*State){stored(1, bot)}, revision(1, ""), v1alpha1.ReasonExpectedWriter},
		"another user":            {[]func(*State){stored(1, alice)}, revision(1, ""), v1alpha1.ReasonUnexpectedWriter},
		"a user with the name of a group": {[]func(*State){stored(1, judge.Requester{User: "deployers"})}, revision(1, ""),
			v1alpha1.ReasonUnexpectedWriter},
		"an expected one after another": {[]func(*State){stored(1, alice), stored(2, ci)}, revision(2, ""),
			v1alpha1.ReasonExpectedWriter},
		"another one, and the release is not locked": {[]func(*State){stored(1, alice)}, Record{},
			v1alpha1.ReasonUnexpectedWriter},
		"an expected one, and the release is not locked": {[]func(*State){stored(1, ci)}, Record{},
			v1alpha1.ReasonWriterUnknown},
		"a record that has changed since":          {[]func(*State){stored(1, ci)}, changed, v1alpha1.ReasonWriterUnknown},
		"an unwitnessed revision":                  {[]func(*State){stored(1, ci)}, revision(2, ""), v1alpha1.ReasonWriterUnknown},
		"an unwitnessed revision after another's":  {[]func(*State){stored(1, alice)}, revision(2, ""), v1alpha1.ReasonUnexpectedWriter},
		"an earlier revision after another's ends": {[]func(*State){stored(1, ci), stored(2, alice)}, revision(1, ""), v1alpha1.ReasonUnexpectedWriter},
		"the end of the trust": {[]func(*State){stored(1, alice), func(s *State) { s.Forget(2, "alice") },
			func(s *State) { s.Uninstall("alice") }}, revision(1, ""), v1alpha1.ReasonUnexpectedWriter},
		"more groups than are kept": {[]func(*State){stored(1, many)}, revision(1, ""), v1alpha1.ReasonWriterUnknown},
		"more groups than are kept, and an expected one at the end": {[]func(*State){stored(1,
			judge.Requester{Groups: append(many.Groups, "deployers")})}, revision(1, ""), v1alpha1.ReasonExpectedWriter},
	} {
		s := &State{}
		for _, do := range tc.did {
			do(s)
		}
		c := s.Expected(tc.locked, false, expected)
		check.That(t, c.Reason == tc.want, "%s: %+v, want %s", name, c, tc.want)
		c = s.Expected(tc.locked, true, expected)
		check.That(t, c.Reason == v1alpha1.ReasonExpectedWriter, "%s, and accepted: %+v", name, c)
	}
}

// The size of a state does not grow with the groups of a writer, and a long name is no name of a spec.
func TestAWriterIsBounded(t *testing.T) {
	long := string(make([]byte, 10*maxName))
	by := judge.Requester{User: long, Groups: []string{long}}
	for i := range 10 * maxGroups {
		by.Groups = append(by.Groups, fmt.Sprint(i))
	}
	s := &State{}
	s.Deployed(revision(1, "x"), by, nil)
	w := s.Writer
	check.That(t, len(w.User) <= maxName && len(w.Groups) == maxGroups && w.MoreGroups && len(w.Groups[0]) <= maxName,
		"%d bytes, %d groups, more: %t", len(w.User), len(w.Groups), w.MoreGroups)
	c := s.Expected(revision(1, ""), false, subjects("User", "ci"))
	check.That(t, c.Reason == v1alpha1.ReasonUnexpectedWriter, "no group is expected, and the writer is %+v", c)
}
