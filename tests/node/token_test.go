//go:build linux

package node

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// lifetime is the shortest one of a token that the API server grants. Kubelet asks for the next one after four fifths.
const lifetime = 600 * time.Second

const tokens = "/var/run/secrets/kubernetes.io/serviceaccount"

// shortTokens are values of the chart that mount tokens as usual, but for the lifetime.
const shortTokens = `
serviceAccount: {automountToken: false}
extraVolumeMounts: [{name: token, mountPath: ` + tokens + `, readOnly: true}]
extraVolumes:
- name: token
  projected:
    sources:
    - serviceAccountToken: {path: token, expirationSeconds: 600}
    - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
    - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
`

// The token of the operator expires while it works, and it goes on with the next one: with its watches, and with its
// lease, which it holds all the time.
func TestNode_TheTokenRotates(t *testing.T) {
	f := newFixture(t)
	t.Parallel()
	f.install(shared.Cluster.Helm3(), shortTokens)
	begun := time.Now()
	f.upgradeTo(shared.Cluster.Helm4(), declared)
	f.Lock("shop")
	leader := f.leader()
	pid, err := shared.PID(f.Ctx, leader.Status.ContainerStatuses[0].ContainerID)
	check.NoError(t, err)
	file := filepath.Join("/proc", strconv.Itoa(pid), "root", tokens, "token")
	first, err := os.ReadFile(file)
	check.NoError(t, err)

	requests := f.begin()
	f.within(lifetime+patience, "the first token has expired, and there is another one", func() error {
		now, err := os.ReadFile(file)
		if err == nil && bytes.Equal(now, first) || time.Since(begun) < lifetime+time.Minute {
			err = errors.New("not yet")
		}
		return err
	})
	requests.expect(t, slack)
	f.upgradeTo(shared.Cluster.Helm4(), "upgraded")
	f.Reverts("shop", "upgraded")
	count, ready := f.restarts(leader.Name)
	check.That(t, count <= 0 && ready && f.leader().Name == leader.Name,
		"the operator was restarted %d times, Ready: %v", count, ready)
}
