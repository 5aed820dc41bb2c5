package inspect

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// A comparison that is bounded keeps no content of large objects: a tenant may make many of them.
func TestABoundedComparisonKeepsNoLargeObject(t *testing.T) {
	small, large := map[string]any{"data": "x"}, map[string]any{"data": strings.Repeat("x", 1<<20)}
	for name, test := range map[string]struct {
		most       int
		want, have map[string]any
		left       bool
	}{
		"small objects":                    {50, small, small, false},
		"a large live object":              {50, small, large, true},
		"a large declared object":          {50, large, nil, true},
		"a comparison that has no bound":   {0, large, large, false},
		"an object that does not exist":    {50, small, nil, false},
		"an object whose deletion pending": {50, large, large, true},
	} {
		c := &comparer{options: CompareOptions{Most: test.most}}
		c.differs(&Difference{Want: test.want, Have: test.have})
		d := c.Differences[0]
		check.That(t, d.TooLarge == test.left && (d.Want == nil) == test.left, "%s: too large is %v, content is kept: %v",
			name, d.TooLarge, d.Want != nil)
	}
}
