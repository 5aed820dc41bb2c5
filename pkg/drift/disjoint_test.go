package drift

import "testing"

// The API server refuses a key that is in data and in binaryData.
func TestKeyMovedBetweenTheMapsOfAConfigMap(t *testing.T) {
	desired := obj(t, "{apiVersion: v1, kind: ConfigMap, data: {a: x}, binaryData: {b: eQ==}}")
	live := obj(t, "{apiVersion: v1, kind: ConfigMap, data: {b: evil, other: z}, binaryData: {a: ZXZpbA==}}")
	got := Compare(desired, live, Options{Schema: schemaOf(schemas(t), desired)})
	sameChanges(t, got.Changes, "Added /binaryData/a", "Removed /binaryData/b", "Removed /data/a", "Added /data/b")
	if want := obj(t,
		"{apiVersion: v1, kind: ConfigMap, data: {a: x, other: z}, binaryData: {b: eQ==}}"); !deepEqual(got.Target, want) {
		t.Errorf("target is %v", got.Target)
	}
	if !got.RemovesForeign {
		t.Error("a server-side apply would leave what others put there")
	}
}
