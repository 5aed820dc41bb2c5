package kit

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// manyValues renders ten objects of each of four kinds. Each contains the number of the revision.
const manyValues = `
{{ $value := .Values.value | toString | quote }}
{{ range $i := until 10 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm-{{ $i }}}
data: {value: {{ $value }}, other: same}
---
apiVersion: v1
kind: Secret
metadata: {name: secret-{{ $i }}}
stringData: {value: {{ $value }}}
---
apiVersion: v1
kind: Service
metadata: {name: service-{{ $i }}}
spec:
  selector: {app: some, value: {{ $value }}}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: deployment-{{ $i }}}
spec:
  selector: {matchLabels: {app: some}}
  template:
    metadata: {labels: {app: some}}
    spec:
      containers:
      - name: main
        image: example.com/main:1
        env: [{name: VALUE, value: {{ $value }}}]
{{ end }}
`

// byCommandEvery and waitEvery make some upgrades use Helm's commands, and some wait until the previous revision is
// locked: upgrades then meet the release in every stage of locking.
const (
	byCommandEvery = 10
	waitEvery      = 5
)

// upgradedKinds are the kinds of manyValues, each with a patch for the value of an object as a format of fmt.Sprintf.
var upgradedKinds = map[schema.GroupVersionResource]string{
	ConfigMaps:  `{"data":{"value":%q}}`,
	Secrets:     `{"stringData":{"value":%q}}`,
	Services:    `{"spec":{"selector":{"value":%q}}}`,
	Deployments: `{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"VALUE","value":%q}]}]}}}}`,
}

// Upgrades is the locked release app under repeated upgrades by Helm 3 and Helm 4. Each revision changes all of its
// objects, and every state of each is recorded.
type Upgrades struct {
	*Env
	Helm3, Helm4 cluster.Helm
	history      *History
	sdk          *HelmSDK
	chart        string
	value        int // of the newest revision, and its number
}

// NewUpgrades installs the release and locks it. Helm connects to the API server directly, unless the caller sets
// Helm3 and Helm4. Most upgrades use Helm 3 as a library: they take milliseconds where a command takes a second.
func NewUpgrades(e *Env) *Upgrades {
	e.Helper()
	u := &Upgrades{Env: e, Helm3: e.Cluster.Helm3(), Helm4: e.Cluster.Helm4(), sdk: e.HelmSDK(e.Apps, e.Apps),
		chart: e.Chart("app", manyValues), value: 1}
	e.Helm(u.Helm3, "install", "app", u.chart, "--set", "value=1")
	e.Lock("app")
	u.history = e.Record(slices.Collect(maps.Keys(upgradedKinds))...)
	return u
}

// Next upgrades the release to its next revision.
func (u *Upgrades) Next() error {
	u.Helper()
	u.value++
	if err := u.upgrade(); err != nil {
		return fmt.Errorf("upgrade to revision %d: %w", u.value, err)
	}
	if u.value%waitEvery == 0 {
		u.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
	}
	return nil
}

func (u *Upgrades) upgrade() error {
	switch u.value % (2 * byCommandEvery) {
	case 0:
		return u.byCommand(u.Helm4)
	case byCommandEvery:
		return u.byCommand(u.Helm3)
	}
	return u.sdk.Upgrade(u.chart, map[string]any{"value": u.value})
}

func (u *Upgrades) byCommand(h cluster.Helm) error {
	_, err := h.Run(u.Ctx, "upgrade", "app", u.chart, "--set", fmt.Sprintf("value=%d", u.value), "--history-max", "5",
		"--namespace", u.Apps)
	return err
}

// carried returns the value in an object of manyValues.
func carried(u *unstructured.Unstructured) string {
	path := map[string]string{"Service": "spec.selector.value",
		"Deployment": "spec.template.spec.containers.0.env.0.value"}[u.GetKind()]
	value := fmt.Sprint(Field(u, cmp.Or(path, "data.value")))
	if plain, err := base64.StdEncoding.DecodeString(value); err == nil && u.GetKind() == "Secret" {
		return string(plain)
	}
	return value
}

// Tamper changes a random object every few milliseconds, to a value of no revision, until stop is closed. It connects
// to the API server directly.
func (u *Upgrades) Tamper(stop <-chan struct{}) {
	u.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"cm-%d", "secret-%d", "service-%d", "deployment-%d"}
	resources := []schema.GroupVersionResource{ConfigMaps, Secrets, Services, Deployments}
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			u.Logf("tampered %d times", n)
			return
		case <-tick.C:
		}
		kind := random.IntN(len(resources))
		gvr, name := resources[kind], fmt.Sprintf(names[kind], random.IntN(10))
		patch := fmt.Appendf(nil, upgradedKinds[gvr], fmt.Sprintf("tampered-%d", n))
		_, err := u.In(gvr, u.Apps).Patch(u.Ctx, name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{FieldManager: Tamperer})
		if err != nil && !apierrors.IsConflict(err) {
			u.Errorf("tamper with %s: %v", name, err)
			return
		}
	}
}

// Check waits until the newest revision is locked and every object has its value, and checks that no object ever
// returned to the value of an older revision. Unless tampered is set, it also checks that each write was Helm's: it
// brought the value of a newer revision.
func (u *Upgrades) Check(tampered bool) {
	u.Helper()
	u.WaitReady("app", u.value)
	want := strconv.Itoa(u.value)
	if objects := len(u.history.Objects()); objects != 40 {
		u.Errorf("%d objects, want 40", objects)
	}
	for _, key := range u.history.Objects() {
		u.Eventually(key.Name+" is as the newest revision says", func() error {
			live := u.Get(key.Resource, key.Name)
			if live == nil || carried(live) != want {
				return fmt.Errorf("it is %v", live)
			}
			return nil
		})
	}
	u.history.CatchUp()
	for _, key := range u.history.Objects() {
		if err := onlyForward(u.history.States(key.Resource, key.Name), tampered); err != nil {
			u.Errorf("%s: %v", key.Name, err)
		}
	}
}

func onlyForward(states []*unstructured.Unstructured, tampered bool) error {
	newest := 0
	values := make([]string, 0, len(states))
	for _, state := range states {
		if state == nil {
			return fmt.Errorf("it was deleted after %q", values)
		}
		value := carried(state)
		values = append(values, value)
		n, err := strconv.Atoi(value)
		switch {
		case err != nil && !(tampered && strings.HasPrefix(value, "tampered-")):
			return fmt.Errorf("value %q is of no revision", value)
		case err == nil && n < newest:
			return fmt.Errorf("went back from %d to %d: %q", newest, n, values)
		case err == nil && n == newest && !tampered:
			return fmt.Errorf("was written again at %d: %q", newest, values)
		case err == nil:
			newest = n
		}
	}
	return nil
}
