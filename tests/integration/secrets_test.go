package integration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Values that must appear nowhere: two declared by the chart and two of the tamperer.
const (
	plantedText, plantedData     = "sw0rdfish-declared-text", "sw0rdfish-declared-data"
	intruderText, intruderBinary = "haddock-of-the-intruder", "haddock-again-by-the-intruder"
)

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

var secretive = fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: credentials}
stringData: {text: %s}
data: {binary: %s}
---
apiVersion: v1
kind: Secret
metadata: {name: frozen}
stringData: {text: %s}
---
apiVersion: v1
kind: Secret
metadata: {name: guarded}
stringData: {text: %s}
---
apiVersion: v1
kind: Secret
metadata: {name: denied}
stringData: {text: %s}
`, plantedText, encoded(plantedData), plantedText, plantedText, plantedText)

// Not parallel: it also captures logrus' global logger, which wrangler uses.
func TestI7_SecretsStaySecret(t *testing.T) {
	global := &kit.LogBuffer{}
	logger := logrus.StandardLogger()
	level, out := logger.GetLevel(), logger.Out
	logrus.SetLevel(logrus.TraceLevel)
	logrus.SetOutput(global)
	t.Cleanup(func() { logrus.SetLevel(level); logrus.SetOutput(out) })

	w := newFixture(t, func(o *operator.ControllerOptions) { o.MetricsAddress = "127.0.0.1:0" })
	w.Installed(kit.Shared.Helm3(), "app", secretive)

	change := fmt.Sprintf(`{"data":{"text":%q,"binary":%q}}`, encoded(intruderText), encoded(intruderBinary))
	w.Patch(kit.Secrets, "credentials", change)
	w.WaitField(kit.Secrets, "credentials", "data",
		map[string]any{"text": encoded(plantedText), "binary": encoded(plantedData)})
	w.Delete(kit.Secrets, "credentials")
	w.WaitField(kit.Secrets, "credentials", "data.text", encoded(plantedText))

	// Refusals by validation (422), by an admission policy and by a webhook, the latter two with a message that
	// quotes the value. No output of the operator may repeat it.
	w.denyDeclaredValue("guarded", encoded(plantedText))
	w.Proxy.On(cluster.ForPath("/secrets/denied", http.MethodPatch),
		cluster.Fail(http.StatusForbidden, "admission webhook \"guard\" denied the request: "+plantedText+" and "+encoded(plantedText)))
	w.Patch(kit.Secrets, "frozen", `{"immutable":true,`+change[1:])
	w.Patch(kit.Secrets, "guarded", change)
	w.Patch(kit.Secrets, "denied", change)
	w.Until("all three refusals are reported", func() (any, bool) {
		n := strings.Count(w.asJSON(w.HelmRelease("app").Status), string(v1alpha1.DriftActionRefused))
		return n, n >= 3
	})
	ready := w.Condition("app", v1alpha1.ConditionReady)
	t.Logf("Ready is %s/%s: %s", ready.Status, ready.Reason, ready.Message)
	for _, want := range []string{"denied", "frozen", "guarded", `webhook "guard"`} {
		check.That(t, strings.Contains(w.asJSON(w.HelmRelease("app")), strings.ReplaceAll(want, `"`, `\"`)),
			"the status does not say what was refused, or by whom: %s", want)
	}

	metrics := kit.Metrics(w, w.Running)
	// A restarted operator first dry-runs a revert, and the dry run is refused.
	w.Running.Stop()
	second := kit.StartOperator(t, w.Proxy.RESTConfig(), w.Operator)
	w.Until("the new operator is refused too", func() (any, bool) {
		n := strings.Count(second.Log(), "revert refused")
		return n, n >= 3
	})

	sources := map[string]string{
		"the log": w.Running.Log(), "the log after a restart": second.Log(), "logrus' global logger": global.String(),
		"/metrics":   metrics,
		"the status": w.asJSON(w.HelmRelease("app")), "events of the release": w.events(w.Apps),
		"events of the HelmRelease": w.events(w.Operator),
	}
	for source, text := range sources {
		if len(text) == 0 && source != "logrus' global logger" {
			t.Errorf("%s is empty", source)
		}
		for _, value := range []string{plantedText, plantedData, intruderText, intruderBinary} {
			for _, form := range []string{value, encoded(value), value[:12], encoded(value)[:12]} {
				if i := strings.Index(text, form); i >= 0 {
					t.Errorf("%s has %q: ...%s", source, form, text[max(0, i-300):min(len(text), i+60)])
				}
			}
		}
	}
	for _, want := range []string{"data[text]", "data[binary]"} {
		if !strings.Contains(sources["the log"], want) { // which key it was is no secret
			t.Errorf("the log does not name the path %s", want)
		}
	}
}

// denyDeclaredValue makes an admission policy refuse an update of a Secret back to a value, and quote the value.
func (w *fixture) denyDeclaredValue(secret, value string) {
	w.Helper()
	name := "guard-" + w.Apps
	for _, body := range []string{
		fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":%q},"spec":{
			"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["UPDATE"],"resources":["secrets"],"resourceNames":[%q]}],
				"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":%q}}},
			"validations":[{"expression":"object.data.text != '%s'","messageExpression":"'the value ' + string(object.data.text) + ' is refused'"}]}}`, name, secret, w.Apps, value),
		fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":%q},
			"spec":{"policyName":%q,"validationActions":["Deny"]}}`, name, name),
	} {
		resource := "validatingadmissionpolicies"
		if strings.Contains(body, "PolicyBinding") {
			resource = "validatingadmissionpolicybindings"
		}
		path := "/apis/admissionregistration.k8s.io/v1/" + resource
		rest := w.Kube.Discovery().RESTClient()
		check.NoError(w, rest.Post().AbsPath(path).Body([]byte(body)).SetHeader("Content-Type",
			"application/json").Do(w.Ctx).Error())
		w.Cleanup(func() {
			check.Report(w, rest.Delete().AbsPath(path+"/"+name).Do(context.WithoutCancel(w.Ctx)).Error())
		})
	}
	w.Eventually("the policy is in force", func() error {
		err := w.TryPatch(kit.Secrets, secret, fmt.Sprintf(`{"data":{"text":%q}}`, value), metav1.DryRunAll)
		if err == nil {
			return fmt.Errorf("it does not refuse the value")
		}
		if !strings.Contains(err.Error(), "is refused") {
			return err
		}
		return nil
	})
}

func (w *fixture) events(namespace string) string {
	w.Helper()
	list, err := w.Kube.CoreV1().Events(namespace).List(w.Ctx, metav1.ListOptions{})
	check.NoError(w, err)
	return w.asJSON(list)
}

func (w *fixture) asJSON(v any) string {
	w.Helper()
	text, err := json.Marshal(v)
	check.NoError(w, err)
	return string(text)
}
