package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// program is one binary provided by Build.
type program struct {
	// name is the path below the cache directory. Its base name is upstream's name of the program, because Kubernetes
	// and Helm derive their field managers and user agents from it.
	name string
	// module is the folder below tests/controlplane whose go.mod pins the dependencies.
	module string
	// pkg is the main package to build.
	pkg string
	// versionOf is a module; its version in go.mod is linked into versionVar.
	versionOf  string
	versionVar string
	// takes is how long the build takes on two cores when nothing of it is compiled.
	takes time.Duration
	path  func(*Binaries) *string
}

const kubeVersionVar = "k8s.io/component-base/version.gitVersion"

// kubernetesVariable selects the minor version of Kubernetes ("1.30") of the API server and the controller manager.
// They are built from the module of that version below tests/controlplane. The default is the newest version. etcd
// and kubectl are the same with all versions.
const kubernetesVariable = "HELM_LOCKER_KUBERNETES"

// helmVariable is olderHelm for the older versions of Helm 3 and Helm 4. Their modules are below those of the newest
// versions.
const (
	helmVariable = "HELM_LOCKER_HELM"
	olderHelm    = "older"
)

// kubernetesModule returns the module of the control plane, "" for the newest version.
func kubernetesModule(source string) (string, error) {
	version := os.Getenv(kubernetesVariable)
	if version == "" {
		return "", nil
	}
	module := "v" + version
	if strings.ContainsAny(version, `/\`) || !isFile(filepath.Join(source, module, "go.mod")) {
		known, err := filepath.Glob(filepath.Join(source, "v*", "go.mod"))
		if err != nil {
			return "", fmt.Errorf("find the versions of Kubernetes: %w", err)
		}
		var versions []string
		for _, path := range known {
			versions = append(versions, filepath.Base(filepath.Dir(path))[1:])
		}
		return "", fmt.Errorf("%s is %q: leave it out for the newest version, or choose one of %s", kubernetesVariable,
			version, strings.Join(versions, ", "))
	}
	return module, nil
}

// helmModules returns the modules of Helm 3 and Helm 4.
func helmModules() (helm3, helm4 string, err error) {
	switch version := os.Getenv(helmVariable); version {
	case "":
		return "helm3", "helm4", nil
	case olderHelm:
		return filepath.Join("helm3", olderHelm), filepath.Join("helm4", olderHelm), nil
	default:
		return "", "", fmt.Errorf("%s is %q: leave it out for the newest versions, or set it to %s", helmVariable,
			version, olderHelm)
	}
}

// kube returns a program of Kubernetes.
func kube(module, name string, takes time.Duration, path func(*Binaries) *string) program {
	return program{name: name, module: module, pkg: "k8s.io/kubernetes/cmd/" + name,
		versionOf: "k8s.io/kubernetes", versionVar: kubeVersionVar, takes: takes, path: path}
}

// nodePrograms returns the programs of a node and the scheduler. They have a module of their own, so that a change of
// it builds no control plane again.
func nodePrograms(string) ([]program, error) {
	if version := os.Getenv(kubernetesVariable); version != "" {
		return nil, fmt.Errorf("%s is %q: a node runs with the newest version only", kubernetesVariable, version)
	}
	const module = "node"
	return []program{
		kube(module, "kubelet", 90*time.Second, func(b *Binaries) *string { return &b.Kubelet }),
		kube(module, "kube-proxy", 20*time.Second, func(b *Binaries) *string { return &b.Proxy }),
		kube(module, "kube-scheduler", 20*time.Second, func(b *Binaries) *string { return &b.Scheduler }),
	}, nil
}

// Modules of the controllers and tools of BuildNeighbour. The modules below tests/controlplane/NAME require them.
const (
	RolloutsModule    = "github.com/argoproj/argo-rollouts"
	KEDAModule        = "github.com/kedacore/keda/v2"
	CertManagerModule = "github.com/cert-manager/cert-manager"
	HelmfileModule    = "github.com/helmfile/helmfile"
	VPAModule         = "k8s.io/autoscaler/vertical-pod-autoscaler"

	metricsModule        = "sigs.k8s.io/metrics-server"
	helmControllerModule = "github.com/k3s-io/helm-controller"
)

// neighbourPrograms returns controllers and tools of others. Each has a module of its own, because of its replacements.
func neighbourPrograms() []program {
	return []program{
		{name: "rollouts-controller", module: "rollouts", pkg: RolloutsModule + "/cmd/rollouts-controller",
			versionOf: RolloutsModule, takes: 3 * time.Minute, path: func(b *Binaries) *string { return &b.Rollouts }},
		{name: "cainjector", module: "cainjector", pkg: ".", versionOf: CertManagerModule, takes: time.Minute,
			path: func(b *Binaries) *string { return &b.CAInjector }},
		{name: "certmanager", module: "certmanager", pkg: ".", versionOf: CertManagerModule, takes: time.Minute,
			path: func(b *Binaries) *string { return &b.CertManager }},
		{name: "keda", module: "keda", pkg: KEDAModule + "/cmd/operator", versionOf: KEDAModule, takes: 4 * time.Minute,
			path: func(b *Binaries) *string { return &b.KEDA }},
		{name: "helmfile", module: "helmfile", pkg: HelmfileModule, versionOf: HelmfileModule, takes: 3 * time.Minute,
			path: func(b *Binaries) *string { return &b.Helmfile }},
		{name: "metrics-server", module: "metrics", pkg: metricsModule + "/cmd/metrics-server", versionOf: metricsModule,
			takes: 3 * time.Minute, path: func(b *Binaries) *string { return &b.Metrics }},
		{name: "helm-controller", module: "helmcontroller", pkg: helmControllerModule, versionOf: helmControllerModule,
			takes: time.Minute, path: func(b *Binaries) *string { return &b.HelmController }},
		vpa("updater", func(b *Binaries) *string { return &b.VPAUpdater }),
		vpa("admission-controller", func(b *Binaries) *string { return &b.VPAAdmission }),
		vpa("recommender", func(b *Binaries) *string { return &b.VPARecommender }),
	}
}

// vpa returns a program of the Vertical Pod Autoscaler.
func vpa(name string, path func(*Binaries) *string) program {
	return program{name: "vpa/" + name, module: "vpa", pkg: VPAModule + "/pkg/" + name, versionOf: VPAModule,
		takes: 30 * time.Second, path: path}
}

// programs returns the programs of a control plane and its clients, built from source, the directory
// tests/controlplane.
func programs(source string) ([]program, error) {
	kubernetes, err := kubernetesModule(source)
	if err != nil {
		return nil, err
	}
	helm3, helm4, err := helmModules()
	if err != nil {
		return nil, err
	}
	return []program{
		{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", versionOf: "go.etcd.io/etcd/server/v3",
			takes: 30 * time.Second,
			path:  func(b *Binaries) *string { return &b.Etcd }},
		kube(kubernetes, "kube-apiserver", 150*time.Second, func(b *Binaries) *string { return &b.APIServer }),
		kube(kubernetes, "kube-controller-manager", 45*time.Second,
			func(b *Binaries) *string { return &b.ControllerManager }),
		kube("", "kubectl", 20*time.Second, func(b *Binaries) *string { return &b.Kubectl }),
		{name: "helm3/helm", module: helm3, pkg: "helm.sh/helm/v3/cmd/helm", versionOf: "helm.sh/helm/v3",
			versionVar: "helm.sh/helm/v3/internal/version.version", takes: 60 * time.Second,
			path: func(b *Binaries) *string { return &b.Helm3 }},
		{name: "helm4/helm", module: helm4, pkg: "helm.sh/helm/v4/cmd/helm", versionOf: "helm.sh/helm/v4",
			versionVar: "helm.sh/helm/v4/internal/version.version", takes: 40 * time.Second,
			path: func(b *Binaries) *string { return &b.Helm4 }},
	}, nil
}

// Module returns the version and the directory of the source of a module required by one below tests/controlplane.
func Module(ctx context.Context, below, module string) (version, dir string, err error) {
	source, err := sourceDir()
	if err != nil {
		return "", "", err
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-mod=readonly", "-m", "-f", "{{.Version}} {{.Dir}}", module)
	cmd.Dir = filepath.Join(source, below)
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("find the source of %s: %w", module, err)
	}
	version, dir, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	return version, dir, nil
}

// requiredVersion reads the required version of a module from a go.mod file.
func requiredVersion(goMod, module string) (string, error) {
	content, err := os.ReadFile(goMod)
	if err != nil {
		return "", fmt.Errorf("find the version of %s: %w", module, err)
	}
	parsed, err := modfile.ParseLax(goMod, content, nil)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", goMod, err)
	}
	for _, required := range parsed.Require {
		if required.Mod.Path == module {
			return required.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", goMod, module)
}
