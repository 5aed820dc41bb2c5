//go:build linux

package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// socket is the address of containerd.
const socket = root + "/containerd.sock"

// containerdConfig needs the version 2 of the format, which every containerd since 1.3 reads.
const containerdConfig = `version = 2
root = "ROOT/containerd"
state = "ROOT/containerd-state"
[grpc]
address = "SOCKET"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "IMAGE"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "PLUGINS"
conf_dir = "ROOT/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
`

// writeConfiguration writes the configuration files of the node's programs; certificates are in the directory of the
// control plane.
func writeConfiguration(group, controlPlane string) error {
	names := strings.NewReplacer("ROOT", root, "SOCKET", socket, "IMAGE", Workload, "PLUGINS", plugins)
	err := os.WriteFile(filepath.Join(root, "containerd.toml"), []byte(names.Replace(containerdConfig)), 0o600)
	network := map[string]any{"cniVersion": "0.4.0", "name": "pods", "plugins": []any{
		map[string]any{"type": "bridge", "bridge": bridge, "isGateway": true, "hairpinMode": true, "ipam": map[string]any{
			"type": "host-local", "dataDir": filepath.Join(root, "ipam"),
			"ranges": []any{[]any{map[string]any{"subnet": pods, "gateway": Address, "rangeStart": "10.100.1.1"}}},
			"routes": []any{map[string]any{"dst": "0.0.0.0/0"}}}},
		map[string]any{"type": "portmap", "capabilities": map[string]any{"portMappings": true}}}}
	proxy := map[string]any{"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
		"mode": "iptables", "clusterCIDR": pods, "hostnameOverride": Name, "bindAddress": Address,
		"healthzBindAddress": "127.0.0.1:10256", "metricsBindAddress": "127.0.0.1:10249",
		"clientConnection": map[string]any{"kubeconfig": filepath.Join(controlPlane, "kube-proxy.kubeconfig")},
		// They are of the whole machine.
		"conntrack": map[string]any{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}}
	kubelet := map[string]any{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"failCgroupV1": false, "cgroupDriver": "cgroupfs", "cgroupRoot": "/" + group, "enforceNodeAllocatable": []any{},
		// The disk is that of the machine; other work may fill it.
		"evictionHard": map[string]any{"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%",
			"nodefs.inodesFree": "1%", "imagefs.inodesFree": "1%"},
		"imageGCHighThresholdPercent": 100, "failSwapOn": false,
		"authentication": map[string]any{"anonymous": map[string]any{"enabled": false},
			"webhook": map[string]any{"enabled": false},
			"x509":    map[string]any{"clientCAFile": filepath.Join(controlPlane, "ca.crt")}},
		"authorization":            map[string]any{"mode": "AlwaysAllow"},
		"containerRuntimeEndpoint": "unix://" + socket, "resolvConf": "",
		"volumePluginDir": filepath.Join(root, "volume-plugins"), "nodeStatusUpdateFrequency": "2s"}
	errs := []error{err}
	for name, content := range map[string]any{"cni/pods.conflist": network, "kube-proxy.yaml": proxy,
		"kubelet.yaml": kubelet} {
		encoded, err := json.Marshal(content)
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		errs = append(errs, os.WriteFile(filepath.Join(root, name), encoded, 0o600))
	}
	return errors.Join(errs...)
}
