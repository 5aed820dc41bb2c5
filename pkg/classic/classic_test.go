package classic_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/classic"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

var key = release.Key{Namespace: "apps", Name: "web"}

// copyIn returns the copy of an object in its annotation.
func copyIn(t *testing.T, u *unstructured.Unstructured) (text string, content map[string]any) {
	t.Helper()
	packed, err := base64.RawStdEncoding.DecodeString(u.GetAnnotations()[classic.Applied])
	check.NoError(t, err)
	r, err := gzip.NewReader(bytes.NewReader(packed))
	check.NoError(t, err)
	raw, err := io.ReadAll(r)
	check.NoError(t, err)
	check.NoError(t, json.Unmarshal(raw, &content))
	return string(raw), content
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	check.NoError(t, u.UnmarshalJSON([]byte(text)))
	return u
}

func TestTheMetadataHasTheClassicForm(t *testing.T) {
	u := object(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"a":"b"},
		"annotations":{"objectset.rio.cattle.io/applied":"older"}},
		"spec":{"x":[[1,{"name":"`+strings.Repeat("n", 70)+`","image":"`+strings.Repeat("i", 70)+`"}]],"n":null}}`)
	check.NoError(t, classic.Declare(u.Object, key))
	want := map[string]string{"objectset.rio.cattle.io/id": "object-set-applier",
		"objectset.rio.cattle.io/owner-gvk":       "internal.cattle.io/v1alpha1, Kind=objectSetState",
		"objectset.rio.cattle.io/owner-name":      "web",
		"objectset.rio.cattle.io/owner-namespace": "apps"}
	_, content := copyIn(t, u)
	got := u.GetAnnotations()
	delete(got, classic.Applied)
	check.That(t, maps.Equal(got, want) && u.GetLabels()["a"] == "b" && len(u.GetLabels()[classic.Hash]) == 40,
		"annotations %v, labels %v", got, u.GetLabels())
	wantAll := object(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},
		"spec":{"x":[[1,{"name":"`+strings.Repeat("n", 70)+`","image":"`+strings.Repeat("i", 64)+`"}]],"n":null}}`)
	wantAll.SetAnnotations(want)
	wantAll.SetLabels(u.GetLabels())
	check.That(t,
		reflect.DeepEqual(content["metadata"], wantAll.Object["metadata"]) &&
			strings.Contains(strings.TrimSpace(toJSON(t, content)), strings.Repeat("n", 70)) &&
			!strings.Contains(toJSON(t, content), strings.Repeat("i", 65)), "the copy is %v", content)
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	check.NoError(t, err)
	return string(text)
}

// The copy of a Secret has no value of it.
func TestI7_TheCopyOfASecretHasNoData(t *testing.T) {
	u := object(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"web"},"data":{"password":"aHVudGVyMg=="},
		"stringData":{"other":"hunter3"}}`)
	check.NoError(t, classic.Declare(u.Object, key))
	text, _ := copyIn(t, u)
	check.That(t, !strings.Contains(text, "password") && !strings.Contains(text, "other"), "the copy is %s", text)
	all := toJSON(t, u.Object)
	check.That(t, strings.Contains(all, "hunter3"), "the object lost its data: %s", all)
}

// The API server refuses an object with too many bytes of annotations.
func TestACopyThatIsTooLargeIsLeftOut(t *testing.T) {
	data := map[string]any{}
	for i := range 20000 {
		data[base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat(string(rune('a'+i%26)), i%7)))+
			strings.Repeat("k", i%31)+string(rune(0x4e00+i))] = i
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data}}
	check.NoError(t, classic.Declare(u.Object, key))
	got := len(u.GetAnnotations()[classic.Applied])
	check.That(t, got <= 128<<10, "the copy has %d bytes", got)
	check.Equal(t, u.GetAnnotations()[classic.ID], classic.SetID, "the other annotations are missing")
}

func TestKeysAreFoundByTheirPointers(t *testing.T) {
	for pointer, want := range map[string]bool{
		"/metadata/annotations/objectset.rio.cattle.io~1applied": true,
		"/metadata/labels/objectset.rio.cattle.io~1hash":         true,
		"/metadata/annotations/objectset.rio.cattle.io~1prune":   false,
		"/metadata/labels/app":                                   false,
		"/data/objectset.rio.cattle.io~1applied":                 false,
		"objectset.rio.cattle.io/applied":                        false,
	} {
		check.Equal(t, classic.IsAt(pointer), want, "%v", pointer)
	}
}
