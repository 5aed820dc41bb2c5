package fidelity

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// kubectl runs kubectl in Apps, with input and in an environment of its own.
func (w *fixture) kubectl(input string, environment []string, args ...string) {
	w.Helper()
	cmd := exec.CommandContext(w.Ctx, w.Cluster.Binaries().Kubectl, append(args, "--namespace", w.Apps)...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.TempDir(), "KUBECONFIG=" + kit.Shared.Kubeconfig()},
		environment...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		w.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, &output)
	}
}

// Usual changes by kubectl are reverted; additions beside declared fields stay.
func TestMoments_Kubectl(t *testing.T) {
	editor := filepath.Join(t.TempDir(), "editor")
	check.NoError(t, os.WriteFile(editor, []byte("#!/bin/sh\nsed -i s/main:1/evil:1/ \"$1\"\n"), 0o700))
	replacement := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"plain"},"data":{"other":"evil"}}`
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.locked(helm)
		for _, e := range []struct {
			name, object, input string
			args                []string
			// adds is set when something beside the declared fields stays.
			adds bool
		}{
			{name: "set image", object: "deployments/web", args: []string{"set", "image", "deployment/web", "main=evil:1"}},
			{name: "set env", object: "deployments/web", args: []string{"set", "env", "deployment/web", "EVIL=yes"}, adds: true},
			{name: "scale", object: "deployments/web", args: []string{"scale", "deployment/web", "--replicas=1"}},
			{name: "edit", object: "deployments/web", args: []string{"edit", "deployment/web"}},
			{name: "rollout restart", object: "deployments/web",
				args: []string{"rollout", "restart", "deployment/web"}, adds: true},
			{name: "label", object: "deployments/web",
				args: []string{"label", "deployment/web", "--overwrite", "app.kubernetes.io/managed-by=me"}},
			{name: "annotate", object: "configmaps/plain",
				args: []string{"annotate", "configmap/plain", "--overwrite", "note=evil", "meta.helm.sh/release-name-"}},
			{name: "replace", object: "configmaps/plain", input: replacement, args: []string{"replace", "-f", "-"}, adds: true},
			{name: "patch", object: "configmaps/plain",
				args: []string{"patch", "configmap/plain", "-p", `{"data":{"$patch":"replace","other":"evil"}}`},
				adds: true},
			{name: "apply on the server", object: "configmaps/plain",
				input: strings.ReplaceAll(replacement, "other", "key"),
				args:  []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}, adds: true},
			{name: "apply", object: "configmaps/plain", input: strings.ReplaceAll(replacement, "other", "key"),
				args: []string{"apply", "-f", "-"},
				adds: true},
		} {
			t.Run(e.name, func(t *testing.T) {
				o := w.on(t).target(&shape{object: e.object})
				before := o.asLeft(o.live())
				o.kubectl(e.input, []string{"KUBE_EDITOR=" + editor}, e.args...)
				if !e.adds {
					o.comes(before)
					return
				}
				o.Eventually("what is declared is back", func() error { return o.hasAll(before) })
			})
		}
		w.upgraded(helm, chart, "note=second")
	})
}

// hasAll returns an error unless the object has all its earlier fields, and those owned by Helm.
func (o *target) hasAll(before map[string]any) error {
	now := o.asLeft(o.live())
	had, has := before[ownership].(map[string]any), now[ownership].(map[string]any)
	for owner := range had {
		if strings.HasPrefix(owner, "helm ") {
			if err := kit.Difference(had[owner], has[owner], "/"+ownership+"/"+owner+"/", surplus); err != nil {
				return err
			}
		}
	}
	for key := range before {
		if key != ownership {
			if err := missing(before[key], now[key], "/"+key); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing describes the first part of a JSON value that another one lacks.
func missing(want, got any, path string) error {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for key := range w {
			if err := missing(w[key], g[key], path+"/"+key); err != nil {
				return err
			}
		}
		return nil
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			for i := range w {
				if err := missing(w[i], g[i], fmt.Sprintf("%s/%d", path, i)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return kit.Difference(want, got, path, surplus)
}
