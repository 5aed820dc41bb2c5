package integration

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The log at level debug explains each judgement and the action, and at level trace it has the events and requests.
// TestI7_SecretsStaySecret searches it for values.
func TestLogsTellWhy(t *testing.T) {
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", kit.ConfigMap("app", "declared"))
	w.Reverts("app", "declared")
	w.Delete(kit.ConfigMaps, "app")
	w.WaitField(kit.ConfigMaps, "app", "data.key", "declared")

	object := fmt.Sprintf(`object="?ConfigMap %s/app"?`, w.Apps)
	for what, pattern := range map[string]string{
		"a lock":          `level=debug msg="read the record" objects=1 .*revision=1 took=`,
		"an object":       `level=debug msg="judged the object" ` + object + ` .*state=InSync`,
		"drift":           `level=debug msg="judged the object" ` + object + ` paths=\S*data.key\S* .*state=Drifted`,
		"a missing one":   `level=debug msg="judged the object" ` + object + ` .*state=Missing`,
		"a check":         `level=debug msg="verified the record" holds=true .*took=`,
		"a write":         `level=debug msg="wrote the object" created=false done=true ` + object + `.*took=`,
		"a creation":      `level=debug msg="wrote the object" created=true done=true ` + object + `.*took=`,
		"an event":        `level=trace msg=observed ` + object + ` version=`,
		"another event":   `level=trace msg=gone ` + object + ` version=`,
		"a request":       `level=trace msg=request method=PATCH path=\S*/configmaps/app status=200 took=`,
		"what came of it": `level=info msg=reverted .*` + object + ` .*paths=\S*data.key`,
	} {
		w.Until("the log tells of "+what, func() (any, bool) {
			return pattern, regexp.MustCompile(pattern).MatchString(w.Running.Log())
		})
	}
	check.That(t, !strings.Contains(w.Running.Log(), "tampered"), "the log quotes a value")
}
