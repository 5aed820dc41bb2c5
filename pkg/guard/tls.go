package guard

import (
	"crypto/tls"
	"errors"
	"fmt"

	"k8s.io/client-go/util/cert"
)

// TLS returns the configuration to serve with. It has the newest certificate, and the newest authorities of clients,
// for each connection.
func (k *Keeper) TLS() *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if now := k.current.Load(); now != nil {
				return &now.serves, nil
			}
			return nil, errors.New("the guard has no certificate yet")
		},
	}
	if k.ClientCA == "" {
		return config
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			authorities, err := cert.NewPool(k.ClientCA)
			if err != nil {
				return nil, fmt.Errorf("authorities of API servers: %w", err)
			}
			verifying := config.Clone()
			verifying.ClientAuth, verifying.ClientCAs = tls.RequireAndVerifyClientCert, authorities
			return verifying, nil
		},
	}
}

// Path returns the URL path of the webhook; empty while there is no certificate.
func (k *Keeper) Path() string {
	if now := k.current.Load(); now != nil {
		return now.path
	}
	return ""
}
