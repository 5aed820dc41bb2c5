package kit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// HelmSDK is Helm 3 as a library, in the program of lib/kit/helmsdk. It works on the release app of one namespace.
type HelmSDK struct {
	// requests and answers are the standard input and output of the program.
	requests io.Writer
	answers  *bufio.Scanner
}

// HelmSDK starts Helm 3 as a library for a release in a namespace. A nonempty storage names another namespace for its
// records.
func (e *Env) HelmSDK(namespace, storage string) *HelmSDK {
	e.Helper()
	// It ends with its standard input, after the context of the test. The flags equal those of helm3 for the control
	// plane, so that the compiled packages are shared.
	program := exec.CommandContext(context.WithoutCancel(e.Ctx), "go", "-C", "../lib/kit/helmsdk", "run", "-trimpath",
		"-buildvcs=false", ".",
		"-kubeconfig", e.Cluster.HelmKubeconfig(), "-namespace", namespace, "-storage", storage, "-cache", e.TempDir())
	program.Env, program.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	requests, err := program.StdinPipe()
	check.NoError(e, err)
	answers, err := program.StdoutPipe()
	check.NoError(e, err)
	check.NoError(e, program.Start())
	e.Cleanup(func() {
		if err := errors.Join(requests.Close(), program.Wait()); err != nil {
			e.Errorf("the program in tests/lib/kit/helmsdk: %v", err)
		}
	})
	return &HelmSDK{requests: requests, answers: bufio.NewScanner(answers)}
}

// Install installs a chart.
func (h *HelmSDK) Install(chart string) error { return h.do("install", chart, nil) }

// TakeOver installs a chart over existing objects, as helm install --take-ownership does.
func (h *HelmSDK) TakeOver(chart string) error { return h.do("take over", chart, nil) }

// Upgrade upgrades the release to a chart with values.
func (h *HelmSDK) Upgrade(chart string, values map[string]any) error {
	return h.do("upgrade", chart, values)
}

// Uninstall uninstalls the release.
func (h *HelmSDK) Uninstall() error { return h.do("uninstall", "", nil) }

func (h *HelmSDK) do(what, chart string, values map[string]any) error {
	request, err := json.Marshal(map[string]any{"Do": what, "Chart": chart, "Values": values})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(h.requests, "%s\n", request); err != nil {
		return fmt.Errorf("ask for an %s: %w", what, err)
	}
	if !h.answers.Scan() {
		return errors.Join(errors.New("the program in tests/lib/kit/helmsdk has ended"), h.answers.Err())
	}
	if refused := h.answers.Text(); refused != "" {
		return fmt.Errorf("%s: %s", what, refused)
	}
	return nil
}
