package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/process"
)

// emptyWebhook measures the API server's own price for a webhook: the guard's writes, with a webhook of this process
// for the objects of the second side, which decodes each review and allows it.
func (b *bench) emptyWebhook(ctx context.Context, sides [2][]object) (err error) {
	var called atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called.Add(1)
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		review.Request = nil
		// An error means that the API server has disconnected: the write is measured nevertheless.
		_ = json.NewEncoder(w).Encode(review)
	}))
	defer server.Close()
	configuration, err := b.register(ctx, server, sides[1][0].namespace)
	if err != nil {
		return err
	}
	client := b.setup.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	defer func() {
		err = errors.Join(err, client.Delete(context.WithoutCancel(ctx), configuration, metav1.DeleteOptions{}))
	}()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := process.Poll(waiting, 100*time.Millisecond, func() (bool, error) {
		return called.Load() > 0, b.annotate(waiting, sides[1][0])
	}); err != nil {
		return fmt.Errorf("the empty webhook is not called: %w", err)
	}
	return b.writeBoth(ctx, sides, turns{name: emptyWrite, rounds: timesGuard * b.Rounds, tamper: b.annotate})
}

// emptyWrite is the name of a write through the empty webhook.
const emptyWrite = "write through a webhook that only allows"

// register lets the API server ask a server about updates of objects of a namespace.
func (b *bench) register(ctx context.Context, server *httptest.Server, namespace string) (name string, err error) {
	none, ignore := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Ignore
	rule := func(group, plural string) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"},
				Resources: []string{plural}},
		}
	}
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-empty"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "empty.bench.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none,
			FailurePolicy: &ignore,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{rule("", "configmaps"),
				rule("apps", "deployments")},
		}},
	}
	_, err = b.setup.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, configuration,
		metav1.CreateOptions{})
	return configuration.Name, err
}
