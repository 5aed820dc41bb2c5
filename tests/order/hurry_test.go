package order

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// atMost bounds the number of a test's tamperings until the operator has done the expected action: the load of the
// machine may keep the operator from making two checks within a tenth of a second.
const atMost = 300

// isFence matches the writes of fences.
func isFence(r *http.Request) bool {
	return cluster.ForResource("secrets", http.MethodPut)(r) && strings.HasSuffix(r.URL.Path, proof.FenceSuffix)
}

// fences returns how many fences were written since the proxy's Reset, or refused.
func (b *fixture) fences() (written, refused int) {
	for _, r := range b.Proxy.Writes() {
		switch {
		case !kit.IsFenceWrite(r):
		case r.Code == http.StatusOK, r.Code == http.StatusCreated:
			written++
		case r.Code == http.StatusForbidden:
			refused++
		}
	}
	return written, refused
}

// hammered tampers with a ConfigMap repeatedly, each time as soon as it is restored, until enough returns true. It
// fails the test after atMost times.
func (b *fixture) hammered(what string, enough func(times int) bool) {
	b.Helper()
	for times := 0; !enough(times); times++ {
		if times == atMost {
			b.Errorf("%s: not after %d drifts in quick succession", what, times)
			return
		}
		b.Patch(kit.ConfigMaps, "app", fmt.Sprintf(`{"data":{"value":"tampered %d"}}`, times))
		b.waitValue("app", "one")
	}
}

// hammeredUntilFenced hammers until so many fences more were written.
func (b *fixture) hammeredUntilFenced(more int) {
	b.Helper()
	before, _ := b.fences()
	b.hammered(fmt.Sprintf("%d fences more", more), func(int) bool {
		now, _ := b.fences()
		return now >= before+more
	})
}

// fenceSecret returns the metadata of the operator's Secret for fences.
func (b *fixture) fenceSecret() (name string, meta *metav1.ObjectMeta) {
	b.Helper()
	name = b.Operator + proof.FenceSuffix
	own, err := b.Kube.CoreV1().Secrets(b.Operator).Get(b.Ctx, name, metav1.GetOptions{})
	check.NoError(b, err)
	if len(own.Data) > 0 || own.Type != "helm.sh/release.v1" {
		b.Errorf("the operator's own Secret is %+v", own)
	}
	return name, &own.ObjectMeta
}

// Repeated changes of an object cause checks of the record in quick succession. None of these checks is left out:
// every write of the operator follows a list or a fence of its own.
func TestI1_ChecksInQuickSuccession(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	b.Proxy.Reset()
	b.hammeredUntilFenced(5)
	checks, reverts := 0, 0
	for _, r := range b.Proxy.Requests() {
		switch {
		case kit.ProvesWrite(r, "app"):
			checks++
		case r.Method == http.MethodPatch && r.Resource() == "configmaps":
			if reverts++; checks == 0 {
				t.Fatalf("written without a check since the write before: %s", r)
			}
			checks = 0
		}
	}
	check.That(t, reverts != 0, "nothing was reverted")
	// Without managed fields, which would only take time.
	_, own := b.fenceSecret()
	check.That(t,
		own.Annotations["helm.cattle.io/purpose"] != "" && own.Annotations["helm.cattle.io/mark"] != "" &&
			own.ManagedFields == nil, "the operator's own Secret is %+v", own)
	helm := b.Helm(kit.Shared.Helm3(), "list", "--all", "--all-namespaces", "--short")
	check.That(t, !strings.Contains(helm, proof.FenceSuffix) && strings.Contains(helm, "app"), "Helm lists %q", helm)
}

// sixtyMore are enough objects for as many drifts without a repetition, so that none waits for a cool-down.
const sixtyMore = oneValue + `
{{ range until 60 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "base-{{ . }}"}
data: {value: always}
{{ end }}
`

// Helm upgrades while the watch of records is held, and drifts in quick succession make the operator write fences.
// Its view of the records is old, and so it takes Helm's own writes for drift. A fence that was written, and not
// observed, proves nothing.
func TestI1_UpgradeBehindAHeldWatchOfRecords(t *testing.T) {
	for name, refuse := range map[string]bool{"fences are written": false, "fences are refused": true} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			if refuse {
				b.refuseFences()
			}
			chart := b.installed(kit.Shared.Helm4(), sixtyMore, "one")
			b.Proxy.Reset()
			records := b.Proxy.HoldWatch(cluster.ForResource("secrets"))
			b.Helm(kit.Shared.Helm4(), "upgrade", "app", chart, "--set", "value=two")
			before := b.lists()
			drifts := 0
			for written, refused := 0, 0; written+refused == 0; written, refused = b.fences() {
				check.Must(t, drifts != 60, "no fence after %d drifts in quick succession", drifts)
				b.Patch(kit.ConfigMaps, fmt.Sprintf("base-%d", drifts), `{"data":{"value":"tampered"}}`)
				drifts++
			}
			last := fmt.Sprintf("base-%d", drifts-1)
			b.Until("the operator lists after a fence that it does not see", func() (any, bool) {
				got := b.lists()
				return fmt.Sprintf("%d lists, %d before", got, before), got >= before+3
			})
			b.stays("two")
			b.wantValue(last, "tampered")
			b.wantNoWrites()
			records()
			b.waitValue(last, "always")
			b.WaitReady("app", 2)
			b.wantValue("app", "two")
			written, refused := b.fences()
			check.That(t, written+refused == 1,
				"%d fences were written and %d refused, want that the first that fails ends them for a while", written, refused)
		})
	}
}

// An operator whose watch of records is late lists instead, and continues to revert.
func TestMarkThatIsNotSeenKeepsNothingFromBeingReverted(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm4(), oneValue, "one")
	b.Proxy.Reset()
	defer b.Proxy.HoldWatch(cluster.ForResource("secrets"))()
	b.hammeredUntilFenced(1)
	more := 0
	b.hammered("three drifts more", func(int) bool { more++; return more > 3 })
	written, _ := b.fences()
	check.That(t, written == 1, "%d fences were written, want that the first that is not seen ends them for a while",
		written)
}

// refuseFences has the API server refuse all fences from now on.
func (b *fixture) refuseFences() {
	b.Proxy.On(isFence, cluster.Fail(http.StatusForbidden, "on purpose"))
}

// An operator without the right to write its Secret is as safe, only slower.
func TestI1_MarkThatIsRefused(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm4(), oneValue, "one")
	b.refuseFences()
	b.Proxy.Reset()
	b.hammered("a fence is tried", func(int) bool {
		_, refused := b.fences()
		return refused > 0
	})
	more := 0
	b.hammered("five drifts more", func(int) bool { more++; return more > 5 })
	_, refused := b.fences()
	check.That(t, refused == 1, "%d fences were tried, want that the first refusal ends them for a while", refused)
	b.WaitReady("app", 1)
}

// The next fence restores any change of another user in the Secret for fences.
func TestSecretForMarksIsPutRight(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm4(), oneValue, "one")
	b.Proxy.Reset()
	b.hammeredUntilFenced(2)
	name, _ := b.fenceSecret()
	secrets := b.Kube.CoreV1().Secrets(b.Operator)
	for what, tamper := range map[string]func() error{
		"deleted": func() error { return secrets.Delete(b.Ctx, name, metav1.DeleteOptions{}) },
		"without label and annotations": func() error {
			_, err := secrets.Patch(b.Ctx, name, types.MergePatchType,
				[]byte(`{"metadata":{"labels":null,"annotations":null}}`), metav1.PatchOptions{})
			return err
		},
	} {
		err := tamper()
		check.Must(t, err == nil, "%s: %v", what, err)
		b.hammeredUntilFenced(3) // one that is not seen would be the last for a minute
		_, own := b.fenceSecret()
		check.That(t, own.Labels["owner"] == "helm-locker", "%s: the Secret has labels %v", what, own.Labels)
	}
}
