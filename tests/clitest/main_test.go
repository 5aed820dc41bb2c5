// Package clitest runs the program's commands as users do: the real binary, against a real control plane, with
// releases made by real Helm. It checks the output and the exit code.
package clitest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// binary is the program under test.
var binary string

func TestMain(m *testing.M) {
	os.Exit(process.Main(func(path string) int {
		binary = process.CLI(path)
		return kit.Run(m, cluster.Options{ControllerManager: true})
	}))
}

// fixture is one test's part of the control plane, and the program to run against it.
type fixture struct {
	*kit.Env
	// kubeconfig is the administrator's, unless a test uses another user.
	kubeconfig string
	env        []string
	stdin      string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	e := kit.New(t, kit.Shared)
	return &fixture{Env: e, kubeconfig: kit.Shared.Kubeconfig()}
}

// result is the output and the exit code of a run.
type result struct {
	t              testing.TB
	line           string
	stdout, stderr string
	raw            string // stdout before it was made neutral
	code           int
}

// command returns the program with arguments, in an environment with nothing but KUBECONFIG.
func (w *fixture) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.TempDir(), "KUBECONFIG=" + w.kubeconfig, "HELM_LOCKER_NAMESPACE=" +
			w.Operator,
	}, w.env...)
	cmd.Stdin = strings.NewReader(w.stdin)
	return cmd
}

// cli runs the program.
func (w *fixture) cli(args ...string) result {
	w.Helper()
	return w.meanwhile("", nil, args...)
}

// meanwhile runs the program, and calls do once it has printed a text on stderr, while it runs. A program that ends
// without the text causes no call.
func (w *fixture) meanwhile(text string, do func(), args ...string) result {
	w.Helper()
	var stdout, stderr bytes.Buffer
	cmd := w.command(w.Ctx, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	said, ended := make(chan struct{}), make(chan error, 1)
	if do != nil {
		cmd.Stderr = onFirst(&stderr, text, func() { close(said) })
	}
	go func() { ended <- cmd.Run() }()
	var err error
	select {
	case <-said:
		do()
		err = <-ended
	case err = <-ended:
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	return result{t: w.TB, line: strings.Join(args, " "), raw: stdout.String(), code: cmd.ProcessState.ExitCode(),
		stdout: w.neutral(stdout.String()), stderr: w.neutral(stderr.String())}
}

// app runs the program with the namespace of the releases.
func (w *fixture) app(args ...string) result {
	w.Helper()
	return w.cli(append(args, "-n", w.Apps)...)
}

var (
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ages    = regexp.MustCompile(`\b\d+(s|m|h|d) ago`)
	markers = regexp.MustCompile(`<secret [0-9a-f]{8}>`)
)

// neutral replaces the variable parts: the names of namespaces, times and markers.
func (w *fixture) neutral(text string) string {
	text = strings.NewReplacer(w.Apps, "APPS", w.Operator, "LOCKER").Replace(text)
	return markers.ReplaceAllString(ages.ReplaceAllString(moments.ReplaceAllString(text, "TIME"), "AGE ago"),
		"<secret X>")
}

// is fails the test unless the run printed exactly this, and ended with the code.
func (r result) is(code int, stdout, stderr string) {
	r.t.Helper()
	check.That(r.t, r.code == code && r.stdout == stdout && r.stderr == stderr,
		"helm-locker %s\nexit code %d, want %d\nstdout:\n%s\nwant:\n%s\nstderr:\n%s\nwant:\n%s", r.line, r.code, code,
		r.stdout, stdout, r.stderr, stderr)
}

// says fails the test unless the run ended with the code and printed all of the parts, on either stream.
func (r result) says(code int, parts ...string) {
	r.t.Helper()
	missing := slices.DeleteFunc(parts, func(part string) bool { return strings.Contains(r.stdout+r.stderr, part) })
	check.That(r.t, r.code == code && len(missing) == 0,
		"helm-locker %s\nexit code %d, want %d; it does not say %q\nstdout:\n%s\nstderr:\n%s", r.line, r.code, code, missing,
		r.stdout, r.stderr)
}

// as makes the program run as a user with only the given rules in Apps.
func (w *fixture) as(user string, rules ...rbacv1.PolicyRule) *fixture {
	w.Helper()
	config, err := kit.Shared.UserConfig(user)
	check.NoError(w, err)
	kubeconfig, err := kit.Shared.KubeconfigFor(w.Apps+"-"+user, config)
	check.NoError(w, err)
	if len(rules) > 0 {
		w.Allow(w.Apps, user, kit.User(user), rules...)
	}
	other := *w
	other.kubeconfig = kubeconfig
	return &other
}

// secretValue is in a Secret of the shop, and is never to be printed.
const secretValue = "sw0rdfish-in-the-shop"

// givesAway reports whether a text contains the value, plain or in base64. Its length makes the encodings of all
// extensions begin alike.
func givesAway(text string) bool {
	return strings.Contains(text, secretValue) || strings.Contains(text,
		base64.StdEncoding.EncodeToString([]byte(secretValue)))
}

// shop is a chart with a hook, a Secret with a value, and objects to tamper with.
const shop = `apiVersion: v1
kind: ConfigMap
metadata: {name: shop}
data: {color: {{ .Values.color | default "green" }}, size: "10"}
---
apiVersion: v1
kind: Secret
metadata: {name: shop}
stringData: {password: "{{ .Values.password }}"}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec:
  selector: {app: shop}
  ports: [{name: http, port: 80}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
        - name: shop
          image: example.org/shop:1
          resources: {requests: {cpu: 1000m}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: shop-hook
  annotations: {helm.sh/hook: pre-upgrade}
`

// installShop installs the shop with a Helm and returns its chart.
func (w *fixture) installShop(h cluster.Helm, name string) string {
	w.Helper()
	chart := w.Chart("shop", shop)
	w.Helm(h, "install", name, chart, "--set", "password="+secretValue)
	return chart
}

func rule(verbs, groups, resources string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Split(verbs, ","), APIGroups: strings.Split(groups, ","),
		Resources: strings.Split(resources, ",")}
}
