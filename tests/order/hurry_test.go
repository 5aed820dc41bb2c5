package order

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/tests/cluster"
	"github.com/rancher/helm-locker/tests/kit"
)

// isNudge matches the writes that make the API server answer a check sooner.
func isNudge(r *http.Request) bool {
	return cluster.ForResource("secrets", http.MethodPatch)(r) && strings.HasSuffix(r.URL.Path, enforce.NudgeSuffix)
}

// hammered tampers with a ConfigMap again and again, each time as soon as it is restored, until enough says so.
func (b *bench) hammered(enough func(times int) bool) (times int) {
	b.Helper()
	for times = 0; !enough(times); times++ {
		b.tamper(kit.ConfigMaps, "app", types.MergePatchType, fmt.Sprintf(`{"data":{"value":"tampered %d"}}`, times))
		b.waitValue("app", "one")
	}
	return times
}

// nudges returns how many nudges were answered with a code.
func (b *bench) nudges(code int) (n int) {
	for _, r := range b.proxy.Writes() {
		if kit.IsNudge(r) && r.Code == code {
			n++
		}
	}
	return n
}

// Whoever changes an object again and again has the record read in quick succession. Each of these reads is hurried, and
// none is left out: a write of the operator's comes after a read of its own.
func TestI1_ChecksInQuickSuccession(t *testing.T) {
	b := newBench(t, enforce.Omit{})
	b.installed(shared.Helm3(), oneValue, "one")
	b.proxy.Reset()
	const atMost = 500 // the load of the machine may keep the operator from reading within a tenth of a second
	b.hammered(func(times int) bool {
		return b.nudges(http.StatusOK)+b.nudges(http.StatusCreated) >= 3 || times == atMost
	})
	read := 0
	for _, r := range b.proxy.Requests() {
		switch {
		case r.Method == http.MethodGet && r.Resource() == "secrets" && strings.Contains(r.Query.Get("labelSelector"), "name=app"):
			read++
		case r.Method == http.MethodPatch && r.Resource() == "configmaps":
			if read == 0 {
				t.Errorf("written without a read of the record since the write before: %s", r)
			}
			read = 0
		}
	}
	own, err := b.Kube.CoreV1().Secrets(b.Operator).Get(b.Ctx, b.Operator+enforce.NudgeSuffix, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("no check was hurried: %v", err)
	}
	if len(own.Data) > 0 || own.Annotations["helm.cattle.io/purpose"] == "" {
		t.Errorf("the operator's own Secret is %+v", own)
	}
}

// An operator that may not write to its Secret is as safe, only slower.
func TestNudgeThatIsRefusedKeepsNothingFromBeingReverted(t *testing.T) {
	b := newBench(t, enforce.Omit{})
	b.installed(shared.Helm4(), oneValue, "one")
	b.proxy.Intercept(func(r *http.Request) cluster.Action {
		if isNudge(r) {
			return cluster.Fail(http.StatusForbidden, metav1.StatusReasonForbidden, "on purpose")
		}
		return cluster.Forward()
	})
	b.proxy.Reset()
	b.hammered(func(times int) bool { return times >= 5 && (b.nudges(http.StatusForbidden) > 0 || times == 100) })
	if refused := b.nudges(http.StatusForbidden); refused != 1 {
		t.Errorf("%d nudges were tried, want that the first refusal ends them for a while", refused)
	}
	b.WaitReady("app", 1)
}
