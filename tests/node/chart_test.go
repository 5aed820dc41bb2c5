//go:build linux

package node

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	lib "github.com/rancher/helm-locker/tests/lib/node"
)

const declared = "declared"

// template is a chart of one ConfigMap.
const template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {key: declared}\n"

// The defaults, by Helm 3.
func TestNode_TheChartWithItsDefaults(t *testing.T) {
	f := newFixture(t)
	f.install(shared.Cluster.Helm3())
	f.expectConfined("helm-locker", "helm-locker-policies")
	f.Installed(shared.Cluster.Helm3(), "shop", template)
	t.Logf("the median of 11 reverts took %s", f.medianRevert(11))
	f.expectConfined("helm-locker", "helm-locker-policies")
}

// everything has every optional part of the chart on. The address is that of a receiver of notifications.
const everything = `
replicas: 2
guard: {enabled: true}
policies: {replicas: 2}
page: {enabled: true, service: {enabled: true}}
metrics: {auth: true, dashboard: {enabled: true}}
networkPolicy: {enabled: true}
notify: {urls: ["http://%s/"], format: json, evidence: {enabled: true, cluster: test, existingClaim: evidence}}
`

// Every optional part, by Helm 4: each process does its work through the Services of the node.
func TestNode_TheChartWithEveryPart(t *testing.T) {
	f := newFixture(t)
	var inbox kit.Letters
	evidence := f.evidenceVolume()
	f.install(shared.Cluster.Helm4(), fmt.Sprintf(everything, serveOnNode(f, &inbox)))
	f.expectConfined("helm-locker", "helm-locker", "helm-locker-policies", "helm-locker-policies", "helm-locker-page",
		"helm-locker-notifications")
	f.Installed(shared.Cluster.Helm4(), "shop", template)
	t.Logf("the median of 11 reverts took %s", f.medianRevert(11))

	f.within(patience, "the drift is notified", func() error { return inbox.Contain("io.cattle.helm.drift.reverted") })
	f.within(patience, "the drift is in the evidence", func() error { return contains(evidence, "drift.reverted") })
	token := f.Administrator()
	for name, url := range map[string]string{"page": ":8082/diff?name=shop&namespace=" + f.Operator,
		"metrics": ":8080/metrics"} {
		url = "http://" + f.serviceAddress("helm-locker-"+name) + url
		f.within(patience, "the Service answers "+url, func() error { return answers(url, token, http.StatusOK) })
		check.Report(t, answers(url, "", http.StatusUnauthorized))
	}
	f.followPolicy()
	f.expectConfined("helm-locker", "helm-locker", "helm-locker-policies", "helm-locker-policies", "helm-locker-page",
		"helm-locker-notifications")
}

// expectConfined expects exactly the Pods of some Deployments, Ready and never restarted. Their processes run as the
// image's user, without capabilities, with the runtime's system call filter, on a read-only root.
func (f *fixture) expectConfined(deployments ...string) {
	f.Helper()
	var names []string
	for _, p := range f.pods("") {
		names = append(names, p.Labels["app"])
		status := p.Status.ContainerStatuses[0]
		if !status.Ready || status.RestartCount > 0 {
			f.Errorf("Pod %s is not Ready, or was restarted: %+v", p.Name, status)
		}
		process, err := shared.Inspect(f.Ctx, status.ContainerID)
		check.NoError(f, err)
		want := lib.Process{UID: "65532", GID: "65532", Capabilities: "0000000000000000", NoNewPrivileges: "1",
			Seccomp: "2", ReadOnlyRoot: true}
		if process != want {
			f.Errorf("the process of Pod %s is %+v, want %+v", p.Name, process, want)
		}
	}
	slices.Sort(names)
	slices.Sort(deployments)
	if !slices.Equal(names, deployments) {
		f.Errorf("the Pods are those of %v, want those of %v", names, deployments)
	}
}

// medianRevert changes a field n times, and returns the median of the times until it is as declared again.
func (f *fixture) medianRevert(n int) time.Duration {
	f.Helper()
	took := make([]time.Duration, n)
	for i := range took {
		begun := time.Now()
		f.Patch(kit.ConfigMaps, "shop", `{"data":{"key":"tampered"}}`)
		f.WaitField(kit.ConfigMaps, "shop", "data.key", declared)
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took[n/2].Round(time.Millisecond)
}

// serviceAddress returns the cluster's address of a Service of the chart.
func (f *fixture) serviceAddress(name string) string {
	f.Helper()
	service, err := f.Kube.CoreV1().Services(f.Operator).Get(f.Ctx, name, metav1.GetOptions{})
	check.NoError(f, err)
	return service.Spec.ClusterIP
}

// answers returns an error unless a GET of a URL is answered with a status.
func answers(url, token string, want int) error {
	client := &http.Client{Timeout: 5 * time.Second}
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err == nil && response.StatusCode != want {
		err = fmt.Errorf("%s is answered with %s: %.200s", url, response.Status, body)
	}
	return err
}

// evidenceVolume creates a claim "evidence" with a volume, and returns the volume's directory.
func (f *fixture) evidenceVolume() string {
	f.Helper()
	dir := f.volume("evidence", f.Operator)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "evidence"},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: once, StorageClassName: &f.Operator,
			Resources: corev1.VolumeResourceRequirements{Requests: size}}}
	_, err := f.Kube.CoreV1().PersistentVolumeClaims(f.Operator).Create(f.Ctx, claim, metav1.CreateOptions{})
	check.NoError(f, err)
	return dir
}

var (
	size = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	once = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
)

// volume creates a volume of the storage class that is named as a namespace, and returns the volume's directory.
func (f *fixture) volume(name, namespace string) string {
	f.Helper()
	dir := filepath.Join(f.TempDir(), name)
	check.NoError(f, os.Mkdir(dir, 0o700))
	// The volume of a storage system belongs to the group of the Pod.
	check.NoError(f, os.Chown(dir, 65532, 65532))
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	volume.Spec = corev1.PersistentVolumeSpec{Capacity: size, AccessModes: once, StorageClassName: namespace,
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}}}
	_, err := f.Kube.CoreV1().PersistentVolumes().Create(f.Ctx, volume, metav1.CreateOptions{})
	check.NoError(f, err)
	return dir
}

// contains returns an error unless a file below a directory has a text.
func contains(dir, text string) error {
	found := false
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found = found || strings.Contains(string(content), text)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("no file of %s has %q", dir, text)
	}
	return err
}

// followPolicy expects the process of policies to make the HelmRelease of a policy.
func (f *fixture) followPolicy() {
	f.Helper()
	f.Helm(shared.Cluster.Helm4(), "install", "other", f.Chart("other",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {key: declared}\n"))
	f.WaitReady(f.CreatePolicy("all", "other", `match:
  releases: [other]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+f.Apps+`}}`), 0)
	f.Reverts("other", declared)
}
