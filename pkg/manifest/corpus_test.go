package manifest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

const corpus = "../../../shared/corpus"

func TestManifestsOfRealChartsParse(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus, "*", "manifest.yaml"))
	check.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no manifests of real charts in %s", corpus)
	}
	readme, err := os.ReadFile(filepath.Join(corpus, "README.md"))
	check.NoError(t, err)
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			row := regexp.MustCompile(`(?m)^\| ` + name + ` \|[^|]*\|[^|]*\| (\d+) \| (\d+) \|`).FindSubmatch(readme)
			check.Must(t, row != nil, "%s is not in the README", name)
			content, err := os.ReadFile(file)
			check.NoError(t, err)
			start := time.Now()
			set := mustParse(t, string(content))
			parsed := time.Since(start)
			resolved, _, err := set.Resolve(podinfo, clusterScope)
			check.NoError(t, err)
			kept := 0
			for _, o := range resolved {
				if o.Keep {
					kept++
				}
			}
			t.Logf("%d objects, %d kept, %d skipped, %d bytes; parsed in %s, resolved in %s",
				len(resolved), kept, len(set.Skipped), len(content), parsed, time.Since(start)-parsed)
			if got := strconv.Itoa(len(resolved)); got != string(row[1]) || len(set.Skipped) != 0 {
				t.Errorf("%s objects and skipped %v, the README has %s", got, set.Skipped, row[1])
			}
			if got := strconv.Itoa(kept); got != string(row[2]) {
				t.Errorf("%s objects are kept, the README has %s", got, row[2])
			}
		})
	}
}

// oneMegabyte is a manifest like a chart full of CRDs, with one object above 256 KiB.
func oneMegabyte() string {
	var b strings.Builder
	b.WriteString("---\n# Source: big/templates/big.yaml\n" + configMap("big") + "data:\n  text: |\n")
	b.WriteString(strings.Repeat("    a line of some dashboard, as charts have them\n", 6000))
	for i := 0; b.Len() < 1<<20; i++ {
		b.WriteString("---\n# Source: big/templates/crd.yaml\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: x" +
			strconv.Itoa(i) + "\nspec:\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties:\n")
		for j := range 200 {
			b.WriteString(
				"          field" + strconv.Itoa(
					j,
				) + ":\n            description: What this field is for, in a sentence or two.\n            type: string\n            maxLength: 253\n",
			)
		}
	}
	return b.String()
}

func TestBigManifestsAndBigObjectsParse(t *testing.T) {
	set := mustParse(t, oneMegabyte())
	text := set.Objects[0].Content["data"].(map[string]any)["text"].(string)
	check.That(t, len(text) >= 256<<10 && len(set.Objects) >= 10, "%d objects, the first with %d bytes", len(set.Objects),
		len(text))
}
