package drift

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// source turns bytes into decisions; when they run out it always decides for 0, which ends every recursion.
type source struct{ data []byte }

func (s *source) n(limit int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := int(s.data[0])
	s.data = s.data[1:]
	return b % limit
}

// The generators use very few different names and values, so that keys collide and elements resemble each other.

func (s *source) scalar() any {
	return []any{"", "a", "b", int64(0), int64(1), 1.0, 1.5, true, false}[s.n(9)]
}

func (s *source) list(most int, element func() any) []any {
	list := []any{}
	for range s.n(most + 1) {
		list = append(list, element())
	}
	return list
}

func (s *source) fill(m map[string]any, key string, v func() any) {
	if s.n(3) > 0 {
		m[key] = v()
	}
}

func (s *source) name() any { return []any{"a", "b", "c"}[s.n(3)] }

func (s *source) env() any {
	m := map[string]any{"name": s.name()}
	s.fill(m, "value", func() any { return []any{"", "x", "y"}[s.n(3)] })
	if s.n(4) == 0 {
		m["valueFrom"] = map[string]any{[]string{"fieldRef", "secretKeyRef"}[s.n(2)]: map[string]any{"key": s.name()}}
	}
	return m
}

func (s *source) port() any {
	m := map[string]any{"containerPort": int64(80 + s.n(3))}
	s.fill(m, "protocol", func() any { return []any{"TCP", "UDP"}[s.n(2)] })
	s.fill(m, "name", s.name)
	return m
}

func (s *source) container() any {
	m := map[string]any{"name": s.name()}
	s.fill(m, "image", s.name)
	s.fill(m, "args", func() any { return s.list(3, s.scalar) })
	s.fill(m, "env", func() any { return s.list(4, s.env) })
	s.fill(m, "ports", func() any { return s.list(3, s.port) })
	s.fill(m, "resources", func() any { return map[string]any{} })
	return m
}

func (s *source) volume() any {
	m := map[string]any{"name": s.name()}
	m[[]string{"emptyDir", "hostPath", "configMap"}[s.n(3)]] = s.wild(1)
	return m
}

// wild is anything.
func (s *source) wild(depth int) any {
	switch s.n(4) {
	case 1:
		if depth > 0 {
			return s.list(3, func() any { return s.wild(depth - 1) })
		}
	case 2, 3:
		m := map[string]any{}
		if depth > 0 {
			for range s.n(3) {
				m[fmt.Sprint(s.name())] = s.wild(depth - 1)
			}
		}
		return m
	}
	return s.scalar()
}

func (s *source) pod() map[string]any {
	metadata := map[string]any{"name": "p"}
	s.fill(metadata, "labels", func() any { return map[string]any{fmt.Sprint(s.name()): s.name()} })
	s.fill(metadata, "finalizers", func() any { return s.list(3, s.name) })
	spec := map[string]any{"containers": s.list(3, s.container)}
	s.fill(spec, "initContainers", func() any { return s.list(2, s.container) })
	s.fill(spec, "volumes", func() any { return s.list(3, s.volume) })
	s.fill(spec, "securityContext", func() any { return s.wild(2) })
	s.fill(spec, "tolerations", func() any {
		return s.list(3, func() any { return map[string]any{"key": s.name(), "value": s.scalar()} })
	})
	s.fill(spec, "hostAliases", func() any {
		return s.list(3, func() any { return map[string]any{"ip": s.name(), "hostnames": s.list(2, s.name)} })
	})
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "extra": s.wild(3)}
}

// live is either an independent object or the desired one, tampered with.
func (s *source) live(desired map[string]any) map[string]any {
	if s.n(3) == 0 {
		return s.pod()
	}
	live := clone(desired)
	sites := sitesOf(desired, nil, nil)
	for range 1 + s.n(5) {
		if len(sites) > 0 {
			tamper(live, sites[(s.n(256)*256+s.n(256))%len(sites)])
		}
	}
	return live
}

func checkRandom(t *testing.T, kinds *Schemas, data []byte) {
	t.Helper()
	s := &source{data: data}
	desired := s.pod()
	opt := Options{}
	if s.n(4) > 0 {
		opt.Schema = schemaOf(kinds, desired)
	}
	live := s.live(desired)
	if r := Compare(desired, clone(desired), opt); len(r.Changes) > 0 {
		t.Fatalf("an object differs from itself: %q\n%v", changes(r.Changes), desired)
	}
	checkRestores(t, desired, live, opt)
	opt.Accepted = Learn(desired, live, opt)
	if r := Compare(desired, live, opt); len(r.Changes) > 0 {
		t.Fatalf("changes %q after learning %v\ndesired %v\nlive    %v", changes(r.Changes), opt.Accepted, desired, live)
	}
	checkRestores(t, desired, s.live(live), opt)
	opt.Accepted = nil
	if depth := s.n(4); depth > 0 {
		name := s.name()
		opt.Ignore = func(path []string) bool { return path[len(path)-1] == name || len(path) > 3 && path[2] == name }
		checkRestores(t, desired, live, opt)
	}
}

// randomly runs do on sequences of random bytes of at least least, and less than most.
func randomly(runs, least, most int, do func(data []byte)) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range runs {
		data := make([]byte, least+rng.IntN(most-least))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		do(data)
	}
}

func TestRandomObjectsArePutRight(t *testing.T) {
	kinds := schemas(t)
	randomly(3000, 20, 320, func(data []byte) { checkRandom(t, kinds, data) })
}

func FuzzCompare(f *testing.F) {
	kinds := schemas(f)
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, data []byte) { checkRandom(t, kinds, data) })
}
