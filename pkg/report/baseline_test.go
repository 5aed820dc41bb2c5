package report

import (
	"slices"
	"testing"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestBaseline(t *testing.T) {
	object := Object{Kind: "ConfigMap", Namespace: "apps", Name: "web"}
	read, err := ReadBaseline([]byte(`
apiVersion: cli.helm-locker.cattle.io/v1
kind: ReleaseDriftList
items:
- {namespace: apps, name: web, differences: [{kind: ConfigMap, namespace: apps, name: web, state: Modified, changes: [
    {path: /spec/replicas, operation: Modified, live: 5}, {path: /spec/big, operation: Modified, live: 9007199254740993},
    {path: /data/any, operation: Modified}, {path: /data/quoted, operation: Modified, live: "a <secret 0123abcd>"}]}]}
`))
	check.NoError(t, err)
	for name, test := range map[string]struct {
		change FieldChange
		known  bool
	}{
		"the same number":               {FieldChange{Path: "/spec/replicas", Live: int64(5)}, true},
		"another number":                {FieldChange{Path: "/spec/replicas", Live: int64(6)}, false},
		"its digits as a text":          {FieldChange{Path: "/spec/replicas", Live: "5"}, false},
		"a number beyond a float":       {FieldChange{Path: "/spec/big", Live: int64(9007199254740993)}, true},
		"the next such number":          {FieldChange{Path: "/spec/big", Live: int64(9007199254740992)}, false},
		"any value":                     {FieldChange{Path: "/data/any", Live: "x"}, true},
		"a masked value":                {FieldChange{Path: "/data/quoted", Live: "a <secret ffff0000>"}, true},
		"another field":                 {FieldChange{Path: "/data/other", Live: "x"}, false},
		"a field that was removed":      {FieldChange{Path: "/data/any", Operation: drift.Removed}, false},
		"a masked value, known without": {FieldChange{Path: "/spec/replicas", Live: "<secret 0123abcd>"}, false},
	} {
		if test.change.Operation == "" {
			test.change.Operation = drift.Modified
		}
		now := Entry(object, "Modified", []FieldChange{{Path: "/data/any", Operation: drift.Modified}, test.change})
		changes, isNew := now.New(read.Known("", "apps", "web"))
		check.That(t, isNew != test.known && isNew == slices.Equal(changes, []int{1}), "%s: new is %v: %v", name, isNew,
			changes)
	}
	_, isNew := Entry(object, "Missing", nil).New(read.Known("", "apps", "web"))
	check.That(t, isNew, "another state is known")
	check.Equal(t, len(read.Known("prod-1", "apps", "web")), 0, "another cluster has known drift")
	check.Equal(t, len(read.Known("", "apps", "other")), 0, "another release has known drift")
}
