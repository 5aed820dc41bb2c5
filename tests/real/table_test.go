package real

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var record = flag.Bool("record", false, "write the outcome into docs/compatibility.md")

const (
	compatibility = "../../docs/compatibility.md"
	begin         = "<!-- real neighbours: begin, written by make test-neighbours -->\n"
	end           = "<!-- real neighbours: end -->\n"
	head          = "| neighbour | version | work | reverts of its writes | they stay by | last run |\n" +
		"|---|---|---|--:|---|---|\n"
)

// neighbour is a row of the table.
type neighbour struct {
	name, folder, module string // the folder below tests/controlplane, and the module required there
	work                 string // what it did in the test
	rule                 string // the rule by which its writes stay
}

// outcome collects the rows of a run.
type outcome struct {
	sync.Mutex
	reverts map[string]int // by neighbour
	rows    []string
}

var all = outcome{reverts: map[string]int{}}

// expectNoReverts fails the test if the operator wrote to a release since the proxy's Reset, and counts for the table.
func (n neighbour) expectNoReverts(f *kit.Fixture) {
	f.Helper()
	writes := f.ExpectNoWrites()
	all.Lock()
	defer all.Unlock()
	all.reverts[n.name] += writes
}

// done adds the row of a neighbour.
func (n neighbour) done(f *kit.Fixture) {
	f.Helper()
	version, _, err := cluster.Module(f.Ctx, n.folder, n.module)
	check.NoError(f, err)
	all.Lock()
	defer all.Unlock()
	all.rows = append(all.rows, fmt.Sprintf("| %s | %s | %s | %d | %s | %s |\n", n.name, version, n.work,
		all.reverts[n.name], n.rule, time.Now().UTC().Format(time.DateOnly)))
}

// write replaces the table in docs/compatibility.md. Rows of other neighbours stay.
func (o *outcome) write() error {
	text, err := os.ReadFile(compatibility)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	table, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no section of real neighbours", compatibility)
	}
	rows := slices.Clone(o.rows)
	for row := range strings.Lines(strings.TrimPrefix(table, head)) {
		name, _, _ := strings.Cut(row, " | ")
		ran := slices.ContainsFunc(o.rows, func(other string) bool { return strings.HasPrefix(other, name+" | ") })
		if !ran {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return os.WriteFile(compatibility, []byte(before+begin+head+strings.Join(rows, "")+end+after), 0o644)
}
