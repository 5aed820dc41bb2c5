package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Helm runs the command line of Helm 3 or 4 against a cluster.
type Helm struct {
	// Name is "helm 3" or "helm 4".
	Name string
	// Bin is the path of the program. Its base name becomes Helm's field manager.
	Bin        string
	Kubeconfig string
	// Driver is where Helm keeps its records, HELM_DRIVER; in Secrets when it is empty.
	Driver string
	// Plugins is the directory of Helm's plugins, HELM_PLUGINS; there are none when it is empty.
	Plugins string
}

// Helm3 returns Helm 3 with all rights, as HelmUser. For a nil cluster it returns a zero Helm, and a test that asks
// for its environment is skipped.
func (c *Cluster) Helm3() Helm {
	if c == nil {
		return Helm{}
	}
	return Helm{Name: "helm 3", Bin: c.binaries.Helm3, Kubeconfig: c.HelmKubeconfig()}
}

// Helm4 is Helm3 for Helm 4.
func (c *Cluster) Helm4() Helm {
	if c == nil {
		return Helm{}
	}
	return Helm{Name: "helm 4", Bin: c.binaries.Helm4, Kubeconfig: c.HelmKubeconfig()}
}

// Run runs one Helm command and returns its standard output; a failure is an error that quotes the standard error.
// The command gets empty directories, removed afterwards: no plugins, repositories or settings of the user, and no
// environment. The end of ctx kills it.
func (h Helm) Run(ctx context.Context, args ...string) (output string, err error) {
	home, err := os.MkdirTemp("", "helm-locker-helm-")
	if err != nil {
		return "", fmt.Errorf("create Helm's directories: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()

	if len(args) > 0 && (args[0] == "install" || args[0] == "upgrade") {
		// Helm's own validation by the API server's schema changes nothing that Helm stores or sends, and takes more
		// than half of its time.
		args = append(slices.Clone(args), "--disable-openapi-validation")
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, h.Bin, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = h.Environment(home)
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err,
			strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// Environment returns the whole environment of a Helm command, or of a tool with Helm, with its directories below home.
func (h Helm) Environment(home string) []string {
	return append(environment(home), "KUBECONFIG="+h.Kubeconfig,
		"HELM_CACHE_HOME="+filepath.Join(home, "cache"),
		"HELM_CONFIG_HOME="+filepath.Join(home, "config"),
		"HELM_DATA_HOME="+filepath.Join(home, "data"), "HELM_DRIVER="+h.Driver,
		"HELM_PLUGINS="+cmp.Or(h.Plugins, filepath.Join(home, "data", "plugins")))
}

// Chart writes a chart into dir/name, replacing an existing one, and returns its path. Templates maps file names
// below templates/ to their content; values is the content of values.yaml.
func Chart(dir, name, version string, templates map[string]string, values string) (string, error) {
	path := filepath.Join(dir, name)
	if err := os.RemoveAll(path); err != nil {
		return "", fmt.Errorf("remove the former chart: %w", err)
	}
	metadata, err := yaml.Marshal(map[string]string{"apiVersion": "v2", "name": name, "version": version,
		"type": "application"})
	if err != nil {
		return "", fmt.Errorf("encode Chart.yaml: %w", err)
	}
	files := map[string]string{"Chart.yaml": string(metadata), "values.yaml": values}
	for file, content := range templates {
		files[filepath.Join("templates", file)] = content
	}
	for file, content := range files {
		target := filepath.Join(path, file)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return "", fmt.Errorf("create the chart: %w", err)
		}
		if err := os.WriteFile(target, []byte(content), 0o644); err != nil {
			return "", fmt.Errorf("write the chart: %w", err)
		}
	}
	return path, nil
}
