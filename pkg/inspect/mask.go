package inspect

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/report"
)

// maxSecretBytes bounds the live values of Secrets that one comparison keeps in memory to find them in other texts.
const maxSecretBytes = 16 << 20

// liveSecrets collects the values of the live Secrets of a release: what the release declares may quote them, and so may every
// live object.
type liveSecrets struct {
	mu      sync.Mutex // guards the rest
	secrets []map[string]any
	bytes   int
}

// add keeps the values of an object that is a Secret. Nil and other objects are passed over. Beyond maxSecretBytes nothing is
// kept, and values refuses.
func (s *liveSecrets) add(live *unstructured.Unstructured) {
	if live == nil || live.GetKind() != "Secret" {
		return
	}
	data, _ := live.Object["data"].(map[string]any)
	stringData, _ := live.Object["stringData"].(map[string]any) // only saved objects have it
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, values := range []map[string]any{data, stringData} {
		for _, value := range values {
			text, _ := value.(string)
			s.bytes += len(text)
		}
	}
	if s.bytes <= maxSecretBytes {
		s.secrets = append(s.secrets, map[string]any{"kind": "Secret", "data": data, "stringData": stringData})
	}
}

// values returns the values of all Secrets that were added, and of those among the objects of the release. The error says that
// they were too many to be kept.
func (s *liveSecrets) values(declared []manifest.Object) (report.Values, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes > maxSecretBytes {
		return report.Values{}, fmt.Errorf("its live Secrets hold more than %d MiB, which is too much to find and mask in other texts", maxSecretBytes>>20)
	}
	all := s.secrets
	for _, o := range declared {
		all = append(all, o.Content)
	}
	return report.ValuesOf(all...), nil
}

// mask takes the values of all Secrets of the release, declared and live ones, out of both sides of every difference.
func (c *comparer) mask(declared []manifest.Object) error {
	if c.options.Masker.Show || len(c.Differences) == 0 {
		return nil
	}
	values, err := c.secrets.values(declared)
	if err != nil {
		return fmt.Errorf("release %s: %w", c.Release.Key, err)
	}
	for i := range c.Differences {
		d := &c.Differences[i]
		d.Want, d.Have = c.options.Masker.Object(d.Want, values), c.options.Masker.Object(d.Have, values)
	}
	return nil
}
