package clitest

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// fleet is a kubeconfig with several clusters: prod-1 has a release as it is declared, prod-2 is slow and has the same
// one with drift, down does not run, and hung accepts connections and never answers.
type fleet struct {
	*fixture
	second *kit.Env
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	w := newFixture(t)
	other := cluster.ForTest(t, cluster.Options{})
	second := kit.New(t, other)
	second.Apps, second.Operator = second.Namespace(w.Apps), second.Namespace(w.Operator)
	w.Helm(kit.Shared.Helm4(), "install", "web", w.Chart("web", kit.ConfigMap("web", "one")))
	second.Helm(other.Helm4(), "install", "web", second.Chart("web", kit.ConfigMap("web", "one")))
	second.Patch(kit.ConfigMaps, "web", `{"data":{"key":"two"}}`)
	w.CreateHelmRelease("web")
	second.CreateHelmRelease("web")

	slow, err := other.StartProxy()
	check.NoError(t, err)
	slow.Intercept(func(r *http.Request) cluster.Action {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-r.Context().Done():
		}
		return cluster.Forward()
	})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	t.Cleanup(func() { check.Report(t, silent.Close()) })
	at := func(address string) *rest.Config {
		config := kit.Shared.RESTConfig()
		config.Host = "https://" + address
		return config
	}
	w.kubeconfig = writeContexts(t, map[string]*rest.Config{"prod-1": kit.Shared.RESTConfig(), "prod-2": slow.RESTConfig(),
		"down": at("127.0.0.1:1"), "hung": at(silent.Addr().String())}, map[string]string{"prod-2": w.Apps})
	return &fleet{w, second}
}

// writeContexts writes a kubeconfig with a context for each configuration, the namespaces of some, and the current
// context prod-1.
func writeContexts(t *testing.T, configs map[string]*rest.Config, namespaces map[string]string) string {
	t.Helper()
	all := clientcmdapi.NewConfig()
	all.CurrentContext = "prod-1"
	for name, config := range configs {
		all.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
		all.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData,
			ClientKeyData: config.KeyData}
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespaces[name]}
	}
	content, err := clientcmd.Write(*all)
	check.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	check.NoError(t, os.WriteFile(file, content, 0o600))
	return file
}

// hosts replaces the addresses of the clusters.
func (f *fleet) hosts(text string) string {
	config, err := clientcmd.LoadFromFile(f.kubeconfig)
	check.NoError(f, err)
	for name, c := range config.Clusters {
		text = strings.NewReplacer(c.Server, "https://"+name, strings.TrimPrefix(c.Server, "https://"), name).Replace(text)
	}
	return text
}

// cli runs the program; its output has the names of clusters in the place of their addresses.
func (f *fleet) cli(args ...string) result {
	f.Helper()
	r := f.fixture.cli(args...)
	r.stdout, r.stderr = f.hosts(r.stdout), f.hosts(r.stderr)
	return r
}

const (
	isDown = "helm-locker: context down: the cluster at https://down does not answer: dial tcp down: connect: connection refused\n"
	isHung = "helm-locker: context hung: the cluster at https://hung does not answer: "
	tryAt  = "  choose another cluster with --context, --kubeconfig or KUBECONFIG, or find out whether this one is up\n"
)
