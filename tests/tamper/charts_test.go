package tamper

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// chart is one chart and its release, named like the release's namespace.
type chart struct {
	// name is the name of the chart, and release the name of the release and of its namespace.
	name, release string
	helm          cluster.Helm
	// version is Helm's major version.
	version int
	path    string
	// args are arguments for each revision, and first and second those for one of them. The second changes a label of
	// each object; it is empty where the chart has nothing to change.
	args          []string
	first, second string
	objects       []*object
}

func (ch *chart) String() string { return fmt.Sprintf("%s-helm%d", ch.name, ch.version) }

// charts returns the charts of one pass: our own for both Helms in the first pass, and those of the corpus for one
// Helm each, exchanged in the second pass.
func charts(t *testing.T, c *cluster.Cluster, pass int) []*chart {
	t.Helper()
	var all []*chart
	if pass == 0 {
		all = own(t, c)
	}
	for i, file := range kit.Corpus(t) {
		name := filepath.Base(filepath.Dir(file))
		ch := &chart{name: name, release: name}
		ch.by(c, 3+(i+pass)%2)
		ch.path, ch.args = kit.ManifestChart(t, ch.name, ch.release, file)
		all = append(all, ch)
	}
	all = slices.DeleteFunc(all, func(ch *chart) bool { return !ch.isWanted() })
	if len(all) == 0 {
		t.Skip("there is no chart for this pass")
	}
	return all
}

// isWanted reports whether the flag -charts names the chart, or no chart.
func (ch *chart) isWanted() bool {
	return *only == "" || slices.Contains(strings.Split(*only, ","), ch.name)
}

func (ch *chart) by(c *cluster.Cluster, version int) {
	ch.version, ch.helm = version, c.Helm3()
	if version == 4 {
		ch.helm = c.Helm4()
	}
}

// own returns the charts of this repository, and the one of `helm create`, each for both Helms.
func own(t *testing.T, c *cluster.Cluster) []*chart {
	t.Helper()
	var all []*chart
	for _, version := range []int{3, 4} {
		for _, name := range []string{"shapes", "definitions", "customs"} {
			ch := &chart{name: name, release: fmt.Sprintf("%s-%d", name, version),
				path: filepath.Join("testdata", "charts", name), first: "revision=one", second: "revision=two"}
			switch name {
			case "shapes":
				ch.args = []string{"--set", fmt.Sprintf("nodePort=%d", 30077+version)}
			case "customs":
				ch.args = []string{"--set", fmt.Sprintf("unknown=%t", version == 3)}
			}
			ch.by(c, version)
			all = append(all, ch)
		}
		web := &chart{name: "web", release: fmt.Sprintf("web-%d", version), path: filepath.Join(t.TempDir(), "web"),
			args:  []string{"--set", "ingress.enabled=true", "--set", "replicaCount=2"},
			first: "fullnameOverride=web,image.tag=one", second: "fullnameOverride=web,image.tag=two"}
		web.by(c, version)
		_, err := web.helm.Run(t.Context(), "create", web.path)
		check.NoError(t, err)
		all = append(all, web)
	}
	return all
}

// run makes a revision with the given values.
func (ch *chart) run(ctx context.Context, command, set string, more ...string) error {
	args := slices.Concat([]string{command, ch.release, ch.path, "--namespace", ch.release, "--no-hooks"}, ch.args,
		more)
	if set != "" {
		args = append(args, "--set", set)
	}
	_, err := ch.helm.Run(ctx, args...)
	return err
}
