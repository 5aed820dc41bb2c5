//go:build linux

package release

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// TestBaseImagesArePinned: the Dockerfile's base images cannot change under their tags.
func TestBaseImagesArePinned(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	check.NoError(t, err)
	check.That(t, !strings.Contains(string(content), "syntax="), "a frontend is fetched, too: BuildKit's own one will do")
	bases := regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+)`).FindAllStringSubmatch(string(content), -1)
	check.Must(t, len(bases) == 2, "the stages are %v", bases)
	pinned := regexp.MustCompile(`^\S+:\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$`)
	for _, base := range bases {
		if base[1] != "scratch" && !pinned.MatchString(base[1]) {
			t.Errorf("%s has no tag of a patch version and digest", base[1])
		}
	}
}

// TestImageTrustsPublicAuthorities: the bundle has Go's default path, and contains the authorities of most of the
// web's certificates.
func TestImageTrustsPublicAuthorities(t *testing.T) {
	need(t)
	rest := unpack(t, readImage(t).layer)["etc/ssl/certs/ca-certificates.crt"]
	names := map[string]bool{}
	for block, more := pem.Decode(rest); block != nil; block, more = pem.Decode(more) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		check.NoError(t, err)
		check.That(t, certificate.IsCA, "%s is no authority", certificate.Subject)
		names[certificate.Subject.CommonName] = true
	}
	for _, name := range []string{"ISRG Root X1", "DigiCert Global Root G2", "GTS Root R1"} {
		check.That(t, names[name], "%s is not among the %d authorities", name, len(names))
	}
}

// TestImageReachesHTTPSReceivers: the program in the image trusts the image's bundle, without a flag. The receiver's
// authority is added to the bundle, as no public receiver can be called from here.
func TestImageReachesHTTPSReceivers(t *testing.T) {
	need(t)
	if os.Getuid() != 0 {
		t.Skip("not root: the program would read this machine's bundle instead of the image's")
	}
	received := make(chan struct{}, 1)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case received <- struct{}{}:
		default:
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)

	i := readImage(t)
	dir := i.extract(t)
	bundle := filepath.Join(dir, "etc/ssl/certs/ca-certificates.crt")
	content, err := os.ReadFile(bundle)
	check.NoError(t, err)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	check.NoError(t, os.WriteFile(bundle, append(content, authority...), 0o644))
	e := runOperator(t, i, dir, "--metrics-address", "127.0.0.1:0", "--events")
	kubeconfig, err := shared.KubeconfigFor(e.Operator+"-notifier", e.Reader("notifier"))
	check.NoError(t, err)
	i.run(t, dir, kubeconfig, "notifications", "--namespace", e.Operator, "--controller-name", e.Operator,
		"--metrics-address", "0", "--health-address", "0", "--notify-url", receiver.URL)
	select {
	case <-received:
	case <-time.After(time.Minute):
		t.Error("no notification came")
	}
}
