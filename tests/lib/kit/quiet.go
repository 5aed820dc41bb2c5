package kit

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// Versions returns "uid resourceVersion" of every object of some resources in a namespace managed by Helm, by
// "resource/name": two results are equal when nothing was written in between.
func (e *Env) Versions(namespace string, resources ...schema.GroupVersionResource) map[string]string {
	e.Helper()
	versions := map[string]string{}
	for _, gvr := range resources {
		list, err := e.In(gvr, namespace).List(e.Ctx,
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"})
		check.NoError(e, err)
		for _, u := range list.Items {
			versions[gvr.Resource+"/"+u.GetName()] = string(u.GetUID()) + " " + u.GetResourceVersion()
		}
	}
	return versions
}

// ExpectVersions fails the test unless the objects equal the earlier result of Versions.
func (e *Env) ExpectVersions(before map[string]string, namespace string, resources ...schema.GroupVersionResource) {
	e.Helper()
	after := e.Versions(namespace, resources...)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != before[name] {
			e.Errorf("%s was written: it was %q and is %q", name, before[name], after[name])
		}
	}
	if len(after) != len(before) {
		e.Errorf("%d objects became %d: %v", len(before), len(after), slices.Sorted(maps.Keys(after)))
	}
}

// ObjectWrites returns a proxy's write requests to objects of releases. It leaves out HelmReleases, Events and
// Leases, definitions, the operator's own Secrets and registration, access reviews, and dry runs.
func ObjectWrites(p *cluster.Proxy) []cluster.Request {
	var writes []cluster.Request
	for _, r := range p.Writes() {
		switch r.Resource() {
		case "customresourcedefinitions", "selfsubjectaccessreviews", "selfsubjectreviews",
			"subjectaccessreviews", "validatingwebhookconfigurations":
			continue
		}
		if r.Query.Get("dryRun") == "" && !IsOwn(r) {
			writes = append(writes, r)
		}
	}
	return writes
}

// IsOwn reports whether a request concerns the operator's own objects: HelmReleases, Events, Leases, the certificate
// of the guard, the trust in records, the settled forms of objects and the Secret of IsFenceWrite.
func IsOwn(r cluster.Request) bool {
	return IsFenceWrite(r) || slices.Contains([]string{"helmreleases", "events", "leases"}, r.Resource()) ||
		concernsSecret(r, strings.HasSuffix(r.Path, "-guard"), "kubernetes.io/tls") ||
		concernsSecret(r, strings.Contains(r.Path, "-trust-"), "-trust-") ||
		concernsSecret(r, strings.Contains(r.Path, "-settled-"), "-settled-")
}

// concernsSecret reports whether a request has the path of a Secret, or creates it: then its body has a text.
func concernsSecret(r cluster.Request, path bool, text string) bool {
	return r.Resource() == "secrets" && (path || r.Method == http.MethodPost && bytes.Contains(r.Body, []byte(text)))
}

// IsFenceWrite reports whether a request writes a fence. An operator writes a fence instead of listing release
// records. The first one creates the Secret.
func IsFenceWrite(r cluster.Request) bool {
	return concernsSecret(r, strings.HasSuffix(r.Path, proof.FenceSuffix), proof.FenceSuffix)
}

// ProvesWrite reports whether a request proves the writes to the objects of a release: it lists the records of the
// release, or writes a fence.
func ProvesWrite(r cluster.Request, release string) bool {
	return IsFenceWrite(r) || r.Method == http.MethodGet && r.Resource() == "secrets" && r.Query.Get("watch") == "" &&
		strings.Contains(r.Query.Get("labelSelector"), "name="+release)
}

// WaitEvent waits until an Event with a reason about a HelmRelease is stored. An operator writes Events in order,
// after their cause, and waits for none of them; a test of silence has to wait.
func (e *Env) WaitEvent(helmRelease, reason string) {
	e.Helper()
	about := fields.Set{"involvedObject.kind": "HelmRelease", "involvedObject.name": helmRelease,
		"reason": reason}.String()
	e.Eventually(fmt.Sprintf("event %s of HelmRelease %s is stored", reason, helmRelease), func() error {
		list, err := e.Kube.CoreV1().Events(e.Operator).List(e.Ctx, metav1.ListOptions{FieldSelector: about})
		if err == nil && len(list.Items) == 0 {
			err = errors.New("there is none")
		}
		return err
	})
}

// Quiet measures that no write to any object, status and event included, goes through a proxy for a time.
func (e *Env) Quiet(p *cluster.Proxy, duration time.Duration) {
	e.Helper()
	p.Reset()
	end := time.NewTimer(duration)
	defer end.Stop()
	select {
	case <-end.C:
	case <-e.Ctx.Done():
		e.Fatal(e.Ctx.Err())
	}
	for _, w := range p.Writes() {
		if w.Resource() != "leases" {
			e.Errorf("written while nothing happened: %s %s", w, w.Body)
		}
	}
}

// NewProxy starts a proxy for the operator in front of the API server, and closes it at the end of the test. Start it
// before its operator, so that it outlives it.
func (e *Env) NewProxy() *cluster.Proxy {
	e.Helper()
	return e.closing(e.Cluster.StartProxy())
}

// NewProxyTo is NewProxy in front of an API server, or a balancer, at an address.
func (e *Env) NewProxyTo(address string) *cluster.Proxy {
	e.Helper()
	return e.closing(e.Cluster.StartProxyTo(address))
}

func (e *Env) closing(p *cluster.Proxy, err error) *cluster.Proxy {
	e.Helper()
	check.NoError(e, err)
	p.As(e.OperatorConfig())
	e.Cleanup(func() { check.Report(e, p.Close()) })
	return p
}

// OperatorConfig returns a configuration for the operator: its own user, with all rights.
func (e *Env) OperatorConfig() *rest.Config {
	e.Helper()
	config, err := e.Cluster.OperatorConfig(e.Operator)
	check.NoError(e, err)
	return config
}
