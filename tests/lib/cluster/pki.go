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
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
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
	template, err := certificate("helm-locker-test-ca")
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the authority: %w", err)
	}
	return &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// server issues a certificate for a server on loopback and more addresses.
func (a *authority) server(name string, addresses ...net.IP) (keyPair, error) {
	template, err := certificate(name)
	if err != nil {
		return keyPair{}, err
	}
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	template.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1)}, addresses...)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// client issues a client certificate for a user with groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	template, err := certificate(user)
	if err != nil {
		return keyPair{}, err
	}
	template.Subject.Organization = groups
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("generate the key of %s: %w", template.Subject.CommonName, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: encode("CERTIFICATE", der), key: encoded}, nil
}

// certificate returns the common fields of all certificates of a cluster.
func certificate(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("generate a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		// An hour of grace for clocks set back during a test.
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().AddDate(1, 0, 0),
	}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
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
	issue := func(into *keyPair, from func() (keyPair, error)) {
		if err == nil {
			*into, err = from()
		}
	}
	issue(&c.server, func() (keyPair, error) { return ca.server("kube-apiserver", addresses...) })
	issue(&c.admin, func() (keyPair, error) { return ca.client("admin", "system:masters") })
	issue(&c.helm, func() (keyPair, error) { return ca.client(HelmUser, "system:masters") })
	issue(&c.controllerManager, func() (keyPair, error) { return ca.client("system:kube-controller-manager") })
	issue(&c.proxy, func() (keyPair, error) { return ca.client(proxyUser) })
	issue(&c.etcd, func() (keyPair, error) { return ca.client("kube-apiserver-etcd-client") })
	issue(&c.kubelet, func() (keyPair, error) { return ca.client("kube-apiserver-kubelet-client") })
	if err != nil {
		return nil, err
	}
	tokens, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key for service account tokens: %w", err)
	}
	tokenKey, err := encodeKey(tokens)
	if err != nil {
		return nil, err
	}
	return c, errors.Join(
		writeFile(dir, "ca.crt", ca.pem),
		writeFile(dir, "server.crt", c.server.cert), writeFile(dir, "server.key", c.server.key),
		writeFile(dir, "etcd-client.crt", c.etcd.cert), writeFile(dir, "etcd-client.key", c.etcd.key),
		writeFile(dir, "kubelet-client.crt", c.kubelet.cert), writeFile(dir, "kubelet-client.key", c.kubelet.key),
		writeFile(dir, "tokens.key", tokenKey),
	)
}

func writeFile(dir, name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
