package kit

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// ServeTLS answers requests with JSON over TLS on a loopback port, as the API server wants it of webhooks; a nil
// answer is an error. It ends with the test.
func (e *Env) ServeTLS(answer func(body []byte) any) *httptest.Server {
	e.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		content := answer(body)
		if content == nil {
			http.Error(response, "not understood", http.StatusBadRequest)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(response).Encode(content); err != nil {
			e.Logf("a webhook could not answer: %v", err)
		}
	}))
	e.Cleanup(server.Close)
	return server
}

// CertificateOf returns the server's certificate for clients, as PEM.
func CertificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// Webhook serves a mutating webhook for ConfigMaps and Deployments in Apps until the test ends, and waits until the
// API server calls it. Its patch consists of the JSON patch operations returned by mutate, each as JSON.
func (e *Env) Webhook(mutate func(object map[string]any) []string) {
	e.Helper()
	var called atomic.Bool
	server := e.ServeTLS(func(body []byte) any {
		called.Store(true)
		var review admissionv1.AdmissionReview
		var object map[string]any
		if err := json.Unmarshal(body, &review); err != nil {
			return nil
		}
		if err := json.Unmarshal(review.Request.Object.Raw, &object); err != nil {
			return nil
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if operations := mutate(object); len(operations) > 0 {
			kind := admissionv1.PatchTypeJSONPatch
			review.Response.Patch, review.Response.PatchType = []byte("["+strings.Join(operations, ",")+"]"), &kind
		}
		review.Request = nil
		return review
	})
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	rule := func(group, plural string) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create,
				admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"},
				Resources: []string{plural}},
		}
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "mutate-" + e.Apps},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none,
			FailurePolicy: &fail,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &server.URL,
				CABundle: CertificateOf(server)},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.Apps}},
			Rules: []admissionregistrationv1.RuleWithOperations{rule("", "configmaps"),
				rule("apps", "deployments")},
		}},
	}
	client := e.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := client.Create(e.Ctx, configuration, metav1.CreateOptions{})
	check.NoError(e, err)
	e.Cleanup(func() {
		err := client.Delete(context.WithoutCancel(e.Ctx), configuration.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			e.Error(err)
		}
	})
	e.Eventually("the webhook is called", func() error {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		_, err := e.Kube.CoreV1().ConfigMaps(e.Apps).Create(e.Ctx, probe,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && !called.Load() {
			err = errors.New("it was not called")
		}
		return err
	})
}

// ValidatingWebhook registers a validating webhook for one operation on a core resource in Apps until the test ends.
func (e *Env) ValidatingWebhook(
	operation admissionregistrationv1.OperationType, plural string, at admissionregistrationv1.WebhookClientConfig,
) {
	e.Helper()
	none, fail := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	client := e.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration, err := client.Create(e.Ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "validate-"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none,
			FailurePolicy: &fail, ClientConfig: at,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.Apps}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{operation},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{plural}},
			}},
		}},
	}, metav1.CreateOptions{})
	check.NoError(e, err)
	e.Cleanup(func() {
		check.Report(e, client.Delete(context.WithoutCancel(e.Ctx), configuration.Name, metav1.DeleteOptions{}))
	})
}
