package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"

	"github.com/rancher/helm-locker/tests/lib/process"
)

var helmReleasesGVR = schema.GroupVersionResource{Group: "helm.cattle.io", Version: "v1alpha1",
	Resource: "helmreleases"}

// revision is one revision of a release, the newest one unless it is superseded.
type revision struct {
	release    types.NamespacedName
	number     int
	superseded bool
	// ballast is a file of the chart. The record contains it, too.
	ballast []byte
	objects []object
	// replace is set when a record of that revision exists.
	replace bool
	// labelled is set for objects with a label that differs between revisions.
	labelled bool
	// unasked is set for a Secret that is no record.
	unasked bool
}

// record stores a revision as Helm does.
func (c *client) record(r revision) error {
	var manifest strings.Builder
	for _, o := range r.objects {
		content := unstructured.Unstructured{Object: o.declaredContent()}
		if r.labelled {
			labels := content.GetLabels()
			labels["revision"] = fmt.Sprint("r", r.number)
			content.SetLabels(labels)
		}
		doc, err := yaml.Marshal(content.Object)
		if err != nil {
			return fmt.Errorf("encode the manifest of %s: %w", r.release, err)
		}
		fmt.Fprintf(&manifest, "---\n# Source: %s/templates/%s.yaml\n%s", r.release.Name, o.name, doc)
	}
	status := release.StatusDeployed
	if r.superseded {
		status = release.StatusSuperseded
	}
	now := helmtime.Now()
	rel := &release.Release{
		Name: r.release.Name, Namespace: r.release.Namespace, Version: r.number, Manifest: manifest.String(),
		Info: &release.Info{FirstDeployed: now, LastDeployed: now, Status: status, Description: "Install complete"},
		Chart: &chart.Chart{Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: r.release.Name,
			Version: "0.1.0"}},
	}
	if len(r.ballast) > 0 {
		rel.Chart.Files = []*chart.File{{Name: "ballast.bin", Data: r.ballast}}
	}
	secrets := c.kube.CoreV1().Secrets(r.release.Namespace)
	if r.unasked {
		secrets = unasked{secrets}
	}
	records := storage.Init(driver.NewSecrets(secrets))
	store := records.Create
	if r.replace {
		store = records.Update
	}
	if err := store(rel); err != nil {
		return fmt.Errorf("store release %s: %w", r.release, err)
	}
	return nil
}

// readiness follows the Ready conditions of HelmReleases. It is safe for concurrent use.
type readiness struct {
	client    *client
	namespace string

	mu    sync.Mutex
	since map[string]time.Time // of those that are Ready
	// revisions are the locked ones.
	revisions map[string]int64
	err       error
}

// newReadiness returns a readiness that follows until ctx ends. The CustomResourceDefinition must exist.
func newReadiness(ctx context.Context, c *client, namespace string) (*readiness, error) {
	r := &readiness{client: c, namespace: namespace, since: map[string]time.Time{}, revisions: map[string]int64{}}
	return r, follow(ctx, listWatch(r.helmReleases(), ""), r.take, r.failed)
}

func (r *readiness) helmReleases() dynamic.ResourceInterface {
	return r.client.dynamic.Resource(helmReleasesGVR).Namespace(r.namespace)
}

func (r *readiness) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *readiness) take(event apiwatch.Event) {
	now := time.Now()
	u, ok := event.Object.(*unstructured.Unstructured)
	if !ok || event.Type == apiwatch.Bookmark {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	hr, err := helmRelease(u)
	if err != nil {
		r.err = err
		return
	}
	r.revisions[hr.Name] = int64(hr.Status.Revision)
	if event.Type == apiwatch.Deleted || !isReady(hr) {
		delete(r.since, hr.Name)
	} else if _, was := r.since[hr.Name]; !was {
		r.since[hr.Name] = now
	}
}

func helmRelease(u *unstructured.Unstructured) (*v1alpha1.HelmRelease, error) {
	hr := &v1alpha1.HelmRelease{}
	return hr, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, hr)
}

func isReady(hr *v1alpha1.HelmRelease) bool {
	return meta.IsStatusConditionTrue(hr.Status.Conditions, v1alpha1.ConditionReady)
}

// wait returns when the last of n HelmReleases has become Ready; for n = 0, when none is.
func (r *readiness) wait(ctx context.Context, n int) (last time.Time, err error) {
	count := 0
	err = process.Poll(ctx, 2*time.Millisecond, func() (bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		count = len(r.since)
		for _, at := range r.since {
			if at.After(last) {
				last = at
			}
		}
		return count == n, r.err
	})
	if err != nil {
		return last, fmt.Errorf("wait for %d HelmReleases to be Ready, and %d are: %w", n, count, err)
	}
	return last, nil
}

// waitRevision returns when a HelmRelease is Ready with a revision.
func (r *readiness) waitRevision(ctx context.Context, name string, revision int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return process.Poll(ctx, 2*time.Millisecond, func() (bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, isReady := r.since[name]
		return isReady && r.revisions[name] == int64(revision), r.err
	})
}

// lock creates HelmReleases for releases.
func (r *readiness) lock(ctx context.Context, releases []types.NamespacedName) error {
	return each(ctx, 8, releases, func(ctx context.Context, rel types.NamespacedName) error {
		hr := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "HelmRelease",
			"metadata": map[string]any{"name": rel.Name, "namespace": r.namespace},
			"spec":     map[string]any{"release": map[string]any{"name": rel.Name, "namespace": rel.Namespace}},
		}}
		_, err := r.helmReleases().Create(ctx, hr, metav1.CreateOptions{})
		return err
	})
}

// unlock deletes the HelmReleases of releases.
func (r *readiness) unlock(ctx context.Context, releases []types.NamespacedName) error {
	return each(ctx, 8, releases, func(ctx context.Context, rel types.NamespacedName) error {
		return r.helmReleases().Delete(ctx, rel.Name, metav1.DeleteOptions{})
	})
}

// forget empties the status of HelmReleases: a new status then proves that an operator has reconciled them.
func (r *readiness) forget(ctx context.Context, releases []types.NamespacedName) error {
	return each(ctx, 8, releases, func(ctx context.Context, rel types.NamespacedName) error {
		_, err := r.helmReleases().Patch(ctx, rel.Name, types.MergePatchType, []byte(`{"status":null}`),
			metav1.PatchOptions{}, "status")
		return err
	})
}
