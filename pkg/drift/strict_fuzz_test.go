package drift

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fieldsOf returns random fields of v, in the form of FieldsV1: of sixteen about share.
func (s *source) fieldsOf(v any, share int) map[string]any {
	fields := map[string]any{}
	if s.n(16) < share {
		fields["."] = map[string]any{}
	}
	switch x := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(x) {
			if s.n(16) < share {
				fields["f:"+key] = s.fieldsOf(x[key], share)
			}
		}
	case []any:
		for _, e := range x {
			if name := s.elementName(e); name != "" && s.n(16) < share {
				fields[name] = s.fieldsOf(e, share)
			}
		}
	}
	if s.n(32) == 0 {
		fields[[]string{"f:a", "v:1", `k:{"name":"a"}`, "i:0", "x:y"}[s.n(5)]] = map[string]any{"f:b": map[string]any{}}
	}
	return fields
}

func (s *source) elementName(e any) string {
	m, ok := e.(map[string]any)
	if !ok {
		data, err := json.Marshal(e)
		if err != nil {
			return ""
		}
		return "v:" + string(data)
	}
	key := map[string]any{}
	for _, field := range [][]string{{"name"}, {"name"}, {"name"}, {"containerPort", "protocol"}, {"ip"}, {"name", "image"}}[s.n(6)] {
		if v, ok := m[field]; ok {
			key[field] = v
		}
	}
	data, err := json.Marshal(key)
	if err != nil {
		return ""
	}
	return "k:" + string(data)
}

// managers returns random managed fields of live.
func (s *source) managers(live map[string]any) []metav1.ManagedFieldsEntry {
	var list []metav1.ManagedFieldsEntry
	for i := range 1 + s.n(4) {
		share := 14
		if i > 0 {
			share = 4 + s.n(8)
		}
		data, err := json.Marshal(s.fieldsOf(live, share))
		if err != nil {
			continue
		}
		if s.n(12) == 0 {
			most := s.n(64)
			data = s.data[:min(len(s.data), most)]
		}
		manager := "x"
		if i > 0 {
			manager = []string{"x", "y", "helm", "kubelet", "before-first-apply"}[s.n(5)]
		}
		op := []metav1.ManagedFieldsOperationType{update, apply}[s.n(2)]
		list = append(list, wrote(manager, op, []string{"", "", "scale", "status"}[s.n(4)], i, string(data)))
	}
	return list
}

func checkRandomStrict(t *testing.T, kinds *Schemas, data []byte) {
	t.Helper()
	s := &source{data: data}
	desired := s.pod()
	opt := Options{}
	if s.n(4) > 0 {
		opt.Schema = schemaOf(kinds, desired)
	}
	live := s.live(desired)
	desired["kind"], live["kind"] = "X", "X" // a pod's spec stays whoever owns it
	opt.Strict = &Strict{ManagedFields: stillOwned(t, s.managers(live), live)}
	if s.n(4) == 0 {
		name := s.name()
		opt.Ignore = func(path []string) bool { return path[len(path)-1] == name }
	}
	checkStrict(t, desired, live, opt)
	if s.n(3) > 0 {
		return
	}
	other := s.live(live)
	opt.Accepted = Learn(desired, live, opt)
	opt.Strict = &Strict{ManagedFields: stillOwned(t, s.managers(other), other)}
	checkStrict(t, desired, other, opt)
}

func TestRandomAdditionsAreTakenOut(t *testing.T) {
	kinds := schemas(t)
	randomly(1500, 100, 700, func(data []byte) { checkRandomStrict(t, kinds, data) })
}

func FuzzStrict(f *testing.F) {
	kinds := schemas(f)
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	randomly(8, 400, 401, func(data []byte) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) { checkRandomStrict(t, kinds, data) })
}

// FuzzStrictManagedFields compares with managed fields that are anything.
func FuzzStrictManagedFields(f *testing.F) {
	kinds := schemas(f)
	for _, fields := range []string{
		strictHelm, helmFields, `{}`, `[]`, `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{}}}}}}}`,
		`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":null}":{},"k:{}":{},"v:[1,{}]":{},"i:x":{},"i:0":{}}}}}}`,
	} {
		f.Add([]byte(fields), []byte(`{}`))
		f.Add([]byte(`{"f:metadata":{"f:labels":{"f:team":{}}}}`), []byte(fields))
	}
	f.Fuzz(func(t *testing.T, foreign, kept []byte) {
		desired, live := obj(t, deployment), obj(t, deploymentLive)
		managers := entries{
			wrote("x", update, "", 1, string(foreign)), wrote("kubelet", update, "", 2, string(kept)),
		}
		checkStrict(t, desired, live,
			Options{Schema: schemaOf(kinds, desired), Strict: &Strict{ManagedFields: managers}})
	})
}
