package trust

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// object declares an object of a kind, with one field.
func object(t *testing.T, group, kind, field string, value any) Object {
	t.Helper()
	id := manifest.ID{Group: group, Kind: kind, Namespace: "apps", Name: "it"}
	o, err := ObjectOf(&manifest.Object{ID: id, Content: map[string]any{field: value}},
		schema.GroupResource{Group: group, Resource: strings.ToLower(kind) + "s"})
	check.NoError(t, err)
	return o
}

func TestADifferenceTakesRights(t *testing.T) {
	const rbac = "rbac.authorization.k8s.io"
	settings := func(value string) []Object { return []Object{object(t, "", "ConfigMap", "data", value)} }
	role := func(rule string) []Object { return []Object{object(t, rbac, "Role", "rules", rule)} }
	labelled := object(t, rbac, "Role", "metadata", "label")
	binding := []Object{object(t, rbac, "RoleBinding", "roleRef", map[string]any{"kind": "ClusterRole", "name": "view"})}
	kept := settings("a")
	kept[0].keep = true
	optedOut := settings("a")
	optedOut[0].optedOut = true
	for name, tc := range map[string]struct {
		before, after []Object
		replace       bool
		want          string
	}{
		"a new object":     {nil, settings("a"), false, "patch configmaps, create configmaps"},
		"the same object":  {settings("a"), settings("a"), true, ""},
		"a changed object": {settings("a"), settings("b"), false, "patch configmaps"},
		"a changed object, to replace": {settings("a"), settings("b"), true,
			"patch configmaps, create configmaps, delete configmaps"},
		"a removed object":            {settings("a"), nil, false, "delete configmaps"},
		"a removed object that stays": {kept, nil, false, ""},
		"a changed role":              {role("a"), role("b"), false, "patch roles." + rbac + ", escalate roles." + rbac},
		"a role with another label": {[]Object{object(t, rbac, "Role", "metadata", "x")}, []Object{labelled}, false,
			"patch roles." + rbac + ", escalate roles." + rbac},
		"an object that was opted out": {optedOut, settings("b"), false, "patch configmaps, create configmaps"},
		"a new binding": {nil, binding, false,
			"patch rolebindings." + rbac + ", create rolebindings." + rbac + ", bind clusterroles." + rbac},
	} {
		rights, doubt := Rights(tc.before, tc.after, tc.replace)
		var got []string
		for _, r := range rights {
			got = append(got, r.Verb+" "+r.GroupResource.String())
			check.Equal(t, r.Namespace, "apps", "%s: %s", name, r)
		}
		text := strings.Join(got, ", ")
		check.That(t, text == tc.want && doubt == "", "%s: %s %s, want %s", name, text, doubt, tc.want)
	}
	_, doubt := Rights(nil, []Object{object(t, "", "Pod", "spec", "x")}, false)
	check.That(t, doubt != "", "rights decide about a Pod")
}

func TestTheDigestCoversWhatDecides(t *testing.T) {
	of := func(change func(*release.Release), namespace string) string {
		r := &release.Release{Key: release.Key{Namespace: "apps", Name: "shop"}, Manifest: "a: b", Status: "deployed"}
		change(r)
		return Digest(namespace, r)
	}
	same := of(func(*release.Release) {}, "apps")
	check.Equal(t, of(func(r *release.Release) { r.Status, r.Notes = "superseded", "x" }, "apps"), same,
		"the status changes the digest")
	all := []string{same, of(func(*release.Release) {}, "other"),
		of(func(r *release.Release) { r.Manifest = "a: c" }, "apps"),
		of(func(r *release.Release) { r.ApplyMethod = "ssa" }, "apps"),
		of(func(r *release.Release) { r.Namespace = "other" }, "apps"),
		of(func(r *release.Release) { r.Name = "other" }, "apps")}
	slices.Sort(all)
	check.Equal(t, len(slices.Compact(all)), 6, "digests are equal: %v", all)
}

func TestTrustIsInTheNewestRevision(t *testing.T) {
	rec := func(n int) Record { return Record{UID: "u", Revision: n, Digest: fmt.Sprint(n)} }
	s := &State{}
	s.Trust(rec(1))
	next := rec(2)
	s.Next = &next
	check.That(t, s.Trusts(rec(1)) && !s.Trusts(rec(2)) && s.Knows(rec(2)), "%+v", s)
	s.Trust(rec(2))
	check.That(t, !s.Trusts(rec(1)) && s.Trusts(rec(2)) && s.WasDeployed("1") && s.WasDeployed("2") && s.Next == nil,
		"%+v", s)
	other, replaced := rec(2), rec(2)
	other.UID, replaced.Replace = "v", true
	check.That(t, !s.Trusts(other) && !s.Trusts(replaced), "another record is trusted, or to be replaced")
	check.That(t, !s.Forget(1, "helm") && s.Trusts(rec(2)), "trimming the history ends the trust")
	for n := 3; n < 100; n++ {
		s.Trust(rec(n))
	}
	check.That(t, len(s.Earlier) == maxEarlier && !s.WasDeployed("1"), "%d earlier revisions are remembered",
		len(s.Earlier))
	check.That(t, s.Forget(99, "helm") && !s.Trusts(rec(99)) && !s.WasDeployed("98"), "%+v", s)
	refused := rec(100)
	refused.Writer, refused.Reason = "mallory", v1alpha1.TrustRefused
	s.Refused = &Refusal{Record: refused, Missing: &Right{Verb: "bind", Name: "admin"}}
	got := s.Status(rec(100)).Message
	check.That(t, strings.Contains(got, "user mallory, who may not bind"), "%v", got)
	got = s.Status(rec(101)).Message
	check.That(t, strings.Contains(got, "nothing shows"), "%v", got)
	if got := s.Status(rec(100)); got.State != v1alpha1.TrustStateNotTrusted || got.Reason != v1alpha1.TrustRefused ||
		got.Writer != "mallory" {
		t.Errorf("%+v", got)
	}
	if got := s.Status(rec(101)); got.State != v1alpha1.TrustStateNotTrusted ||
		got.Reason != v1alpha1.TrustUnwitnessed || got.Writer != "" {
		t.Errorf("%+v", got)
	}
	accepted := rec(101)
	accepted.Reason = v1alpha1.TrustAccepted
	s.Trust(accepted)
	if got := s.Status(rec(101)); got.State != v1alpha1.TrustStateTrusted || got.Reason != v1alpha1.TrustAccepted {
		t.Errorf("%+v", got)
	}
}

// A revision is compared with the trusted one only if every revision in between was witnessed.
func TestARevisionFollowsOnTheTrustedOne(t *testing.T) {
	rec := func(n int) Record { return Record{UID: "u", Revision: n, Digest: fmt.Sprint(n)} }
	s := &State{}
	s.Trust(rec(4))
	for n, want := range map[int]bool{3: true, 4: true, 5: false, 6: false} {
		check.That(t, s.Follows(n, false) == want && s.Follows(n, true) == (n < 6), "revision %d follows: %t, %t", n,
			s.Follows(n, false), s.Follows(n, true))
	}
	s.Witness(6)
	check.That(t, !s.Follows(6, true), "there is a revision in between")
	s.Witness(5)
	if s.Witness(6); !s.Follows(6, false) || !s.Follows(7, true) || s.Follows(8, true) {
		t.Errorf("%+v", s)
	}
	if s.Trust(rec(5)); s.Follows(7, true) {
		t.Error("what was witnessed before the trusted revision was deployed counts")
	}
}

func TestARefusalEndsTheTrustInThatRecord(t *testing.T) {
	rec := func(n int) Record { return Record{UID: "u", Revision: n, Digest: fmt.Sprint(n)} }
	s := &State{}
	s.Trust(rec(1))
	if s.Refuse(Refusal{Record: rec(2)}); !s.Trusts(rec(1)) {
		t.Error("the refusal of another record ends the trust")
	}
	if s.Refuse(Refusal{Record: rec(1)}); s.Trusts(rec(1)) || s.Refused == nil {
		t.Errorf("%+v", s)
	}
}

// While a user uninstalls a release, no record is trusted for its objects.
func TestAnUninstallationEndsWithItsUser(t *testing.T) {
	s := &State{Changes: 7}
	s.Trust(Record{UID: "u", Revision: 1})
	s.Uninstall("admin")
	check.That(t, s.Trusted == nil && s.AtWork == "admin" && s.Changes == 7, "%+v", s)
	check.That(t, s.Forget(1, "mallory") && s.AtWork == "admin" && s.Changes == 7,
		"after the deletion by another user: %+v", s)
	check.That(t, s.Forget(1, "admin") && s.AtWork == "", "after the deletion: %+v", s)
	s.Uninstall("admin")
	install := func(revision int, by string) {
		r := Record{UID: "v", Revision: revision, Writer: by}
		s.Trust(r)
		s.Deployed(r, judge.Requester{User: by}, nil)
	}
	if install(1, "mallory"); s.AtWork != "admin" {
		t.Errorf("after an installation by another user: %+v", s)
	}
	if install(2, "admin"); s.AtWork != "" {
		t.Errorf("after an installation: %+v", s)
	}
	s.Uninstall("admin")
	s.Uninstall("mallory")
	s.Forget(2, "mallory")
	if install(3, "mallory"); s.AtWork == "" {
		t.Errorf("another user ends the uninstallation: %+v", s)
	}
	if s.Trust(Record{UID: "v", Revision: 3, Reason: v1alpha1.TrustAccepted}); s.AtWork != "" {
		t.Errorf("after an acceptance: %+v", s)
	}
}

// Only its writer ends a pending record: for any other user, Helm may go on to carry it out.
func TestHelmMayGoOnWithAPendingRecord(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(s *State)
		want string
	}{
		"ended by its writer":               {func(s *State) { s.Interrupt("2", 2, "ci") }, ""},
		"ended by another user":             {func(s *State) { s.Interrupt("2", 2, "mallory") }, "ci"},
		"another one, of an unknown writer": {func(s *State) { s.Interrupt("3", 3, "ci") }, severalUsers},
		"the trusted one itself":            {func(s *State) { s.Interrupt("1", 1, "mallory") }, severalUsers},
		"before the trusted one":            {func(s *State) { s.Interrupt("0", 0, "mallory") }, ""},
		"changed by its writer":             {func(s *State) { s.TakeOver("2", "ci") }, ""},
		"changed by another user":           {func(s *State) { s.TakeOver("2", "mallory") }, "ci"},
		"another one, changed":              {func(s *State) { s.TakeOver("3", "mallory") }, ""},
		"another user begins":               {func(s *State) { s.Begin("3", "mallory") }, "ci"},
		"changed after the end of the trust": {func(s *State) {
			s.Forget(1, "mallory")
			s.TakeOver("2", "mallory")
		}, "ci"},
		"changed after a refusal of another record": {func(s *State) {
			s.Refuse(Refusal{Record: Record{UID: "3", Revision: 3, Writer: "mallory"}})
			s.TakeOver("2", "mallory")
		}, "ci"},
		"another user begins after its deployment": {func(s *State) {
			s.Deployed(Record{UID: "2", Writer: "ci"}, judge.Requester{User: "ci"}, nil)
			s.Begin("3", "admin")
		}, ""},
		"another user begins after it is as declared": {func(s *State) {
			s.Trust(Record{UID: "2", Revision: 2})
			s.Begin("3", "admin")
		}, ""},
		"changed, and deployed by its writer": {func(s *State) {
			s.TakeOver("2", "mallory")
			s.Deployed(Record{UID: "2", Writer: "ci"}, judge.Requester{User: "ci"}, nil)
		}, ""},
	} {
		s := State{Trusted: &Record{UID: "1", Revision: 1}}
		s.Begin("2", "ci")
		if test.end(&s); s.AtWork != test.want {
			t.Errorf("%s: %q is at work, want %q", name, s.AtWork, test.want)
		}
	}
}
