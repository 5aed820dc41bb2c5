package inspect

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/report"
)

// maxSecretBytes bounds the values of Secrets that one comparison keeps in memory, to find them in other texts. All
// their forms together take ten times as much. A Secret holds at most 1 MiB, and a release stores all of its Secrets in
// one.
const maxSecretBytes = 4 << 20

// liveSecrets collects the values of the live Secrets of a release. The manifest and every live object may quote them.
type liveSecrets struct {
	mu      sync.Mutex // guards the rest
	secrets []map[string]any
	bytes   int
}

// add keeps the values of a Secret. It ignores nil and other objects. Beyond maxSecretBytes it keeps nothing, and
// values returns an error.
func (s *liveSecrets) add(live *unstructured.Unstructured) {
	if live == nil || live.GetKind() != "Secret" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(live.Object)
}

// keep keeps the values of a Secret. s.mu is held.
func (s *liveSecrets) keep(secret map[string]any) {
	kept := map[string]any{"kind": "Secret"}
	for _, field := range []string{"data", "stringData"} { // only saved and declared objects have the second
		kept[field] = secret[field]
		switch values := secret[field].(type) {
		case map[string]any:
			for _, value := range values {
				text, _ := value.(string)
				s.bytes += len(text)
			}
		case string:
			s.bytes += len(values)
		}
	}
	if s.bytes <= maxSecretBytes {
		s.secrets = append(s.secrets, kept)
	}
}

// values returns the values of the live Secrets and of the declared ones. It returns an error beyond maxSecretBytes.
func (s *liveSecrets) values(declared []manifest.Object) (report.Values, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range declared {
		if o.ID.Kind == "Secret" {
			s.keep(o.Content)
		}
	}
	if s.bytes > maxSecretBytes {
		return report.Values{}, fmt.Errorf(
			"its Secrets hold more than %d MiB, which is too much to find and mask in other texts", maxSecretBytes>>20,
		)
	}
	return report.ValuesOf(s.secrets...), nil
}
