package clitest

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// fleet is a kubeconfig with several clusters: prod-1 has a release as it is declared, prod-2 is slow and has the same
// one with drift, down has stopped, and hung accepts connections and never answers.
type fleet struct {
	*fixture
	second *kit.Env
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	w := newFixture(t)
	other := cluster.ForTest(t, cluster.Options{})
	stopped := cluster.ForTest(t, cluster.Options{})
	second := kit.New(t, other)
	for _, namespace := range []string{w.Apps, w.Operator} {
		_, err := second.Kube.CoreV1().Namespaces().Create(w.Ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		check.NoError(t, err)
	}
	second.Apps, second.Operator = w.Apps, w.Operator
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
	check.NoError(t, stopped.StopAPIServer())
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	t.Cleanup(func() { check.Report(t, silent.Close()) })
	hung := stopped.RESTConfig()
	hung.Host = "https://" + silent.Addr().String()
	w.kubeconfig = writeContexts(t, map[string]*rest.Config{"prod-1": kit.Shared.RESTConfig(), "prod-2": slow.RESTConfig(),
		"down": stopped.RESTConfig(), "hung": hung}, map[string]string{"prod-2": w.Apps})
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
