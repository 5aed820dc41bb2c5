package lock_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

const corpus = "../../../shared/corpus"

// desired returns the desired state of every object of a manifest, as JSON.
func desired(tb testing.TB, text string) [][]byte {
	tb.Helper()
	set, err := manifest.Parse(text)
	check.NoError(tb, err)
	key := release.Key{Namespace: "apps", Name: "shop"}
	resolved, _, err := set.Resolve(manifest.Release(key),
		func(schema.GroupVersionKind) (bool, error) { return true, nil })
	check.NoError(tb, err)
	var all [][]byte
	for _, o := range resolved {
		content, err := json.Marshal(o.Content)
		check.NoError(tb, err)
		all = append(all, content)
	}
	return all
}

func smallShop() string {
	return fmt.Sprintf(shop, "release-7-3", strings.Repeat("    some: configuration of the usual length\n", 10))
}

// charts returns the desired state of the objects of real charts, and of the small one.
func charts(tb testing.TB) map[string][][]byte {
	tb.Helper()
	all := map[string][][]byte{"small": desired(tb, smallShop())}
	files, err := filepath.Glob(filepath.Join(corpus, "*", "manifest.yaml"))
	check.NoError(tb, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check.NoError(tb, err)
		all[filepath.Base(filepath.Dir(file))] = desired(tb, string(text))
	}
	return all
}

func TestUnpackingGivesBackWhatWasPacked(t *testing.T) {
	all, remain := 0, 0 // of objects of less than 4 KiB, as most are
	for name, objects := range charts(t) {
		for _, object := range objects {
			packed := lock.Pack(object)
			same(t, packed, object)
			if len(packed) > 4<<10 && len(packed) > len(object)*6/10 {
				t.Errorf("%s: %d bytes of %d remain when packed", name, len(packed), len(object))
			}
			if len(object) < 4<<10 {
				all, remain = all+len(object), remain+len(packed)
			}
		}
	}
	check.That(t, remain <= all*6/10, "of small objects, %d bytes of %d remain when packed", remain, all)
}

func same(t *testing.T, packed lock.Packed, object []byte) {
	t.Helper()
	got, err := packed.JSON()
	check.That(t, err == nil && bytes.Equal(got, object), "%.100s is %.100s when unpacked: %v", object, got, err)
}

func TestWhatPackingMakesLargerStaysAsItIs(t *testing.T) {
	random := make([]byte, 10000)
	for i := range random {
		random[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"[rand.IntN(64)]
	}
	for _, object := range []string{"", "{}", "7", `{"a":1}`, `"` + string(random) + `"`} {
		packed := lock.Pack([]byte(object))
		check.That(t, len(packed) <= len(object), "%d bytes become %d", len(object), len(packed))
		same(t, packed, []byte(object))
	}
}

func long(text string) []byte { return []byte(`{"a":"` + strings.Repeat(text, 100000) + `"}`) }

func TestManyMayPackAndUnpackAtOnce(t *testing.T) {
	objects := [][]byte{long("a"), long("b"), []byte(`{}`)}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				for _, object := range objects {
					same(t, lock.Pack(object), object)
				}
			}
		})
	}
	all.Wait()
}

func TestWhatIsDamagedIsNotUnpacked(t *testing.T) {
	packed := lock.Pack(long("a"))
	for _, bad := range []lock.Packed{packed[:1], packed[:2], packed[:len(packed)/2], packed[:1] + "\xff\xff" +
		packed[3:]} {
		got, err := bad.JSON()
		check.That(t, err != nil, "%q is unpacked as %.100s", bad, got)
	}
}
