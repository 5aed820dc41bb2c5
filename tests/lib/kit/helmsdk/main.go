// Command helmsdk installs, upgrades and uninstalls the release app with the library of Helm 3, as Flux does, in
// milliseconds where a command takes a second. It is a separate module, so that the operator's module does not
// require its dependencies.
//
// Its standard input has requests (see request) as JSON, one a line. It answers each with a line: empty, or the error
// as JSON text.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
)

// releaseName is the name of the only release.
const releaseName = "app"

// request is an action ("install", "take over", "upgrade", "uninstall") with its chart and values.
type request struct {
	Do, Chart string
	Values    map[string]any
}

// library is Helm's library for one namespace.
type library struct {
	config    *action.Configuration
	namespace string
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	namespace := flag.String("namespace", "", "the namespace of the release")
	storage := flag.String("storage", "", "the namespace of its records")
	cache := flag.String("cache", "", "a directory for what discovery finds")
	flag.Parse()
	// Helm's library derives its field manager from the program name, here helmsdk.
	kube.ManagedFieldsManager = "helm"
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Namespace, flags.CacheDir = kubeconfig, namespace, cache
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.QPS = -1
		return config
	}
	l := library{config: &action.Configuration{}, namespace: *namespace}
	err := l.config.Init(flags, *storage, "secret", func(string, ...any) {})
	if err == nil {
		err = l.serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "helmsdk:", err)
		os.Exit(1)
	}
}

// serve answers requests until there are no more.
func (l library) serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer := []byte{}
		if err := l.answer(lines.Bytes()); err != nil {
			text, encodeErr := json.Marshal(err.Error())
			if encodeErr != nil {
				return errors.Join(err, encodeErr)
			}
			answer = text
		}
		if _, err := fmt.Fprintf(out, "%s\n", answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (l library) answer(line []byte) error {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if r.Do == "uninstall" {
		_, err := action.NewUninstall(l.config).Run(releaseName)
		return err
	}
	chart, err := loader.Load(r.Chart)
	if err != nil {
		return fmt.Errorf("load the chart: %w", err)
	}
	switch r.Do {
	case "install", "take over":
		install := action.NewInstall(l.config)
		install.ReleaseName, install.Namespace = releaseName, l.namespace
		install.TakeOwnership = r.Do == "take over"
		_, err = install.Run(chart, r.Values)
	case "upgrade":
		upgrade := action.NewUpgrade(l.config)
		upgrade.Namespace, upgrade.MaxHistory = l.namespace, 5
		// Reading the schema of all kinds would take most of the time.
		upgrade.DisableOpenAPIValidation = true
		_, err = upgrade.Run(releaseName, chart, r.Values)
	default:
		err = fmt.Errorf("%q is nothing that can be done", r.Do)
	}
	return err
}
