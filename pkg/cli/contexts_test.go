package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// clusters writes a kubeconfig with a context for each name, and with the address and the user of it.
func clusters(t *testing.T, users string, names ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: " + names[0] + "\n"
	var contexts, servers []string
	for i, name := range names {
		contexts = append(contexts, fmt.Sprintf("{name: %q, context: {cluster: %q, user: %q}}", name, name, name))
		servers = append(servers, fmt.Sprintf("{name: %q, cluster: {server: \"https://127.0.0.1:%d\"}}", name, i+1))
	}
	text += "contexts: [" + strings.Join(contexts, ", ") + "]\nclusters: [" + strings.Join(servers, ", ") + "]\nusers: [" + users + "]\n"
	check.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const aws = "arn:aws:eks:eu-west-1:1234:cluster/prod-9"

func TestMistakesWithContextsAreClearErrors(t *testing.T) {
	t.Setenv("KUBECONFIG", clusters(t, "", "prod-1", "prod-2", "test", aws))
	all := "it has " + aws + ", prod-1, prod-2, test\n"
	for line, want := range map[string]string{
		"status --contexts prod-1 --context prod-2":       "--context and --contexts exclude each other\n  see helm-locker status --help\n",
		"status --all-contexts --context prod-2":          "--context and --all-contexts exclude each other\n  see helm-locker status --help\n",
		"check --contexts prod-1 --all-contexts":          "--contexts and --all-contexts exclude each other\n  see helm-locker check --help\n",
		"diff --contexts stage-*":                         "no context of the kubeconfig matches \"stage-*\"\n  " + all,
		"diff --contexts prod-1,prod-2,prod-1":            "--contexts has \"prod-1\" twice\n",
		"report --contexts prod-1,xyz":                    "the kubeconfig has no context \"xyz\"\n  " + all,
		"report --contexts prod-3":                        "the kubeconfig has no context \"prod-3\"\n  did you mean prod-1? " + all,
		"report --contexts=":                              "--contexts has an empty name\n  the kubeconfig has " + strings.TrimPrefix(all, "it has "),
		"report --contexts prod-1,":                       "--contexts has an empty name\n  the kubeconfig has " + strings.TrimPrefix(all, "it has "),
		"status --context prod-1 --context prod-2":        "--context is given twice\n  --contexts a,b reads several clusters; see helm-locker status --help\n",
		"lock web --context prod-1 --kube-context prod-2": "--context is given twice\n  lock is for one cluster: run it once for each context\n",
		"lock web --contexts prod-1,prod-2":               "lock is for one cluster, and has no --contexts\n  run it once for each context, with --context NAME; status, diff, report, check and policy preview read several\n",
		"unlock web --all-contexts":                       "unlock is for one cluster, and has no --all-contexts\n  run it once for each context, with --context NAME; status, diff, report, check and policy preview read several\n",
		"diff -n a -A --all-contexts":                     "--namespace and --all-namespaces exclude each other\n  see helm-locker diff --help\n",
		"diff --all-contexts -f x --objects y":            "--objects reads no cluster, and so no contexts\n  see helm-locker diff --help\n",
		"status --all-contexts --kubeconfig /not/there":   "kubeconfig: stat /not/there: no such file or directory\n",
	} {
		stdout, stderr, code := runCLI(t, "", strings.Fields(line)...)
		check.That(t, stdout == "" && stderr == "helm-locker: "+want && code == command.ExitFailed,
			"%s: exit code %d, stdout %q, stderr\n%swant\n%s", line, code, stdout, stderr, want)
	}
	t.Setenv("KUBECONFIG", "/does/not/exist")
	const none = "helm-locker: there is no kubeconfig with contexts\n  point KUBECONFIG or --kubeconfig to a kubeconfig file; the ServiceAccount of a Pod has one cluster and no contexts\n"
	_, stderr, code := runCLI(t, "", "status", "--all-contexts")
	check.That(t, stderr == none && code == command.ExitFailed, "without a kubeconfig: exit code %d, %s", code, stderr)
}

func TestContextsAreReadInTheirOrder(t *testing.T) {
	file := clusters(t, "", "prod-1", "prod-2", "test", aws)
	text, err := os.ReadFile(file)
	check.NoError(t, err)
	text = bytes.Replace(text, []byte("current-context: prod-1"), []byte("current-context: gone"), 1) // it is not asked for
	check.NoError(t, os.WriteFile(file, text, 0o600))
	t.Setenv("KUBECONFIG", file)
	t.Setenv("HELM_KUBECONTEXT", "test") // a default
	for given, want := range map[string]string{
		"--contexts=test,prod-1":        "test prod-1",
		"--contexts=test, prod-1":       "test prod-1",
		"--contexts=prod-*,prod-1,test": "prod-1 prod-2 test",
		"--contexts=*prod-?":            aws + " prod-1 prod-2",
		"--all-contexts":                aws + " prod-1 prod-2 test",
	} {
		stdout, stderr, code := runCLI(t, "", "check", given)
		var got []string
		for line := range strings.Lines(stderr) {
			if name, found := strings.CutPrefix(line, "helm-locker: context "); found {
				name, _, _ = strings.Cut(name, ": the cluster at https://127.0.0.1:")
				got = append(got, name)
			}
		}
		check.That(t, stdout == "" && strings.Join(got, " ") == want && code == command.ExitFailed,
			"%s: exit code %d, contexts %v, stdout %q, stderr %s", given, code, got, stdout, stderr)
	}
}

// The login program of a kubeconfig cannot be interrupted. The program here ends with the test.
func TestALoginThatHangsEnds(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	check.NoError(t, syscall.Mkfifo(pipe, 0o600))
	both, err := os.OpenFile(pipe, os.O_RDWR, 0) // a reader gets nothing, and no end either
	check.NoError(t, err)
	t.Setenv("KUBECONFIG", clusters(t, `{name: hung, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: cat,
  args: ["`+pipe+`"], interactiveMode: Never}}}`, "hung", "down"))
	_, stderr, code := runCLI(t, "", "status", "--all-contexts", "--request-timeout", "100ms")
	check.NoError(t, both.Close())
	check.That(t,
		strings.Contains(stderr, "context hung: the cluster at https://127.0.0.1:1 does not answer: no answer, or no login, "+
			"in 200ms\n") &&
			strings.Contains(stderr, "context down: the cluster at https://127.0.0.1:2 does not answer: ") &&
			code == command.ExitFailed, "exit code %d, %s", code, stderr)
}

func TestTheExitCodeOfContextsIsTheWorst(t *testing.T) {
	drift, down := &command.ExitError{Code: command.ExitFound}, errors.New("down")
	empty := &command.ExitError{Code: command.ExitEmpty, Err: errors.New("none")}
	for _, test := range []struct {
		errs []error
		want int
	}{
		{[]error{nil, nil}, command.ExitOK},
		{[]error{nil, empty}, command.ExitEmpty},
		{[]error{empty, drift, nil}, command.ExitFound},
		{[]error{drift, down, empty}, command.ExitFailed},
		{[]error{down, drift}, command.ExitFailed},
	} {
		all := make([]located[int], len(test.errs))
		for i, err := range test.errs {
			all[i].Name, all[i].err = fmt.Sprint("c", i), err
		}
		check.Equal(t, exitCode(worst(all)), test.want, "%v", test.errs)
	}
}

// What goes wrong in all clusters, such as a missing file, is one error.
func TestAnErrorOfAllClustersIsPrintedOnce(t *testing.T) {
	missing := "open x: no such file"
	one := func(cluster, text string) located[int] {
		l := located[int]{err: errors.New(text)}
		l.Cluster, l.Error, l.Unread = cluster, text, true
		return l
	}
	err := shared([]located[int]{one("a", missing), one("b", missing)})
	check.That(t, err != nil && err.Error() == missing, "of two clusters: %v", err)
	read := one("b", missing)
	read.Unread = false
	for name, all := range map[string][]located[int]{
		"one context":         {one("a", missing)},
		"two of one cluster":  {one("a", missing), one("a", missing)},
		"another error":       {one("a", missing), one("b", "down")},
		"one that was read":   {one("a", missing), read},
		"no context was read": {},
	} {
		err := shared(all)
		check.That(t, err == nil, "%s: %v", name, err)
	}
}

// Commands that are printed for one of several clusters name it: they would change the current one.
func TestPrintedCommandsNameTheContext(t *testing.T) {
	for text, want := range map[string]string{
		"helm-locker resume web -n apps ends it":                  "helm-locker --context prod-1 resume web -n apps ends it",
		"kubectl helm-locker lock a":                              "kubectl helm-locker --context prod-1 lock a",
		"helm locker unlock a":                                    "helm locker --context prod-1 unlock a",
		"kubectl -n x get pods, and kubectl logs":                 "kubectl --context prod-1 -n x get pods, and kubectl --context prod-1 logs",
		"helm install helm-locker charts/helm-locker -n x":        "helm --kube-context prod-1 install helm-locker charts/helm-locker -n x",
		"is older than what helm-locker is tested on":             "is older than what helm-locker is tested on",
		"it, which this prints: helm-locker rbac web":             "it, which this prints: helm-locker --context prod-1 rbac web",
		"helm-locker policies follows those of its own namespace": "helm-locker policies follows those of its own namespace",
	} {
		check.Equal(t, inContext("prod-1", text), want, "%v", text)
		got := inContext("", text)
		check.That(t, got == text, "without a context %q is %q", text, got)
	}
	check.Equal(t, inContext("a b'c\x1b", "helm-locker lock web"), `helm-locker --context 'a b'\''c\x1b' lock web`)
}
