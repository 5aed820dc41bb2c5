package release_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/release"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range [][]byte{
		pack(minimal), encode([]byte(minimal)), pack(minimal)[:50], pack("{}"), []byte("%"), nil,
		encode([]byte(`{"chart":{"metadata":{"name":"a"}},"info":{"status":"deployed","last_deployed":"2026-01-01T00:00:00Z"}}`)),
		encode([]byte(`{"config":[[{}],1e5,"\ud800",null,true]}`)),
	} {
		f.Add(seed)
	}
	kinds := []error{release.ErrNoPayload, release.ErrTooLarge, release.ErrTruncated, release.ErrFormat, release.ErrIncomplete, release.ErrNoManifest}
	f.Fuzz(func(t *testing.T, payload []byte) {
		rel, err := release.Decode(payload, 1<<16)
		if err == nil {
			if rel.Name == "" || rel.Namespace == "" || rel.Manifest == "" || rel.Revision < 1 || !rel.Status.Known() {
				t.Errorf("an incomplete release: %+v", rel)
			}
			return
		}
		for _, kind := range kinds {
			if errors.Is(err, kind) {
				return
			}
		}
		t.Errorf("an error without a kind: %v", err)
	})
}

func BenchmarkDecode(b *testing.B) {
	manifest := strings.Repeat(fmt.Sprintf("line %s\\n", leak), 50000)
	payload := pack(strings.Replace(minimal, "kind: x", manifest, 1))
	b.SetBytes(int64(len(manifest)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := release.Decode(payload, release.DefaultLimit); err != nil {
			b.Fatal(err)
		}
	}
}
