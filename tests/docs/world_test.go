package docs

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// patience is the timeout of steps that take milliseconds on an idle machine.
const patience = time.Minute

// world is the cluster shared by all pages, one after the other, with its initial objects.
type world struct {
	objects metadata.Interface
	client  kubernetes.Interface
	before  map[object]bool
}

type object struct {
	schema.GroupVersionResource
	namespace, name string
}

func newWorld(ctx context.Context, c *cluster.Cluster) (*world, error) {
	config := c.RESTConfig()
	config.WarningHandler = rest.NoWarnings{} // of deprecated resources
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	w := &world{objects: objects, client: client}
	w.before, err = w.inventory(ctx)
	return w, err
}

var (
	// derived are resources that follow others, or expire.
	derived = []string{"events", "endpoints", "endpointslices", "ipaddresses", "servicecidrs", "leases"}
	// permanent are objects that the control plane creates at an arbitrary time, and would re-create.
	permanent = []string{"services/kubernetes", "configmaps/kube-root-ca.crt", "serviceaccounts/default",
		"namespaces/default", "namespaces/kube-system", "namespaces/kube-public", "namespaces/kube-node-lease"}
)

// inventory lists the cluster-scoped objects, those in the namespace default, and all in namespaces that are new.
func (w *world) inventory(ctx context.Context) (map[object]bool, error) {
	lists, err := w.client.Discovery().ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	found := map[object]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") {
				continue
			}
			gvr := version.WithResource(r.Name)
			items, err := w.objects.Resource(gvr).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue // its definition is going
			}
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", gvr, err)
			}
			for _, item := range items.Items {
				if relevant(r.Name, item.Namespace, item.Name) {
					found[object{gvr, item.Namespace, item.Name}] = true
				}
			}
		}
	}
	return found, nil
}

// relevant reports whether an object may be one of a page, or an initial one that a page may change.
func relevant(resource, namespace, name string) bool {
	if strings.HasPrefix(namespace, "kube-") {
		return false
	}
	return namespace != "" && namespace != metav1.NamespaceDefault ||
		!slices.Contains(derived, resource) && !slices.Contains(permanent, resource+"/"+name)
}

// reset deletes all but the initial objects, and waits until they no longer exist.
func (w *world) reset(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	asked := map[object]bool{}
	for {
		now, err := w.inventory(ctx)
		if err != nil {
			return err
		}
		maps.DeleteFunc(now, func(o object, _ bool) bool { return w.before[o] })
		if len(now) == 0 {
			return nil
		}
		if err := w.remove(ctx, now, asked); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not gone after %s: %v", patience, slices.Collect(maps.Keys(now)))
		case <-tick.C:
		}
	}
}

// remove deletes objects, each once: those of the cluster first, because controllers create objects in a namespace
// until it is deleted. A definition is deleted after the last object of a namespace: the API server waits for 5 s where
// a definition still has objects. The controller of namespaces waits for 5 s, too, and is not needed.
func (w *world) remove(ctx context.Context, now, asked map[object]bool) error {
	used := map[string]bool{}
	for o := range now {
		used[o.namespace] = true
	}
	delete(used, "")
	background, immediately := metav1.DeletePropagationBackground, int64(0)
	options := metav1.DeleteOptions{PropagationPolicy: &background, GracePeriodSeconds: &immediately}
	byScope := func(a, b object) int { return cmp.Compare(len(a.namespace), len(b.namespace)) }
	for _, o := range slices.SortedFunc(maps.Keys(now), byScope) {
		var err error
		switch {
		case o.Resource == "customresourcedefinitions" && len(used) > 0:
			continue
		case !asked[o]:
			err = w.objects.Resource(o.GroupVersionResource).Namespace(o.namespace).Delete(ctx, o.name, options)
		case o.Resource == "namespaces" && !used[o.name]:
			empty := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.name}}
			_, err = w.client.CoreV1().Namespaces().Finalize(ctx, empty, metav1.UpdateOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %v: %w", o, err)
		}
		asked[o] = true
	}
	return nil
}

// workingTree copies the files of the repository that git knows or would add.
func workingTree(ctx context.Context, target string) error {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		// Deleted, and not yet committed.
		if err := copyFile(filepath.Join(root, name), filepath.Join(target, name)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(link, to)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode())
}

// programs fills a directory with the programs of the pages: kubectl, the Helms, and helm-locker under its names.
func programs(dir string, b cluster.Binaries, helm, locker string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, target := range map[string]string{"kubectl": b.Kubectl, "helm": helm, "helm3": b.Helm3, "helm4": b.Helm4,
		"helm-locker": locker, "kubectl-helm_locker": locker} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// environment returns an environment with nothing but KUBECONFIG. Go's caches stay those of this machine.
func environment(ctx context.Context, home, bin, kubeconfig string) ([]string, error) {
	env := []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" +
		home, "KUBECONFIG=" + kubeconfig,
		"LANG=C.UTF-8", "TERM=dumb", "COMMIT=0000000000000000000000000000000000000000", "VERSION=v0.0.0-docs",
		"DATE=2026-01-01T00:00:00Z"}
	names := []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOFLAGS", "GOTOOLCHAIN", "GOSUMDB", "GONOSUMDB"}
	values, err := exec.CommandContext(ctx, "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	for i, value := range strings.Split(strings.TrimSuffix(string(values), "\n"), "\n") {
		env = append(env, names[i]+"="+value)
	}
	return env, nil
}
