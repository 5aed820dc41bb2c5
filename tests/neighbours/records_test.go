package neighbours

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// setStatus changes the status in the record of a revision of the release app, as Flux does to an interrupted
// operation, and the plugin helm-set-status of k3s: the record is read, changed and stored again.
func (w *fixture) setStatus(revision int, status string) {
	w.Helper()
	secrets := w.Kube.CoreV1().Secrets(w.Apps)
	secret, err := secrets.Get(w.Ctx, release.ObjectName("app", revision), metav1.GetOptions{})
	check.NoError(w, err)
	record := w.decode(secret)
	info, ok := record["info"].(map[string]any)
	if !ok {
		w.Fatalf("the record has no info: %v", record)
	}
	info["status"] = status
	content, err := json.Marshal(record)
	check.NoError(w, err)
	payload, err := kit.EncodePayload(content)
	check.NoError(w, err)
	secret.Data[release.DataKey], secret.Labels["status"] = payload, status
	_, err = secrets.Update(w.Ctx, secret, metav1.UpdateOptions{})
	check.NoError(w, err)
}

// decode returns a record of Helm's.
func (w *fixture) decode(secret *corev1.Secret) map[string]any {
	w.Helper()
	zipped, err := base64.StdEncoding.DecodeString(string(secret.Data[release.DataKey]))
	check.NoError(w, err)
	reader, err := gzip.NewReader(bytes.NewReader(zipped))
	check.NoError(w, err)
	content, err := io.ReadAll(reader)
	check.NoError(w, err)
	record := map[string]any{}
	check.NoError(w, json.Unmarshal(content, &record))
	return record
}
