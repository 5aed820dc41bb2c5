package cluster

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
)

// auditPolicy records author, verb, object and result of each request, without bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// auditPolicy returns the policy of the audit log. With a recording, it adds events for the oracle and omits unused
// ones.
func (c *Cluster) auditPolicy() string {
	if c.recording == nil && c.options.AuditRules != "" {
		return strings.Replace(fmt.Sprintf(recordingPolicy, "None", "None"), "rules:\n",
			"rules:\n"+c.options.AuditRules+"- level: None\n", 1)
	}
	if c.recording == nil {
		return auditPolicy
	}
	others := "None"
	if c.options.AuditLog && c.options.AuditRules == "" {
		others = "Metadata"
	}
	return strings.Replace(fmt.Sprintf(recordingPolicy, others, others), "rules:\n", "rules:\n"+c.options.AuditRules, 1)
}

// Options selects the parts of a control plane. The zero value is an API server with etcd.
type Options struct {
	// Dir holds the cluster's files. It must be empty or missing, and Stop leaves it there. When Dir is empty, Start
	// makes a temporary directory and Stop removes it.
	Dir string
	// ControllerManager also starts kube-controller-manager: namespaces and owned objects are then really deleted,
	// Deployments get ReplicaSets and Pods, namespaces get a default ServiceAccount, and so on.
	ControllerManager bool
	// Address is another IP address of the API server, for nodes and Pods: the endpoint of the Service kubernetes.
	// Nodes have the rights of their Pods, and all of Kubernetes' controllers work.
	Address string
	// AuditLog makes the API server write one JSON event per finished request to Cluster.AuditLog.
	AuditLog bool
	// AuditRules are rules of an audit policy, as YAML. They replace the default rules, and precede those of a
	// recording.
	AuditRules string
	// ExtraAPIServerArgs are appended to the flags of kube-apiserver and win over the ones before.
	ExtraAPIServerArgs []string
	// Detach lets the cluster outlive this process; Down stops it.
	Detach bool
	// Unrecorded excludes the cluster from the recordings for the oracle: its etcd loses writes, so that there is no
	// single order for the oracle.
	Unrecorded bool
	// Demo takes the programs of BuildForDemo.
	Demo bool
	// Log receives the progress of Build (nil discards).
	Log io.Writer
}

func (c *Cluster) etcdArgs() []string {
	client, peer := "https://"+c.etcdPort.address(), "http://"+c.peerPort.address()
	return []string{
		"--name=default",
		"--data-dir=" + filepath.Join(c.dir, "etcd"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		// TLS is here for identity: no other test's API server can end up in this etcd.
		"--client-cert-auth", "--trusted-ca-file=" + c.file("ca.crt"),
		"--cert-file=" + c.file("server.crt"), "--key-file=" + c.file("server.key"),
		"--socket-reuse-port",
		// The data dies with the cluster, so nothing needs to survive a power cut.
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (c *Cluster) apiServerArgs(s *APIServer) []string {
	args := []string{
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", s.port.number), "--permit-port-sharing",
		"--etcd-servers=https://" + s.etcd, "--etcd-cafile=" + c.file("ca.crt"),
		"--etcd-certfile=" + c.file("etcd-client.crt"), "--etcd-keyfile=" + c.file("etcd-client.key"),
		"--tls-cert-file=" + c.file("server.crt"), "--tls-private-key-file=" + c.file("server.key"),
		"--cert-dir=" + c.dir,
		"--client-ca-file=" + c.file("ca.crt"),
		// Proxy authenticates with these on behalf of its clients.
		"--requestheader-client-ca-file=" + c.file("ca.crt"), "--requestheader-allowed-names=" + proxyUser,
		"--requestheader-username-headers=" + userHeader, "--requestheader-group-headers=" + groupHeader,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + c.file("tokens.key"),
		"--service-account-key-file=" + c.file("tokens.key"),
		"--authorization-mode=" + c.authorizers(),
		"--service-cluster-ip-range=10.96.0.0/16",
		// There is no route to the kubernetes Service; its reconciler would only complain about a loopback address.
		"--endpoint-reconciler-type=none",
		"--allow-privileged",
		// Tests are to measure us, not the throttling of one small API server.
		"--max-requests-inflight=3000", "--max-mutating-requests-inflight=1500",
		"--profiling=false",
	}
	if c.options.AuditLog || c.recording != nil {
		// Blocking: when a client has its answer, the event is in the file. One file, however long the run is.
		args = append(args, "--audit-policy-file="+c.file("audit-policy.yaml"), "--audit-log-path="+c.AuditLog(),
			"--audit-log-mode=blocking", "--audit-log-format=json", "--audit-log-maxsize=100000")
	}
	if c.recording != nil {
		args = append(args, "--storage-media-type=application/json") // readable in etcd
	}
	if c.options.Address != "" {
		args = append(args, "--bind-address=0.0.0.0", "--advertise-address="+c.options.Address,
			"--endpoint-reconciler-type=lease",
			"--enable-admission-plugins=NodeRestriction", "--kubelet-preferred-address-types=InternalIP",
			"--kubelet-client-certificate="+c.file("kubelet-client.crt"),
			"--kubelet-client-key="+c.file("kubelet-client.key"))
	}
	return append(append(args, c.options.ExtraAPIServerArgs...), s.args...)
}

func (c *Cluster) authorizers() string {
	if c.options.Address != "" {
		return "Node,RBAC"
	}
	return "RBAC"
}

// serviceAddress is the address of the Service kubernetes, the first one of --service-cluster-ip-range.
const serviceAddress = "10.96.0.1"

// addresses returns the addresses of the API server beside loopback.
func (c *Cluster) addresses() []net.IP {
	if c.options.Address == "" {
		return nil
	}
	return []net.IP{net.ParseIP(c.options.Address), net.ParseIP(serviceAddress)}
}

func (c *Cluster) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + c.file("controller-manager.kubeconfig"),
		"--authentication-kubeconfig=", "--authorization-kubeconfig=",
		"--secure-port=0",
		"--leader-elect=false",
		// Each controller acts under its own ServiceAccount, with the default roles, as in a real cluster.
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + c.file("tokens.key"),
		"--root-ca-file=" + c.file("ca.crt"),
		"--controllers=" + strings.Join(c.controllers(), ","),
		"--horizontal-pod-autoscaler-sync-period=1s",
		// The default of 20 requests per second would take seconds to set the ServiceAccounts up.
		"--kube-api-qps=1000", "--kube-api-burst=1000",
		"--profiling=false",
	}
}

// controllers returns the controllers for the objects of charts. Without nodes, the others (nodes, volumes,
// certificates, devices) would only watch, and take time to start.
func (c *Cluster) controllers() []string {
	if c.options.Address != "" {
		return []string{"*"}
	}
	return []string{
		"namespace-controller", "serviceaccount-controller", "serviceaccount-token-controller",
		"root-ca-certificate-publisher-controller", "clusterrole-aggregation-controller",
		"garbage-collector-controller", "resourcequota-controller",
		"deployment-controller", "replicaset-controller", "replicationcontroller-controller",
		"statefulset-controller", "daemonset-controller", "job-controller", "cronjob-controller",
		"ttl-after-finished-controller", "horizontal-pod-autoscaler-controller", "disruption-controller",
		"endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller",
		"persistentvolumeclaim-protection-controller",
	}
}
