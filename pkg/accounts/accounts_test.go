package accounts

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestTheAccountIsOneOfTheReleasesNamespace(t *testing.T) {
	rel := release.Key{Namespace: "apps", Name: "shop"}
	for name, tc := range map[string]struct {
		policy     Policy
		named      string
		want, says string
	}{
		"the operator itself":           {Policy{}, "", "", ""},
		"a default without its purpose": {Policy{DefaultServiceAccount: "locker"}, "", "", ""},
		"one that is named":             {Policy{}, "deployer", "system:serviceaccount:apps:deployer", ""},
		"the default": {Policy{Impersonate: true, DefaultServiceAccount: "locker"}, "",
			"system:serviceaccount:apps:locker", ""},
		"named before the default": {Policy{Impersonate: true, DefaultServiceAccount: "locker"}, "deployer",
			"system:serviceaccount:apps:deployer", ""},
		"none although one is needed": {Policy{Impersonate: true}, "", "",
			"set spec.serviceAccountName to one in namespace apps"},
		"another namespace by a colon": {Policy{}, "kube-system:admin", "", `ServiceAccount "kube-system:admin"`},
	} {
		got, err := tc.policy.Of(rel, tc.named)
		check.That(t,
			got == tc.want && (err == nil) == (tc.says == "") && (err == nil || strings.Contains(err.Error(), tc.says)),
			"%s: %q, %v", name, got, err)
	}
}

func objects(namespace string, n int) []Object {
	all := make([]Object, n)
	for i := range all {
		all[i] = Object{GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: namespace,
			Name: fmt.Sprint(i)}
	}
	return all
}

func TestRightsAreAskedForTogetherAndThenByName(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	ask := func(_ context.Context, o Object) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return o.Namespace == "mine" || o.Name == "1", nil
	}
	got, err := Rights(t.Context(), append(objects("mine", 3), objects("others", 3)...), ask)
	want := []bool{true, true, true, false, true, false}
	check.That(t, err == nil && reflect.DeepEqual(got, want), "%v, %v", got, err)
	if asked != 5 { // two places, three names
		t.Errorf("%d questions", asked)
	}
	asked = 0
	_, err = Rights(t.Context(), objects("others", 100*mostNamed), ask)
	check.That(t, err == nil && asked == 1+mostNamed, "%d questions, %v", asked, err)
}

func TestAnAnswerThatIsMissingIsAnError(t *testing.T) {
	broken := errors.New("no answer")
	if _, err := Rights(t.Context(), objects("others", 3), func(_ context.Context, o Object) (bool, error) {
		if o.Name == "2" {
			return true, broken
		}
		return false, nil
	}); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}
