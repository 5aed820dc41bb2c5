package integration

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Each of these manifests has a bad document, and a good one whose object has drifted.
func TestI9_ManifestThatDoesNotParseIsNotEnforcedAtAll(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"truncated":             "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b",
		"no-kind":               "---\napiVersion: v1\nmetadata: {name: b}\ndata: {key: value}\n",
		"no-name":               "---\napiVersion: v1\nkind: ConfigMap\ndata: {key: value}\n",
		"no-mapping":            "---\n- just\n- a list\n",
		"tab":                   "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: b\n",
		"data-that-is-no-text":  "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {key: &loop [*loop]}\n",
		"unfinished-list-items": "---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap}]\n",
	}
	w := newFixture(t)
	for name, document := range bad {
		good := "good-of-" + name
		w.Forged(good, kit.ConfigMap(good, "declared"))
		// The next revision has the very same good document, and a bad one.
		w.Forge(kit.ForgedRecord{Name: good, Revision: 2, Manifest: kit.ConfigMap(good, "declared") + document})
	}
	for name := range bad {
		good := "good-of-" + name
		w.Says(good, v1alpha1.ConditionReady, v1alpha1.ReasonManifestInvalid, "revision 2")
		w.WaitReason(good, v1alpha1.ConditionStalled, v1alpha1.ReasonManifestInvalid)
		w.WaitState(good, v1alpha1.StateError)
	}
	w.Proxy.Reset()
	for name := range bad {
		w.Patch(kit.ConfigMaps, "good-of-"+name, `{"data":{"key":"tampered"}}`)
	}
	w.PassFence() // others go on
	for name := range bad {
		w.ExpectKey("good-of-"+name, "tampered")
	}
	w.ExpectNoWrites()
	// A good revision ends it.
	w.Forge(kit.ForgedRecord{Name: "good-of-tab", Revision: 3, Manifest: kit.ConfigMap("good-of-tab", "declared")})
	w.WaitReady("good-of-tab", 3)
	w.WaitField(kit.ConfigMaps, "good-of-tab", "data.key", "declared")
}

// An invalid manifest is parsed once: no event of its HelmRelease triggers another read.
func TestI12_ManifestThatDoesNotParseIsReadOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	record := w.Forge(kit.ForgedRecord{Name: "bad", Manifest: "---\nno: kind\n"})
	w.CreateHelmRelease("bad")
	w.Says("bad", v1alpha1.ConditionReady, v1alpha1.ReasonManifestInvalid)
	w.PassFence()
	w.Proxy.Reset()
	w.PatchHelmRelease("bad", `{"spec":{"mode":"Detect"}}`)
	w.WaitObserved("bad")
	for _, r := range w.Proxy.Requests() {
		check.That(t, !strings.HasSuffix(r.Path, "/secrets/"+record.GetName()), "the record was read again: %s", r)
	}
}

func TestI10_BadRecordsEndInAConditionAndOthersGoOn(t *testing.T) {
	t.Parallel()
	encode := func(record []byte) []byte {
		payload, err := kit.EncodePayload(record)
		check.NoError(t, err)
		return payload
	}
	w := newFixture(t)
	record, err := json.Marshal(map[string]any{
		"name": "x", "namespace": w.Apps, "version": 1, "info": map[string]any{"status": "deployed"},
		"manifest": kit.ConfigMap("x", "y"),
	})
	check.NoError(t, err)
	whole := encode(record)
	// Compressed members one after another are one stream: no need to compress the whole of it.
	members := []kit.Compressed{{Content: []byte(`{"name":"bomb","manifest":"`)},
		{Content: bytes.Repeat([]byte("a"), 1<<20), Times: 100}}
	bomb, err := kit.EncodeMembers(members...)
	check.NoError(t, err)
	t.Logf("the bomb has %d bytes", len(bomb))
	tests := map[string]struct {
		record  kit.ForgedRecord
		message string
	}{
		"truncated":  {kit.ForgedRecord{Payload: whole[:len(whole)*2/3/4*4]}, "truncated"},
		"not-base64": {kit.ForgedRecord{Payload: []byte("this is not base64!")}, "not JSON"},
		"not-gzip":   {kit.ForgedRecord{Payload: []byte("cGxhaW4gdGV4dCwgbm90aGluZyBtb3Jl")}, "not JSON"},
		"not-json":   {kit.ForgedRecord{Payload: encode([]byte("<xml/>"))}, "JSON"},
		"other-json": {kit.ForgedRecord{Payload: encode([]byte(`["a", 1]`))}, "wrong type"},
		"wrong-type": {kit.ForgedRecord{Payload: encode([]byte(`{"name":"wrong-type","version":"one"}`))},
			"wrong type"},
		"empty-object":  {kit.ForgedRecord{Payload: encode([]byte(`{}`))}, "has no name"},
		"empty":         {kit.ForgedRecord{Payload: []byte{}}, "missing or empty"},
		"bomb":          {kit.ForgedRecord{Payload: bomb}, "one value in it has more than 20971520 bytes"},
		"of-another":    {kit.ForgedRecord{Payload: whole}, `name is "x" in the payload`},
		"no-data":       {kit.ForgedRecord{NoData: true}, `"release"`},
		"other-version": {kit.ForgedRecord{Labels: map[string]string{"version": "7"}}, `label "version" is "7"`},
		"no-version":    {kit.ForgedRecord{Labels: map[string]string{"version": ""}}, `label "version" is missing`},
		"no-status":     {kit.ForgedRecord{Labels: map[string]string{"status": ""}}, `label "status" is missing`},
		"other-name-label": {kit.ForgedRecord{Labels: map[string]string{"name": "somebody"}},
			`label "name" is "somebody"`},
	}
	for name, test := range tests {
		test.record.Name = name
		if test.record.Manifest == "" {
			test.record.Manifest = kit.ConfigMap(name, "declared")
		}
		w.Forge(test.record)
		w.CreateHelmRelease(name)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &fixture{Fixture: w.On(t)}
			w.Says(name, v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed, test.message, w.Apps+
				"/sh.helm.release.v1."+name+".v1")
			w.WaitReason(name, v1alpha1.ConditionStalled, v1alpha1.ReasonDecodeFailed)
			w.WaitState(name, v1alpha1.StateError)
			check.That(t, w.Get(kit.ConfigMaps, name) == nil, "something was created of a record that cannot be read")
		})
	}
	w.PassFence() // others go on
	// A repaired record ends the error.
	w.Forge(kit.ForgedRecord{Name: "truncated", Manifest: kit.ConfigMap("truncated", "declared")})
	w.WaitReady("truncated", 1)
	w.WaitField(kit.ConfigMaps, "truncated", "data.key", "declared")
}

// A broken record is neither a deleted release nor a reason to fall back to an older record.
func TestI10_UnreadableNewerRecordUnlocks(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("app", kit.ConfigMap("settings", "declared"))
	w.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("settings", "second"),
		Labels: map[string]string{"version": "two"}})
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDecodeFailed, `label "version" is "two"`)
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"second"}}`)
	w.PassFence()
	w.ExpectKey("settings", "second")
}

func TestI10_MissingKindIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	group := w.Apps + ".example.com"
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared") + widget(group)})
	w.CreateHelmRelease("app")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForKind, "Widget", group+"/v1")
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	w.Reverts("settings", "declared") // the rest is protected meanwhile
	n := w.HelmRelease("app").Status.Objects
	check.That(t, n.Tracked == 2 && n.Waiting == 1, "objects are %+v", n)

	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}
	w.createIn(kit.Definitions, "", widgetDefinition(group).Object)
	w.WaitReady("app", 1)
	w.WaitField(gvr, "widget", "spec.size", int64(1))
	w.Patch(gvr, "widget", `{"spec":{"size":2}}`)
	w.WaitField(gvr, "widget", "spec.size", int64(1))

	// Deleting the definition deletes all its objects; once it exists again, the release's objects are re-created.
	w.Kubectl("delete", "crd", "widgets."+group)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForKind, "Widget", group+"/v1")
	w.Reverts("settings", "declared")
	w.createIn(kit.Definitions, "", widgetDefinition(group).Object)
	w.WaitField(gvr, "widget", "spec.size", int64(1))
	w.WaitReady("app", 1)
	w.Patch(gvr, "widget", `{"spec":{"size":2}}`)
	w.WaitField(gvr, "widget", "spec.size", int64(1))
}
