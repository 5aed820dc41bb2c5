package process

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestTrimTakesManagedFieldsAndNothingElse(t *testing.T) {
	hr := &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{"a": "b"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}}
	got, err := Trim(hr)
	check.That(t,
		err == nil && got == any(hr) && hr.ManagedFields == nil && hr.Name == "shop" && hr.Annotations["a"] == "b",
		"trimmed to %v, %v", got, err)
	gone := cache.DeletedFinalStateUnknown{Key: "system/shop"}
	got, err = Trim(gone)
	check.That(t, err == nil && got == any(gone), "a deletion that was missed is trimmed to %v, %v", got, err)
}

// client-go reads an authority again, every five minutes, if it comes from a file alone: that of a ServiceAccount
// changes while the process runs.
func TestTheAuthorityIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	check.NoError(t, os.WriteFile(file, nil, 0o600))
	from := clientcmdapi.NewConfig()
	from.Clusters["a"] = &clientcmdapi.Cluster{Server: "https://localhost", CertificateAuthority: file}
	from.Contexts["a"] = &clientcmdapi.Context{Cluster: "a"}
	from.CurrentContext = "a"
	count := func(next http.RoundTripper) http.RoundTripper { return next }
	config, err := Connect(clientcmd.NewDefaultClientConfig(*from, nil), count, logrus.New())
	check.NoError(t, err)
	for name, config := range map[string]*rest.Config{"watches": config, "requests": Requests(config),
		"typed": Typed(config)} {
		transport, err := config.TransportConfig()
		check.NoError(t, err)
		check.That(t, transport.TLS.CAFile == file && len(transport.TLS.CAData) == 0,
			"%s: the authority is %q, with data %q", name, transport.TLS.CAFile, transport.TLS.CAData)
	}
}

// A leader has to be able to repeat a request before it gives up.
func TestARequestAboutTheLeaseIsShort(t *testing.T) {
	config := &rest.Config{Host: "https://localhost"}
	for lease, want := range map[time.Duration]time.Duration{
		15 * time.Second: leaseTimeout, time.Hour: leaseTimeout, 3 * time.Second: time.Second,
	} {
		leases, err := Leases(config, lease)
		check.NoError(t, err)
		client, ok := leases.RESTClient().(*rest.RESTClient)
		check.Must(t, ok, "the client is a %T", leases.RESTClient())
		check.Equal(t, client.Client.Timeout, want, "with a lease of %s a request may take", lease)
	}
}
