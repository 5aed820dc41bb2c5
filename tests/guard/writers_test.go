package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// deployers expects the members of a group.
func deployers(hr *v1alpha1.HelmRelease) {
	hr.Spec.ExpectedWriters = []v1alpha1.GuardSubject{{Kind: v1alpha1.GuardSubjectGroup, Name: "deployers"}}
}

// helmAs is Helm with the client certificate of an administrator in more groups.
func (f *trusting) helmAs(h cluster.Helm, user string, groups ...string) cluster.Helm {
	f.Helper()
	config, err := f.Cluster.UserConfig(user, append(groups, "system:masters")...)
	check.NoError(f, err)
	h.Kubeconfig, err = f.Cluster.KubeconfigFor(user+"-of-"+f.Apps, config)
	check.NoError(f, err)
	return h
}

// writer waits until ExpectedWriter has a reason and a message with all parts.
func (f *trusting) writer(name, reason string, parts ...string) {
	f.Helper()
	f.Says(name, v1alpha1.ConditionExpectedWriter, reason, parts...)
}

// flagged returns the messages of the events about unexpected writers, each as often as it was recorded.
func (f *trusting) flagged() (messages []string) {
	f.Helper()
	list, err := f.Kube.CoreV1().Events(f.Operator).List(f.Ctx, metav1.ListOptions{
		FieldSelector: "type=Warning,reason=" + v1alpha1.EventReasonUnexpectedWriter})
	check.NoError(f, err)
	for i := range list.Items {
		e := &list.Items[i]
		of := []string{e.InvolvedObject.Name + ": " + e.Message}
		messages = append(messages, slices.Repeat(of, int(max(1, e.Count)))...)
	}
	slices.Sort(messages)
	return messages
}

// wasFlagged waits until there are exactly these events.
func (f *trusting) wasFlagged(revisions ...string) {
	f.Helper()
	for i, r := range revisions {
		name, rest, _ := strings.Cut(r, " ")
		revisions[i] = fmt.Sprintf("%s: revision %s, who is not one of spec.expectedWriters", name,
			strings.Replace(rest, " ", " was stored by user ", 1))
	}
	slices.Sort(revisions)
	f.Until(fmt.Sprintf("the events are %q", revisions), func() (any, bool) {
		got := f.flagged()
		return got, slices.Equal(got, revisions)
	})
}

// restart starts another operator in the place of the running one.
func (f *trusting) restart() {
	f.Helper()
	f.Running.Stop()
	f.startServed(witnessed)
}

// A revision that Helm deploys as another user than the expected ones is locked, and flagged until an expected user
// deploys one, across restarts and changes of the spec.
func TestWriters_HelmAsTwoUsers(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	var events []string
	for _, version := range slices.Sorted(maps.Keys(kit.Helms(f.Cluster))) {
		h := kit.Helms(f.Cluster)[version]
		ci, alice := f.helmAs(h, "ci", "deployers"), f.helmAs(h, "alice")
		name := "app-" + version[len(version)-1:]
		upgrade := func(by cluster.Helm, revision int, args ...string) {
			f.Helm(by, append([]string{"upgrade", "--install", name, f.Chart(name, kit.ConfigMap(name, fmt.Sprint(revision)))}, args...)...)
			f.WaitReady(name, revision)
		}
		f.CreateHelmRelease(name, deployers)
		f.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonSecretNotFound)
		f.writer(name, v1alpha1.ReasonWriterUnknown)
		upgrade(ci, 1)
		f.writer(name, v1alpha1.ReasonExpectedWriter, "revision 1 was stored by user ci")

		upgrade(alice, 2)
		f.writer(name, v1alpha1.ReasonUnexpectedWriter, "revision 2 was stored by user alice, who is not one of")
		f.Patch(kit.ConfigMaps, name, `{"data":{"key":"tampered"}}`)
		f.WaitField(kit.ConfigMaps, name, "data.key", "2")
		events = append(events, name+" 2 alice")
		f.wasFlagged(slices.Clone(events)...)
		f.restart()
		upgrade(ci, 3)
		f.writer(name, v1alpha1.ReasonExpectedWriter, "revision 3 was stored by user ci")

		// The groups of the writer are known without another revision.
		f.PatchHelmRelease(name, `{"spec":{"expectedWriters":[{"kind":"User","name":"alice"}]}}`)
		f.writer(name, v1alpha1.ReasonUnexpectedWriter, "revision 3 was stored by user ci")
		events = append(events, name+" 3 ci")
		f.wasFlagged(slices.Clone(events)...)
		f.PatchHelmRelease(name, `{"spec":{"expectedWriters":[{"kind":"Group","name":"deployers"}]}}`)
		f.writer(name, v1alpha1.ReasonExpectedWriter)

		// Impersonation counts as the user, and a pause hides no revision.
		f.PatchHelmRelease(name, `{"spec":{"suspend":true}}`)
		f.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
		f.Helm(ci, "upgrade", name, f.Chart(name, kit.ConfigMap(name, "4")), "--kube-as-user", "bob",
			"--kube-as-group", "system:masters")
		f.writer(name, v1alpha1.ReasonUnexpectedWriter, "revision 4 was stored by user bob")
		events = append(events, name+" 4 bob")
		f.PatchHelmRelease(name, `{"spec":{"suspend":false}}`)
		f.WaitReady(name, 4)

		// A revision that is not witnessed ends nothing, and is none of an expected user.
		f.front.to("")
		upgrade(ci, 5)
		f.restart()
		f.writer(name, v1alpha1.ReasonUnexpectedWriter, "revision 4 was stored by user bob")
		f.wasFlagged(slices.Clone(events)...)
		upgrade(ci, 6)
		f.writer(name, v1alpha1.ReasonExpectedWriter, "revision 6 was stored by user ci")
		f.front.to("")
		upgrade(ci, 7)
		f.writer(name, v1alpha1.ReasonWriterUnknown, "did not see")
		f.wasFlagged(slices.Clone(events)...)
		f.front.to(f.guardAddress(f.Running))

		f.PatchHelmRelease(name, `{"spec":{"expectedWriters":null}}`)
		f.Until("the condition is gone", func() (any, bool) {
			all := f.HelmRelease(name).Status.Conditions
			return all, !slices.ContainsFunc(all, func(c metav1.Condition) bool {
				return c.Type == v1alpha1.ConditionExpectedWriter
			})
		})
	}
}

// An acceptance ends the flag for one content, and the writer of the next revision is flagged again.
func TestWriters_AnAcceptanceIsForOneRecord(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.CreateHelmRelease("app", deployers)
	f.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSecretNotFound)
	me := "mallory-of-" + f.Apps
	record := kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "1")}
	stored := f.mallory.Forge(record)
	f.writer("app", v1alpha1.ReasonUnexpectedWriter, "revision 1", me)
	f.accept("app", stored)
	f.writer("app", v1alpha1.ReasonExpectedWriter, "revision 1 is accepted")
	f.restart()
	f.PatchHelmRelease("app", `{"spec":{"scope":"Strict"}}`)
	f.WaitObserved("app")
	f.writer("app", v1alpha1.ReasonExpectedWriter, "revision 1 is accepted")
	record.Manifest = kit.ConfigMap("settings", "changed")
	f.mallory.Forge(record)
	f.writer("app", v1alpha1.ReasonUnexpectedWriter, "revision 1", me)
	record.Revision = 2
	f.mallory.Forge(record)
	f.writer("app", v1alpha1.ReasonUnexpectedWriter, "revision 2", me)
	f.wasFlagged("app 1 "+me, "app 1 "+me, "app 2 "+me)
}

// The operator does not know the writer of a record from before its HelmRelease, whatever the record claims. With trust
// in any writer it knows none.
func TestWriters_UnknownIsNeitherExpectedNorFlagged(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "1")})
	f.CreateHelmRelease("app", deployers)
	f.writer("app", v1alpha1.ReasonWriterUnknown, "did not see")
	f.wasFlagged()
	f.Running.Stop()
	f.start()
	f.writer("app", v1alpha1.ReasonGuardNotServed, "--trust-records=Any")
	f.wasFlagged()
}

// A ServiceAccount is expected by its name and its namespace.
func TestWriters_AServiceAccountOfANamespace(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.ExpectedWriters = []v1alpha1.GuardSubject{{Kind: v1alpha1.GuardSubjectServiceAccount,
			Namespace: f.Apps, Name: "deployer"}}
	})
	f.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSecretNotFound)
	for i, namespace := range []string{f.Apps, f.Operator} {
		f.Bind(f.Apps, fmt.Sprint("deployer-", i), "ClusterRole/edit", f.Account(namespace, "deployer"))
		config, err := f.Cluster.ServiceAccountConfig(f.Ctx, namespace, "deployer")
		check.NoError(t, err)
		by := f.as(config)
		f.Until("the account may write Secrets", func() (any, bool) {
			_, err := by.Kube.CoreV1().Secrets(f.Apps).List(f.Ctx, metav1.ListOptions{})
			return err, err == nil
		})
		by.Forge(kit.ForgedRecord{Name: "app", Revision: i + 1, Manifest: kit.ConfigMap("settings", fmt.Sprint(i))})
		reason := []string{v1alpha1.ReasonExpectedWriter, v1alpha1.ReasonUnexpectedWriter}[i]
		f.writer("app", reason, fmt.Sprintf("revision %d was stored by user system:serviceaccount:%s:deployer", i+1,
			namespace))
	}
}
