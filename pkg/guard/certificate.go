package guard

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
)

// caKey is the key of the authority in a Secret with a certificate, as cert-manager has it, too.
const caKey = "ca.crt"

// lifetime is how long a certificate of our own is valid.
const lifetime = 365 * 24 * time.Hour

// certificate is the content of the guard's Secret.
type certificate struct {
	serves tls.Certificate
	// bundle has the authorities that the API server trusts.
	bundle []byte
	// path is the URL path of the webhook: the uid of the Secret. Only users with access to the Secret or the
	// registration know it. It outlives a renewal of the certificate.
	path string
}

// readCertificate reads a Secret. It returns an error if the certificate is not valid for host at the time now.
func readCertificate(secret *corev1.Secret, host string, now time.Time) (*certificate, error) {
	if secret == nil {
		return nil, errors.New("there is no Secret with a certificate yet")
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("the certificate in Secret %s: %w", secret.Name, err)
	}
	if err := pair.Leaf.VerifyHostname(host); err != nil {
		return nil, fmt.Errorf("the certificate in Secret %s: %w", secret.Name, err)
	}
	if now.Before(pair.Leaf.NotBefore) || now.After(pair.Leaf.NotAfter) {
		return nil, fmt.Errorf("the certificate in Secret %s is valid from %s to %s", secret.Name,
			pair.Leaf.NotBefore.UTC().Format(time.RFC3339), pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	bundle := secret.Data[caKey]
	if _, err := cert.ParseCertsPEM(bundle); err != nil {
		return nil, fmt.Errorf("%s in Secret %s: %w", caKey, secret.Name, err)
	}
	return &certificate{serves: pair, bundle: bundle, path: "/guard/" + string(secret.UID)}, nil
}

// renewAt is when a certificate is to be renewed: after two thirds of its life.
func (c *certificate) renewAt() time.Time {
	leaf := c.serves.Leaf
	return leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) * 2 / 3)
}

// covers reports whether the certificate is valid for all hosts.
func (c *certificate) covers(hosts ...string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool { return c.serves.Leaf.VerifyHostname(host) != nil })
}

// newCertificate returns the data of a Secret with a new certificate for a host and further names. Replicas may serve
// the old certificate for a moment longer, so its authority stays in the bundle.
func newCertificate(host string, names []string, old *corev1.Secret) (map[string][]byte, error) {
	options := cert.SelfSignedCertKeyOptions{Host: host, AlternateDNS: names, MaxAge: lifetime}
	if ip := net.ParseIP(host); ip != nil {
		options.AlternateIPs = []net.IP{ip}
	}
	chain, key, err := cert.GenerateSelfSignedCertKeyWithOptions(options)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", host, err)
	}
	leaf, authority := pem.Decode(chain)
	if leaf == nil || len(bytes.TrimSpace(authority)) == 0 {
		return nil, errors.New("make a certificate: there is no authority with it")
	}
	bundle := bytes.Clone(authority)
	if old != nil {
		if known, _ := pem.Decode(old.Data[caKey]); known != nil { // the newest one comes first
			if _, err := x509.ParseCertificate(known.Bytes); err == nil {
				bundle = append(bundle, pem.EncodeToMemory(known)...)
			}
		}
	}
	return map[string][]byte{corev1.TLSCertKey: chain, corev1.TLSPrivateKeyKey: key, caKey: bundle}, nil
}
