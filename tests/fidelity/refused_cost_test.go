package fidelity

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// TestI5_AKeyThatMovedComesBackByFewRequests moves a key between the two maps of a ConfigMap, which the API server
// refuses to have it in both of. It counts the operator's requests until then, with nothing known of ConfigMaps.
func TestI5_AKeyThatMovedComesBackByFewRequests(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", `
apiVersion: v1
kind: ConfigMap
metadata: {name: maps}
data: {text: declared, size: "10"}
binaryData: {blob: AAEC}
`)
		w.Proxy.Reset()
		w.Patch(kit.ConfigMaps, "maps", `{"data":{"text":null,"blob":"evil","note":"mine"},"binaryData":{"blob":null,"text":"AAAA"}}`)
		w.Eventually("both keys are back, and the other addition stays", func() error {
			live := w.Get(kit.ConfigMaps, "maps")
			want := map[string]any{"data.text": "declared", "data.blob": nil, "data.note": "mine", "binaryData.blob": "AAEC",
				"binaryData.text": nil}
			for path, value := range want {
				if got := kit.Field(live, path); got != value {
					return fmt.Errorf("%s is %v", path, got)
				}
			}
			return nil
		})
		w.WaitReady("app", 1)
		patches := slices.DeleteFunc(w.Proxy.Writes(), func(r cluster.Request) bool {
			return r.Method != http.MethodPatch || !strings.HasSuffix(r.Path, "/configmaps/maps")
		})
		dry, refused := 0, 0
		for _, r := range patches {
			switch {
			case r.Query.Get("dryRun") != "":
				dry++
			case r.Code >= http.StatusBadRequest:
				refused++
			}
		}
		t.Logf("%d requests: %d refused, %d dry runs", len(patches), refused, dry)
		check.That(t, refused <= 1 && dry <= 8, "%d refused writes, %d dry runs", refused, dry)
	})
}
