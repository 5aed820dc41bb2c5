package order

import (
	"encoding/base64"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// manyValues renders ten objects of each of four kinds, all of which carry the number of the revision.
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

// upgrades is how many there are; a third as many while somebody tampers.
var upgrades = flag.Int("upgrades", 40, "how many upgrades TestI1_UpgradesUnderLock makes")

const (
	// byCommandEvery and waitEvery make some of the upgrades come from Helm's commands, and some wait until the
	// revision before is locked, so that upgrades find the release in every stage of locking.
	byCommandEvery = 10
	waitEvery      = 5
)

// kinds are the kinds of manyValues, with a patch that sets the value of an object, in the form for fmt.Sprintf.
var kinds = map[schema.GroupVersionResource]string{
	kit.ConfigMaps:  `{"data":{"value":%q}}`,
	kit.Secrets:     `{"stringData":{"value":%q}}`,
	kit.Services:    `{"spec":{"selector":{"value":%q}}}`,
	kit.Deployments: `{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"VALUE","value":%q}]}]}}}}`,
}

// carried returns the value that an object of manyValues carries.
func carried(u *unstructured.Unstructured) string {
	var value string
	var err error
	switch u.GetKind() {
	case "Service":
		value, _, err = unstructured.NestedString(u.Object, "spec", "selector", "value")
	case "Deployment":
		main := first(u.Object, "spec", "template", "spec", "containers")
		value, _, err = unstructured.NestedString(first(main, "env"), "value")
	case "Secret":
		var plain []byte
		if value, _, err = unstructured.NestedString(u.Object, "data", "value"); err == nil {
			plain, err = base64.StdEncoding.DecodeString(value)
			value = string(plain)
		}
	default:
		value, _, err = unstructured.NestedString(u.Object, "data", "value")
	}
	if err != nil {
		return err.Error()
	}
	return value
}

// first returns the first element of a list of objects; nil when there is none.
func first(object map[string]any, path ...string) map[string]any {
	list, _, err := unstructured.NestedSlice(object, path...)
	if err != nil || len(list) == 0 {
		return nil
	}
	element, ok := list[0].(map[string]any)
	if !ok {
		return nil
	}
	return element
}

func TestI1_UpgradesUnderLock(t *testing.T) {
	t.Run("without drift nothing is written", func(t *testing.T) {
		b, history := upgradedOften(t, *upgrades, nil)
		checkValues(b, history, *upgrades+1, false)
		if writes := b.writes(); len(writes) > 0 {
			b.Errorf("the operator wrote %d times to the objects of the release, for example %v", len(writes),
				writes[0])
		}
	})
	t.Run("while somebody tampers no Helm write is undone", func(t *testing.T) {
		times := max(1, *upgrades/3)
		b, history := upgradedOften(t, times, tamperAlways)
		checkValues(b, history, times+1, true)
		if len(b.landed()) == 0 {
			b.Error("no drift was reverted, so the test shows nothing")
		}
		b.Logf("%d writes of the operator landed, %d were refused", len(b.landed()), len(b.writes())-len(b.landed()))
	})
}

// upgradedOften installs and locks a release, upgrades it many times, and waits until the last revision is locked
// and every object is as it says. Meanwhile is run beside the upgrades, until its channel is closed.
func upgradedOften(t *testing.T, times int, meanwhile func(b *fixture, stop <-chan struct{})) (*fixture, *kit.History) {
	b := newFixture(t)
	u := newUpgrader(b, manyValues)
	b.Helm(kit.Shared.Helm3(), "install", "app", u.chart, "--set", "value=1")
	b.Lock("app")
	resources := make([]schema.GroupVersionResource, 0, len(kinds))
	for gvr := range kinds {
		resources = append(resources, gvr)
	}
	history := b.Record(resources...)
	stop := make(chan struct{})
	var beside sync.WaitGroup
	if meanwhile != nil {
		beside.Go(func() { meanwhile(b, stop) })
	}
	end := sync.OnceFunc(func() { close(stop); beside.Wait() })
	defer end()
	began := time.Now()
	for value := 2; value <= times+1; value++ {
		check.NoError(b, u.upgrade(value))
		if value%waitEvery == 0 {
			b.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
		}
	}
	b.Logf("%d upgrades of %d objects in %s", times, len(history.Objects()), time.Since(began).Round(time.Millisecond))
	end()
	b.WaitReady("app", times+1)
	return b, history
}

func (u *upgrader) upgrade(value int) error {
	switch value % (2 * byCommandEvery) {
	case 0:
		return u.byCommand(kit.Shared.Helm4(), value)
	case byCommandEvery:
		return u.byCommand(kit.Shared.Helm3(), value)
	}
	return u.bySDK(value)
}

// tamperAlways changes a random object every few milliseconds, to a value that no revision has.
func tamperAlways(b *fixture, stop <-chan struct{}) {
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"cm-%d", "secret-%d", "service-%d", "deployment-%d"}
	resources := []schema.GroupVersionResource{kit.ConfigMaps, kit.Secrets, kit.Services, kit.Deployments}
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			b.Logf("tampered %d times", n)
			return
		case <-tick.C:
		}
		kind := random.IntN(len(resources))
		gvr, name := resources[kind], fmt.Sprintf(names[kind], random.IntN(10))
		patch := fmt.Appendf(nil, kinds[gvr], fmt.Sprintf("tampered-%d", n))
		_, err := b.Dynamic.Resource(gvr).Namespace(b.Apps).Patch(b.Ctx, name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{FieldManager: tamperer})
		if err != nil && !apierrors.IsConflict(err) {
			b.Errorf("tamper with %s: %v", name, err)
			return
		}
	}
}

// checkValues checks that every object is as the newest revision says, and that no object ever went back to the value
// of an older revision. Other values are only allowed where somebody tampers.
func checkValues(b *fixture, history *kit.History, revision int, tampered bool) {
	b.Helper()
	want := strconv.Itoa(revision)
	if objects := len(history.Objects()); objects != 40 {
		b.Errorf("%d objects, want 40", objects)
	}
	for _, key := range history.Objects() {
		b.Eventually(key.Name+" is as the newest revision says", func() error {
			live := b.Get(key.Resource, key.Name)
			if live == nil || carried(live) != want {
				return fmt.Errorf("it is %v", live)
			}
			return nil
		})
	}
	history.CatchUp()
	for _, key := range history.Objects() {
		if err := onlyForward(history.States(key.Resource, key.Name), tampered); err != nil {
			b.Errorf("%s: %v", key.Name, err)
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
		case err == nil:
			newest = n
		}
	}
	return nil
}
