//go:build linux

package node

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The certificate of the guard is replaced while requests run: none fails or waits, and people are denied again.
func TestNode_TheCertificateOfTheGuardRotates(t *testing.T) {
	f := newFixture(t)
	f.guarded("replicas: 2")
	f.denies()
	requests := f.begin()
	secrets := f.In(kit.Secrets, f.Operator)
	const name = "helm-locker-guard"
	before, err := secrets.Get(f.Ctx, name, metav1.GetOptions{})
	check.NoError(t, err)
	check.NoError(t, secrets.Delete(f.Ctx, name, metav1.DeleteOptions{}))
	f.within(patience, "there is another certificate", func() error {
		now, err := secrets.Get(f.Ctx, name, metav1.GetOptions{})
		if err == nil && now.GetUID() == before.GetUID() {
			err = errors.New("it is the same")
		}
		return err
	})
	denied, _ := requests.seen()
	f.within(patience, "changes are denied", func() error {
		if now, _ := requests.seen(); now < denied+20 {
			return fmt.Errorf("%d were denied", now-denied)
		}
		return nil
	})
	requests.expect(t, slack)
}
