package lock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/lock"
)

// BenchmarkLoad is the work of locking a release once its record is read: from the text of its manifest to what is
// kept of each object.
func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	for i := range 13 {
		fmt.Fprintf(&text, shop, fmt.Sprintf("release-%d", i),
			strings.Repeat("    some: configuration of the usual length\n", 10))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, object := range desired(b, text.String()) {
			lock.Pack(object)
		}
	}
}
