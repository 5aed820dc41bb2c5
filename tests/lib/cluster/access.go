package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Binaries returns the paths of the control plane's programs and of the clients.
func (c *Cluster) Binaries() Binaries { return c.binaries }

// Dir returns the directory of the cluster's files: logs (<program>.log), kubeconfigs, etcd's data.
func (c *Cluster) Dir() string { return c.dir }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.file("kubeconfig") }

// AuditLog returns the path of the audit log. The log exists only with Options.AuditLog.
func (c *Cluster) AuditLog() string {
	if c.recording != nil {
		return filepath.Join(c.recording.dir, "audit.log")
	}
	return c.file("audit.log")
}

// Users with all rights. A recording distinguishes them from the administrator.
const (
	// HelmUser is the user of Helm3 and Helm4.
	HelmUser = "helm"
	// OperatorsGroup is the group of operators. A ServiceAccount is known by its user agent.
	OperatorsGroup = "helm-locker-test:operators"
)

// OperatorConfig returns a configuration for the operator of a namespace.
func (c *Cluster) OperatorConfig(namespace string) (*rest.Config, error) {
	return c.UserConfig("helm-locker:"+namespace, "system:masters", OperatorsGroup)
}

// HelmConfig returns a new configuration for HelmUser.
func (c *Cluster) HelmConfig() *rest.Config { return c.config(c.credentials.helm) }

// HelmKubeconfig returns the path of the kubeconfig of HelmUser.
func (c *Cluster) HelmKubeconfig() string { return c.file("helm.kubeconfig") }

// RESTConfig returns a new configuration for the administrator, without client-side rate limiting.
func (c *Cluster) RESTConfig() *rest.Config { return c.config(c.credentials.admin) }

// UserConfig returns a configuration that authenticates as a user with groups, by a client certificate. The user has
// only the rights granted by RBAC.
func (c *Cluster) UserConfig(user string, groups ...string) (*rest.Config, error) {
	pair, err := c.credentials.authority.client(user, groups...)
	if err != nil {
		return nil, err
	}
	return c.config(pair), nil
}

// ServiceAccountConfig requests a token of an existing ServiceAccount, valid for an hour, and returns a configuration
// with that token.
func (c *Cluster) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	request, err := client.CoreV1().ServiceAccounts(namespace).
		CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("request a token of %s/%s: %w", namespace, name, err)
	}
	config := c.config(keyPair{})
	config.BearerToken = request.Status.Token
	return config, nil
}

// KubeconfigFor writes a configuration of this cluster or of one of its proxies to a kubeconfig in the cluster's
// directory and returns the file's path. The name is the base name of the file; one written before is replaced.
func (c *Cluster) KubeconfigFor(name string, config *rest.Config) (string, error) {
	path := c.file(name + ".kubeconfig")
	return path, writeKubeconfig(path, config)
}

// config returns a configuration for the API server with a client certificate, or none when the pair is empty.
func (c *Cluster) config(pair keyPair) *rest.Config {
	return &rest.Config{
		Host: "https://" + c.address(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.credentials.authority.pem,
			CertData: pair.cert,
			KeyData:  pair.key,
		},
		QPS: -1,
	}
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

func writeKubeconfig(path string, config *rest.Config) error {
	const name = "helm-locker-test"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: config.Host,
			CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return fmt.Errorf("encode a kubeconfig: %w", err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	return nil
}
