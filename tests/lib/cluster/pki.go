package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authority is the certificate authority of one cluster. Nothing outside the cluster trusts it.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// pem is the certificate of the authority.
	pem []byte
}

// keyPair is a PEM encoded certificate with its key.
type keyPair struct {
	cert []byte
	key  []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of the authority: %w", err)
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "helm-locker-test-ca", NotBefore: notBefore()}, key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority: %w", err)
	}
	encoded, err := cert.EncodeCertificates(ca)
	if err != nil {
		return nil, fmt.Errorf("encode the authority: %w", err)
	}
	return &authority{cert: ca, key: key, pem: encoded}, nil
}

// notBefore leaves an hour of grace for clocks set back during a test.
func notBefore() time.Time { return time.Now().Add(-time.Hour) }

// client issues a certificate for a user with groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	return a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: user, Organization: groups}})
}

// issue issues a certificate for the subject, and the addresses, of a template. It serves servers and clients.
func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("generate the key of %s: %w", template.Subject.CommonName, err)
	}
	template.NotBefore, template.NotAfter = notBefore(), time.Now().AddDate(1, 0, 0)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	encoded, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("encode the key of %s: %w", template.Subject.CommonName, err)
	}
	return keyPair{cert: pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}), key: encoded}, nil
}

// credentials are all keys and certificates of one cluster.
type credentials struct {
	authority *authority
	server    keyPair
	// admin and helm may do everything; controllerManager is the user of Kubernetes' default roles.
	admin             keyPair
	helm              keyPair
	controllerManager keyPair
	// proxy may set the identity of its requests in headers.
	proxy keyPair
	// etcd authenticates the API server, and the health check, to etcd.
	etcd keyPair
	// kubelet authenticates the API server to kubelets.
	kubelet keyPair
}

// proxyUser is the common name of the authenticating proxy that the API server accepts.
const proxyUser = "helm-locker-test-proxy"

// newCredentials generates all credentials and writes the servers' files into dir. The API server has more addresses
// than loopback.
func newCredentials(dir string, addresses ...net.IP) (*credentials, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	c := &credentials{authority: ca}
	c.server, err = ca.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: append([]net.IP{net.IPv4(127, 0, 0, 1)}, addresses...)})
	if err != nil {
		return nil, err
	}
	for _, of := range []struct {
		pair   *keyPair
		user   string
		groups []string
	}{
		{&c.admin, "admin", []string{"system:masters"}},
		{&c.helm, HelmUser, []string{"system:masters"}},
		{&c.controllerManager, "system:kube-controller-manager", nil},
		{&c.proxy, proxyUser, nil},
		{&c.etcd, "kube-apiserver-etcd-client", nil},
		{&c.kubelet, "kube-apiserver-kubelet-client", nil},
	} {
		if *of.pair, err = ca.client(of.user, of.groups...); err != nil {
			return nil, err
		}
	}
	tokens, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return nil, fmt.Errorf("generate the key for service account tokens: %w", err)
	}
	return c, errors.Join(
		writeFile(dir, "ca.crt", ca.pem),
		writeFile(dir, "server.crt", c.server.cert), writeFile(dir, "server.key", c.server.key),
		writeFile(dir, "etcd-client.crt", c.etcd.cert), writeFile(dir, "etcd-client.key", c.etcd.key),
		writeFile(dir, "kubelet-client.crt", c.kubelet.cert), writeFile(dir, "kubelet-client.key", c.kubelet.key),
		writeFile(dir, "tokens.key", tokens),
	)
}

func writeFile(dir, name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
