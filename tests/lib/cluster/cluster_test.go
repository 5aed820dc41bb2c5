package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// childVariable makes this test binary start a cluster and wait to be killed, for TestKilledTestLeavesNothingRunning.
const childVariable = "HELM_LOCKER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	c, err := Start(context.Background(), Options{Dir: os.Getenv(childVariable)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.etcd.pid, c.apiServer.pid)
	select {}
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func clientFor(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	check.NoError(t, err)
	return client
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// eventually polls until the condition holds, for things that a controller or a signal does in its own time.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx := testContext(t)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, ctx.Err())
		case <-ticker.C:
		}
	}
}

func running(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestHelmReleasesOnAControlPlane(t *testing.T) {
	ctx := testContext(t)
	c := ForTest(t, Options{ControllerManager: true})
	chart, err := Chart(t.TempDir(), "tiny", "0.1.0", map[string]string{
		"configmap.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {color: {{ .Values.color }}}\n",
		"deployment.yaml": deploymentTemplate,
	}, "color: blue\n")
	check.NoError(t, err)
	client := clientFor(t, c.RESTConfig())
	for name, helm := range map[string]Helm{"three": c.Helm3(), "four": c.Helm4()} {
		_, err := helm.Run(ctx, "install", name, chart, "--namespace", "apps", "--create-namespace")
		check.NoError(t, err)
		out, err := helm.Run(ctx, "list", "--namespace", "apps", "--filter", "^"+name+"$", "-o", "json")
		check.NoError(t, err)
		t.Log(strings.TrimSpace(out))
		var releases []struct{ Name, Status string }
		check.NoError(t, json.Unmarshal([]byte(out), &releases))
		if len(releases) != 1 || releases[0].Name != name || releases[0].Status != "deployed" {
			t.Errorf("helm list shows %v, want one deployed release %q", releases, name)
		}
		object, err := client.CoreV1().ConfigMaps("apps").Get(ctx, name, metav1.GetOptions{})
		check.NoError(t, err)
		if len(object.ManagedFields) == 0 || object.ManagedFields[0].Manager != "helm" {
			t.Errorf("managed fields %+v, want the manager helm", object.ManagedFields)
		}
		eventually(t, "the deployment controller creates a ReplicaSet", func() bool {
			sets, err := client.AppsV1().ReplicaSets("apps").List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
			return err == nil && len(sets.Items) == 1
		})
	}
	if _, err := c.Helm3().Run(ctx, "status", "absent"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("error %v, want one that quotes Helm's own message", err)
	}
	check.NoError(t, client.CoreV1().Namespaces().Delete(ctx, "apps", metav1.DeleteOptions{}))
	eventually(t, "the namespace controller finishes the deletion", func() bool {
		_, err := client.CoreV1().Namespaces().Get(ctx, "apps", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

const deploymentTemplate = `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: main, image: example.invalid/none:1}]}
`

func TestRestartPauseAndStop(t *testing.T) {
	ctx := testContext(t)
	started := time.Now()
	c, err := Start(ctx, Options{Log: os.Stderr})
	check.NoError(t, err)
	t.Logf("started in %s", time.Since(started))
	stopped := false
	t.Cleanup(func() {
		if err := c.Stop(); err != nil && !stopped {
			t.Error(err)
		}
	})
	client := clientFor(t, c.RESTConfig())
	_, err = client.CoreV1().ConfigMaps("default").Create(ctx, configMap("kept"), metav1.CreateOptions{})
	check.NoError(t, err)

	started = time.Now()
	address := c.RESTConfig().Host
	check.NoError(t, c.RestartAPIServer(ctx))
	t.Logf("restarted in %s", time.Since(started))
	if c.RESTConfig().Host != address {
		t.Errorf("the API server moved from %s to %s", address, c.RESTConfig().Host)
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}

	check.NoError(t, c.Pause())
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := client.CoreV1().ConfigMaps("default").Get(short, "kept", metav1.GetOptions{}); err == nil {
		t.Error("a paused API server answered")
	}
	check.NoError(t, c.Resume())
	if _, err := client.CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}

	check.NoError(t, c.StopAPIServer())
	if err := c.Pause(); err == nil {
		t.Error("a stopped API server was paused")
	}
	check.NoError(t, c.StartAPIServer(ctx))
	pids := []int{c.etcd.pid, c.apiServer.pid}
	stopped = true
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if running(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(address, "https://")); err == nil {
		t.Errorf("%s still accepts connections (close: %v)", address, conn.Close())
	}
	if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory %s is left: %v", c.Dir(), err)
	}
}

func TestIdentitiesAndAuditLog(t *testing.T) {
	ctx := testContext(t)
	c := ForTest(t, Options{AuditLog: true})
	admin := clientFor(t, c.RESTConfig())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	_, err := admin.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{})
	check.NoError(t, err)
	proxy, err := c.StartProxy()
	check.NoError(t, err)
	bearer, err := c.ServiceAccountConfig(ctx, "default", "reader")
	check.NoError(t, err)
	certified, err := c.UserConfig("jane", "readers")
	check.NoError(t, err)
	identities := map[string]*rest.Config{
		"system:serviceaccount:default:reader": bearer, "jane": certified,
		"by proxy: system:serviceaccount:default:reader": proxy.Via(bearer), "by proxy: jane": proxy.Via(certified),
	}
	for name, config := range identities {
		if _, err := clientFor(t, config).CoreV1().Secrets("default").List(ctx,
			metav1.ListOptions{}); !apierrors.IsForbidden(err) ||
			!strings.Contains(err.Error(), strings.TrimPrefix(name, "by proxy: ")) {
			t.Errorf("%s without rights: error %v, want forbidden, with the user's name", name, err)
		}
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "readers"},
			{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "reader"},
		},
	}
	_, err = admin.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	check.NoError(t, err)
	for name, config := range identities {
		client := clientFor(t, config)
		eventually(t, name+" gets the rights", func() bool {
			_, err := client.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{})
			return err == nil
		})
	}
	path, err := c.KubeconfigFor("reader", bearer)
	check.NoError(t, err)
	if out, err := exec.CommandContext(ctx, c.Binaries().Kubectl, "--kubeconfig="+path, "--cache-dir="+
		t.TempDir(), "auth", "whoami").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "system:serviceaccount:default:reader") {
		t.Errorf("kubectl with the kubeconfig: %v\n%s", err, out)
	}

	log, err := os.ReadFile(c.AuditLog())
	check.NoError(t, err)
	for _, want := range []string{`"username":"jane"`, `"username":"system:serviceaccount:default:reader"`,
		`"level":"Metadata"`} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the audit log lacks %s", want)
		}
	}
}
