package clitest

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/values"
	"github.com/rancher/helm-locker/tests/lib/charts"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var (
	replay       = flag.Int("replay", 20, "how many printed commands Helm runs for each chart; 0 for one of each field")
	replaySeed   = flag.Uint64("replay-seed", 1, "the seed of the sample of fields")
	replayPublic = flag.Bool("replay-public", false, "replay public charts too, which the Go module proxy serves")
)

// Helm runs a sample of the printed commands as they stand there. Each is a real upgrade, with the recorded chart as
// --chart-out writes it. The manifest has the wanted value afterwards, and so has the live object. The API server may
// refuse a value, since the test knows no schema: then `helm upgrade --dry-run=client` shows the manifest alone. At
// least half of the upgrades have to be real. Helm 3 and Helm 4 take turns.
func TestHelmReplaysPrintedCommands(t *testing.T) {
	chosen := charts.Local()
	if *replayPublic {
		chosen = charts.All()
	}
	for i, chart := range chosen {
		t.Run(chart.Name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			r := &replayer{fixture: w, helm: kit.Shared.Helm4(), random: rand.New(rand.NewPCG(*replaySeed, 2)),
				packages: w.TempDir(), asked: map[string]bool{}}
			if i%2 == 1 {
				r.helm = kit.Shared.Helm3()
			}
			w.Helm(r.helm, "install", "shop", chart.Path(t))
			r.manifest = w.Helm(r.helm, "get", "manifest", "shop")
			for *replay == 0 || r.replayed < *replay {
				if more := r.step(); !more && *replay == 0 {
					break
				} else if !more {
					clear(r.asked) // the fields have other values now
				}
				if r.questions > 8**replay && *replay > 0 {
					t.Fatalf("only %d commands in %d questions", r.replayed, r.questions)
				}
			}
			t.Logf("seed %d, %s: %d questions, %d commands run, %d of them real upgrades", *replaySeed, r.helm.Name,
				r.questions, r.replayed, r.upgraded)
			w.Helm(r.helm, "uninstall", "shop") // objects of the whole cluster too
			check.That(t, r.replayed != 0 && 2*r.upgraded >= r.replayed, "%d of %d commands were real upgrades",
				r.upgraded, r.replayed)
		})
	}
}

// replayer asks for the values behind fields of a release, and has Helm run the answers.
type replayer struct {
	*fixture
	helm     cluster.Helm
	random   *rand.Rand
	packages string
	manifest string // of the newest revision
	// asked are the fields in earlier questions.
	asked                         map[string]bool
	questions, replayed, upgraded int
}

// field is a field of a declared object.
type field struct {
	object *unstructured.Unstructured
	path   []string
	value  any
}

func (f field) String() string {
	return strings.ToLower(f.object.GetKind()) + "/" + f.object.GetName() + " " + drift.Pointer(f.path...)
}

// step asks about one more field of the present manifest, and replays the command. It returns false after the last.
func (r *replayer) step() bool {
	r.Helper()
	f, found := r.next()
	if !found {
		return false
	}
	r.asked[f.String()] = true
	r.questions++
	wanted := otherValue(f, r.questions)
	object, pointer, _ := strings.Cut(f.String(), " ")
	answer := r.app("values", "shop", object, fmt.Sprintf("%s=%v", pointer, wanted), "--chart-out", r.packages,
		"--show-secrets", "-o", "json")
	var out struct{ Items []struct{ Run string } }
	if err := json.Unmarshal([]byte(answer.raw), &out); err != nil || len(out.Items) != 1 {
		r.Fatalf("%s: exit code %d, %v: %s%s", f, answer.code, err, answer.stdout, answer.stderr)
	}
	if out.Items[0].Run == "" {
		return true // no value governs it
	}
	r.replayed++
	command := append(shellWords(r.TB.(*testing.T), out.Items[0].Run), "-n", r.Apps)
	_, err := r.helm.Run(r.Ctx, command...)
	if err != nil { // the API server refuses the value
		r.Logf("%s=%v: %v", f, wanted, err)
		rendered, err := r.helm.Run(r.Ctx, append(command, "--dry-run=client", "-o", "json")...)
		check.NoError(r, err)
		var dryRun struct{ Manifest string }
		check.NoError(r, json.Unmarshal([]byte(rendered), &dryRun))
		r.has(f, wanted, dryRun.Manifest, out.Items[0].Run)
		return true
	}
	r.upgraded++
	r.manifest = r.Helm(r.helm, "get", "manifest", "shop")
	r.has(f, wanted, r.manifest, out.Items[0].Run)
	var live map[string]any
	check.NoError(r, json.Unmarshal([]byte(r.Kubectl("get", object, "-o", "json")), &live))
	got, there := values.Get(live, f.path)
	if !there && wanted == false {
		return true // the API server leaves out some fields that are false
	}
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		r.Errorf("the live %s is %v after\n%s\nwant %v", f, got, out.Items[0].Run, wanted)
	}
	return true
}

// has fails the test unless a manifest has the wanted value.
func (r *replayer) has(f field, wanted any, manifest, command string) {
	r.Helper()
	objects, err := kit.DecodeManifest(manifest)
	check.NoError(r, err)
	for _, o := range objects {
		if o.GetKind() != f.object.GetKind() || o.GetName() != f.object.GetName() {
			continue
		}
		if got, _ := values.Get(o.Object, f.path); fmt.Sprint(got) != fmt.Sprint(wanted) {
			r.Errorf("the manifest has %s = %v after\n%s\nwant %v", f, got, command, wanted)
		}
		return
	}
	r.Errorf("the manifest has no %s after\n%s", f, command)
}

// next returns a random field of the present manifest. It is no name, label or selector.
func (r *replayer) next() (field, bool) {
	r.Helper()
	objects, err := kit.DecodeManifest(r.manifest)
	check.NoError(r, err)
	var found []field
	for _, o := range objects {
		for _, f := range fieldsOf(o, o.Object, nil) {
			if !r.asked[f.String()] {
				found = append(found, f)
			}
		}
	}
	if len(found) == 0 {
		return field{}, false
	}
	return found[r.random.IntN(len(found))], true
}

// fieldsOf returns the scalar fields below a value of an object, in order.
func fieldsOf(object *unstructured.Unstructured, value any, at []string) (found []field) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !strings.Contains(key, "=") && !slices.Contains([]string{"apiVersion", "kind", "name", "namespace",
				"labels", "selector", "matchLabels"}, key) {
				found = append(found, fieldsOf(object, v[key], append(slices.Clone(at), key))...)
			}
		}
	case []any:
		for i, element := range v {
			found = append(found, fieldsOf(object, element, append(slices.Clone(at), fmt.Sprint(i)))...)
		}
	case nil:
	default:
		found = append(found, field{object, at, v})
	}
	return found
}

// otherValue returns another value for a field, for the nth question.
func otherValue(f field, n int) any {
	switch v := f.value.(type) {
	case bool:
		return !v
	case int64:
		return v + 1
	case string:
		known := map[string]string{"true": "false", "false": "true", "ClusterIP": "NodePort",
			"NodePort": "ClusterIP", "IfNotPresent": "Always", "Always": "IfNotPresent"}
		if other, found := known[v]; found {
			return other
		}
		if f.object.GetKind() == "Secret" {
			return base64.StdEncoding.EncodeToString(fmt.Append(nil, "other", n))
		}
		if strings.HasSuffix(v, "\n") {
			return v + "added=1\n"
		}
		return v + "1"
	}
	return f.value
}
