package guard

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// ask sends a review to the guard like an API server, at the path in the registration. The error is that of the
// connection.
func (f *fixture) ask(r *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	f.Helper()
	review := admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1",
		Kind: "AdmissionReview"}, Request: r}
	body, err := json.Marshal(review)
	check.NoError(f, err)
	request, err := http.NewRequestWithContext(context.WithoutCancel(f.Ctx), http.MethodPost,
		*f.registration().Webhooks[0].ClientConfig.URL, bytes.NewReader(body))
	check.NoError(f, err)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { check.Report(f, answer.Body.Close()) }()
	check.NoError(f, json.NewDecoder(answer.Body).Decode(&review))
	return review.Response, nil
}

// guess is a review about a change of the password from one to another, of an object described by the caller.
func (f *fixture) guess(live *unstructured.Unstructured, from, to string) *admissionv1.AdmissionRequest {
	with := func(password string) runtime.RawExtension {
		object := live.DeepCopy()
		object.Object["data"] = map[string]any{"password": base64.StdEncoding.EncodeToString([]byte(password))}
		raw, err := object.MarshalJSON()
		check.NoError(f, err)
		return runtime.RawExtension{Raw: raw}
	}
	return &admissionv1.AdmissionRequest{
		UID: "1", Kind: metav1.GroupVersionKind{Version: "v1", Kind: "Secret"},
		Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "secrets"},
		Namespace: live.GetNamespace(), Name: live.GetName(), Operation: admissionv1.Update,
		UserInfo: authenticationv1.UserInfo{Username: "innocent"}, OldObject: with(from), Object: with(to),
	}
}

// A client with read access to the registration asks whether a guess at a Secret's value is right. The answer is the
// same for every guess, and no event reports an attempt by another user: the guard does not know the object.
func TestHostile_WhoReadsTheRegistrationLearnsNoValue(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	live := f.Get(kit.Secrets, "password")
	unknown, outdated := live.DeepCopy(), live.DeepCopy()
	unknown.SetUID("00000000-0000-4000-8000-000000000000")
	outdated.SetResourceVersion("1")
	for what, object := range map[string]*unstructured.Unstructured{
		"another uid": unknown, "another resourceVersion": outdated,
	} {
		for _, to := range []string{"correct-horse", "wrong"} {
			for _, from := range []string{"correct-horse", "another"} {
				answer, err := f.ask(f.guess(object, from, to))
				check.That(t, err == nil && answer.Allowed && len(answer.Warnings) == 0, "%s, from %s to %s: %+v %v",
					what, from, to, answer, err)
			}
		}
	}
	deletion := f.guess(unknown, "another", "")
	deletion.Operation, deletion.Object = admissionv1.Delete, runtime.RawExtension{}
	answer, err := f.ask(deletion)
	check.That(t, err == nil && answer.Allowed, "a deletion: %+v %v", answer, err)
	answer, err = f.ask(f.guess(live, "correct-horse", "wrong"))
	check.That(t, err == nil && !answer.Allowed, "about the object as it is: %+v %v", answer, err)
	f.Until("the last one is recorded, and no other", func() (any, bool) {
		denied := 0
		for _, r := range f.HelmRelease("shop").Status.RecentDrift {
			if r.Action == v1alpha1.DriftActionDenied && r.User == "innocent" {
				denied += r.Count
			}
		}
		return denied, denied == 1
	})
}

// With --guard-client-ca the guard answers API servers with a client certificate only: other requests pass, as with a
// guard that is down.
func TestHostile_OnlyAPIServersAreAnswered(t *testing.T) {
	t.Parallel()
	config, err := kit.Shared.UserConfig("front-proxy-client")
	check.NoError(t, err)
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		check.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	authority := file("ca.crt", config.CAData)
	f := newFixture(t, func(o *operator.ControllerOptions) { o.Guard.ClientCA = authority })
	user := clientcmdapi.NewConfig()
	user.AuthInfos[f.front.address()] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData,
		ClientKeyData: config.KeyData}
	kubeconfig, err := clientcmd.Write(*user)
	check.NoError(t, err)
	server, err := kit.Shared.AddAPIServer(t.Context(), kit.Shared.EtcdAddress(), "--admission-control-config-file="+
		file("admission.yaml", []byte(`apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: ValidatingAdmissionWebhook
    configuration:
      apiVersion: apiserver.config.k8s.io/v1
      kind: WebhookAdmissionConfiguration
      kubeConfigFile: `+file("webhooks.kubeconfig", kubeconfig)+"\n")))
	check.NoError(t, err)
	through := rest.CopyConfig(kit.Shared.RESTConfig())
	through.Host = "https://" + server.Address()
	client, err := dynamic.NewForConfig(through)
	check.NoError(t, err)

	f.guarded(kit.Shared.Helm3(), "shop", shop)
	f.Until("the API server with a certificate is answered", func() (any, bool) {
		_, err := client.Resource(kit.ConfigMaps).Namespace(f.Apps).Patch(f.Ctx, "settings", types.MergePatchType,
			[]byte(changed), metav1.PatchOptions{})
		return err, err != nil && strings.Contains(err.Error(), "helm-locker: ")
	})
	_, err = f.ask(f.guess(f.Get(kit.Secrets, "password"), "correct-horse", "wrong"))
	check.That(t, err != nil, "a client without a certificate is answered")
	f.passes("patch", "configmap", "settings", "-p", changed)
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
}
