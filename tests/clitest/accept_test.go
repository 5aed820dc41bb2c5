package clitest

import (
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// witnessing starts an operator that asks for the rights of writers. The API server does not reach it, so no record is
// witnessed.
func (w *fixture) witnessing(t *testing.T) {
	t.Helper()
	kit.StartOperator(t, w.OperatorConfig(), w.Operator, func(o *operator.ControllerOptions) {
		o.TrustRecords = operator.TrustWitnessed
		o.Guard = operator.GuardOptions{Address: "127.0.0.1:0", URL: "https://127.0.0.1:1"}
	})
}

func (w *fixture) doubted(name string) {
	w.Helper()
	w.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonRecordNotTrusted)
}

func (w *fixture) hasNo(name string) {
	w.Helper()
	_, err := w.Kube.CoreV1().ConfigMaps(w.Apps).Get(w.Ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		w.Errorf("ConfigMap %s exists, or %v", name, err)
	}
}

const (
	kioskRecord = "release APPS/kiosk: revision 1 was stored by a user whom the operator did not see; " +
		"enforcing it writes 1 object and deletes 0 objects\n  ConfigMap APPS/kiosk: create it\n"
	kioskAccepted = "HelmRelease LOCKER/kiosk accepts revision 1 of release APPS/kiosk"
)

// accept prints what the operator does with a record, and has it do that after a yes.
func TestAccept(t *testing.T) {
	w := newFixture(t)
	w.witnessing(t)
	w.Forge(kit.ForgedRecord{Name: "kiosk", Manifest: kit.ConfigMap("kiosk", "one")})
	w.app("accept", "kiosk").says(5, "release APPS/kiosk is not locked: no HelmRelease in namespace LOCKER names it")
	w.CreateHelmRelease("kiosk")
	w.doubted("kiosk")
	w.app("status", "kiosk").says(0, "helm-locker accept kiosk -n APPS")
	w.app("status").says(0, "RecordNotTrusted", "helm-locker accept kiosk -n APPS")
	w.app("check").says(2, "1 release with a record that is not trusted: APPS/kiosk",
		"helm-locker accept kiosk -n APPS shows")
	w.app("accept", "--all").is(2, "", kioskRecord+noTerminal)
	w.app("accept", "kiosk").is(2, "", kioskRecord+noTerminal)
	w.app("accept", "kiosk", "--dry-run").is(0, kioskAccepted+" (dry run)\n", kioskRecord)
	accepted := w.HelmRelease("kiosk").Spec.AcceptedRecord
	check.That(t, accepted == "", "%s is accepted", accepted)
	w.hasNo("kiosk")
	w.app("accept", "kiosk", "--yes", "--wait").says(0, kioskRecord, kioskAccepted+"\n",
		"done: revision 1 is locked, 1 object\n")
	w.WaitField(kit.ConfigMaps, "kiosk", "data.key", "one")
	w.app("check").says(0, "Witnessed: 1 release enforced")
	w.app("accept", "kiosk").is(1, "", "helm-locker: revision 1 of release APPS/kiosk is trusted already (Accepted)\n")
	w.app("accept", "--all").says(5, "every selected release has a trusted record, or is not compared now")

	w.Forge(kit.ForgedRecord{Name: "kiosk", Revision: 2, Manifest: kit.ConfigMap("other", "two")})
	w.doubted("kiosk")
	w.app("accept", "kiosk", "--dry-run").says(0, "revision 2", "writes 1 object and deletes 1 object\n"+
		"  ConfigMap APPS/other: create it\n  ConfigMap APPS/kiosk: delete it, as no revision declares it now\n")
}

// A record that changes while the question is open is not accepted.
func TestAcceptIsForTheRecordThatWasShown(t *testing.T) {
	w := newFixture(t)
	w.witnessing(t)
	w.Forge(kit.ForgedRecord{Name: "kiosk", Manifest: kit.ConfigMap("kiosk", "one")})
	w.CreateHelmRelease("kiosk")
	w.doubted("kiosk")
	master, terminal := pty(t)
	cmd := w.command(w.Ctx, "accept", "kiosk", "-n", w.Apps)
	cmd.Stdin = terminal
	var out strings.Builder
	cmd.Stdout = &out
	asked := make(chan struct{})
	var said strings.Builder
	cmd.Stderr = onFirst(&said, "Accept, and enforce this?", func() { close(asked) })
	check.NoError(t, cmd.Start())
	<-asked
	w.Forge(kit.ForgedRecord{Name: "kiosk", Manifest: kit.ConfigMap("kiosk", "two")})
	answer(t, master)
	err := cmd.Wait()
	check.That(t, err != nil && strings.Contains(said.String(), "has changed since it was compared"),
		"the error is %v, and the output %s", err, said.String())
	accepted := w.HelmRelease("kiosk").Spec.AcceptedRecord
	check.That(t, accepted == "" && out.Len() <= 0, "%s is accepted: %s", accepted, out.String())
	w.hasNo("kiosk")
}

func answer(t *testing.T, master *os.File) {
	t.Helper()
	_, err := master.WriteString("y\n")
	check.NoError(t, err)
}

// The question of lock is about the same: a yes accepts the record whose drift was shown.
func TestLockAcceptsTheRecordThatItShows(t *testing.T) {
	w := newFixture(t)
	w.witnessing(t)
	w.Forge(kit.ForgedRecord{Name: "kiosk", Manifest: kit.ConfigMap("kiosk", "one")})
	w.app("lock", "kiosk", "--yes", "--wait").says(0, "ConfigMap APPS/kiosk: re-create it", "done: revision 1 is locked")
	w.WaitField(kit.ConfigMaps, "kiosk", "data.key", "one")

	other := newFixture(t)
	kit.StartOperator(t, other.OperatorConfig(), other.Operator)
	other.Forged("kiosk", kit.ConfigMap("kiosk", "one"))
	other.app("accept", "kiosk").is(1, "",
		"helm-locker: there is nothing to accept: the operator enforces the records of any writer\n"+
			"  trust.records=Witnessed in the values of its chart has it ask for the rights of writers\n")
	other.app("check").says(0, "Any: 1 release enforced whoever writes the record")
	other.PatchHelmRelease("kiosk", `{"spec":{"expectedWriters":[{"kind":"User","name":"ci"}]}}`)
	other.WaitReason("kiosk", v1alpha1.ConditionExpectedWriter, v1alpha1.ReasonGuardNotServed)
	const unseen = "the operator does not see the users who store revisions"
	other.app("check").says(0, "1 release with spec.expectedWriters, and "+unseen+": APPS/kiosk")
	other.app("lock", "kiosk").says(0, "note: "+unseen+"; spec.expectedWriters takes trust.records=Witnessed")
	other.Forge(kit.ForgedRecord{Name: "till", Manifest: kit.ConfigMap("till", "one")})
	other.app("lock", "till", "--yes", "--wait").says(0, "re-create it")
	accepted := other.HelmRelease("till").Spec.AcceptedRecord
	check.That(t, accepted == "", "%s is accepted", accepted)
}
