package ha

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// One API server of three hangs: the one with the operator's connection. client-go closes the connection, and the
// leader renews its lease over another one in time. All three are the tests' own.
func TestHA_AnAPIServerOfThreeHangs(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	server := strings.TrimPrefix(kit.Shared.RESTConfig().Host, "https://")
	b, err := kit.Shared.StartBalancer(server, server, server)
	check.NoError(t, err)
	t.Cleanup(func() { check.Report(t, b.Close()) })
	config := e.OperatorConfig()
	config.Host = "https://" + b.Address()
	o := kit.StartOperator(t, config, e.Operator, elected(0)) // the default: 15 seconds
	locked(e, "app")
	reverts(e, "app", "tampered")
	before := lease(e, e.Operator)
	n := b.Hang()
	check.Must(t, n != 0 && n != 3, "%d of 3 API servers had connections", n)
	reverts(e, "app", "tampered while the API server hangs")
	after := lease(e, e.Operator)
	check.That(t,
		*before.Spec.HolderIdentity == *after.Spec.HolderIdentity &&
			*before.Spec.LeaseTransitions == *after.Spec.LeaseTransitions, "the lease went from %s to %s",
		*before.Spec.HolderIdentity, *after.Spec.HolderIdentity)
	e.WaitReady("app", 1)
	select {
	case <-o.Done():
		t.Errorf("the operator ended: %v", o.Err())
	default:
	}
}

// nginxConfig is nginx with its defaults, which buffer requests, except for the needs of a watching Kubernetes
// client: answers are forwarded at once. Each request goes to the next API server.
const nginxConfig = `
user root; daemon off; master_process off; pid nginx.pid; error_log error.log info;
events {}
http {
	access_log off;
	client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	upstream servers { %s }
	server {
		listen %s ssl http2;
		ssl_certificate %[3]s/server.crt; ssl_certificate_key %[3]s/server.key;
		%[4]s
		location / { proxy_pass https://servers; proxy_buffering off; }
	}
}
`

// nginx is a running nginx.
type nginx struct {
	*kit.Env
	dir, address string
}

// startNginx starts nginx in front of API servers, with more settings for its server. TLS ends there, so that clients
// need a token.
func startNginx(e *kit.Env, settings string, servers ...string) *nginx {
	e.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		e.Skip("needs nginx: scripts/debian nginx-light installs it")
	}
	n := &nginx{Env: e, dir: e.TempDir()}
	n.address, err = process.FreeAddress()
	check.NoError(e, err)
	var backends strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&backends, "server %s; ", s)
	}
	config := filepath.Join(n.dir, "nginx.conf")
	check.NoError(e, os.WriteFile(config, fmt.Appendf(nil, nginxConfig, backends.String(), n.address, kit.Shared.Dir(),
		settings), 0o600))
	cmd := exec.Command(program, "-p", n.dir, "-c", config)
	cmd.Stderr = os.Stderr
	check.NoError(e, cmd.Start())
	e.Cleanup(func() {
		check.Report(e, cmd.Process.Kill())
		if err := cmd.Wait(); err == nil {
			e.Error("nginx ended by itself")
		}
	})
	e.Eventually("nginx listens", func() error {
		c, err := net.Dial("tcp", n.address)
		if err != nil {
			return err
		}
		return c.Close()
	})
	return n
}

// config returns the configuration of a ServiceAccount with all rights, through nginx.
func (n *nginx) config() *rest.Config {
	n.Helper()
	config, err := kit.Shared.ServiceAccountConfig(n.Ctx, n.Operator, administrator(n.Env))
	check.NoError(n, err)
	config.Host = "https://" + n.address
	return config
}

// cuts returns how many answers nginx has broken off because nothing came of them for too long.
func (n *nginx) cuts() int {
	n.Helper()
	log, err := os.ReadFile(filepath.Join(n.dir, "error.log"))
	check.NoError(n, err)
	return strings.Count(string(log), "upstream timed out")
}

// nginx ends watches without events after a time: here after a second, by default after a minute. Changes between two
// watches are reverted.
func TestHA_NginxCutsIdleWatches(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	n := startNginx(e, "proxy_read_timeout 1s;", strings.TrimPrefix(kit.Shared.RESTConfig().Host, "https://"))
	kit.StartOperator(t, n.config(), e.Operator, elected(0)) // the default: 15 seconds
	locked(e, "app")
	for i := range 5 {
		before := n.cuts()
		e.Until("nginx breaks watches off", func() (any, bool) { return n.cuts(), n.cuts() >= before+3 })
		reverts(e, "app", fmt.Sprintf("tampered %d", i))
		old := e.Get(kit.ConfigMaps, "app").GetUID()
		e.Delete(kit.ConfigMaps, "app")
		e.WaitNewObject(kit.ConfigMaps, "app", old)
	}
	e.WaitReady("app", 1)
	t.Logf("nginx broke off %d answers", n.cuts())
}
