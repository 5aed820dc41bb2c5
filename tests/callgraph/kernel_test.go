package callgraph

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// kernel are the packages that may write to the objects of releases.
var kernel = []string{module + "pkg/enforce", module + "pkg/proof"}

// bookkeeping are the writing functions outside of the kernel. They write objects of the operator, or a review, and
// reviews are not stored. The list is closed.
var bookkeeping = map[string]string{
	"pkg/crd.ensure":                          "definitions",
	"(*pkg/guard.Keeper).register":            "registration of the guard",
	"pkg/guard.unregister":                    "registration of the guard",
	"(*pkg/guard.Keeper).writeCertificate":    "own Secret: the guard's certificate",
	"(*pkg/guard.Keeper).ownUser":             "review: the operator's own user",
	"(*pkg/guard.Keeper).pointToSelf":         "EndpointSlice of the guard's Service for the leader",
	"(*pkg/viewer.Reviewer).May":              "review: the rights of a reader of the metrics",
	"(*pkg/viewer.Reviewer).review":           "review: the token of a reader of the metrics",
	"(*pkg/operator.events).writeAlone":       "Lease, of an operator without leader election",
	"(pkg/operator.announcingLeases).Create":  "Lease",
	"(pkg/operator.announcingLeases).Update":  "Lease",
	"(*pkg/process.loggedLock).Create":        "Lease",
	"(*pkg/process.loggedLock).Update":        "Lease",
	"(*pkg/process.throttledLock).Update":     "Lease",
	"pkg/process.releasePredecessor":          "Lease",
	"pkg/process.Recorder":                    "events",
	"(*pkg/settled.Memory).write":             "own Secret: settled forms",
	"(*pkg/locking.claimer).claim":            "claim of HelmReleases",
	"(*pkg/witness.Store).write":              "own Secret: trust in release records",
	"(*pkg/witness.hearing).may":              "review: the rights of the writer of a record",
	"(*pkg/reporting.Statuses).replaceStatus": "status of HelmReleases",
}

// handlers are called by the watches.
var handlers = []string{
	"(*pkg/observe.Observer).Observed",
	"(*pkg/observe.Observer).Gone",
	"(*pkg/observe.Observer).Listed",
	"(*pkg/controller.Controller).recordChanged",
	"(*pkg/controller.Controller).definitionChanged",
	"(*pkg/controller.Controller).rangesChanged",
	"(*pkg/locking.Locker).HelmReleaseChanged",
}

// maxLines bounds the kernel with all that it imports from this module, and maxPath the functions on the way from a
// watch to a write.
const maxLines, maxPath = 3000, 122

// A library may call a method of any value that it has, so every function of the operator's process counts.
func TestI14_EveryWriteGoesThroughTheKernel(t *testing.T) {
	g := load(t)
	t.Run("writes", func(t *testing.T) { everyWriteIsKnown(t, g) })
	t.Run("mutexes", func(t *testing.T) { mutexesHaveAnOrder(t, g) })
	t.Run("path", func(t *testing.T) { theWatchesLeadToTheKernel(t, g) })
}

func everyWriteIsKnown(t *testing.T, g *graph) {
	found, inKernel := map[string]bool{}, 0
	for f, writes := range g.writes {
		name := nameOf(f)
		if slices.Contains(kernel, packageOf(f)) {
			inKernel += len(writes)
			continue
		}
		if strings.HasPrefix(packageOf(f), generated) {
			continue
		}
		found[name] = true
		check.That(t, bookkeeping[name] != "", "%s writes beside the kernel, and is no bookkeeping: %v", name, writes)
	}
	for name := range bookkeeping {
		check.That(t, found[name], "%s is listed as bookkeeping, and does not write", name)
	}
	check.That(t, inKernel != 0, "the kernel does not write: the test does not see the writes")
	t.Logf("%d writes in the kernel, %d functions of bookkeeping", inKernel, len(found))
}

// An event of a watch leads to writes of the kernel through the listed queues, and through no other.
func theWatchesLeadToTheKernel(t *testing.T, g *graph) {
	joined := g.join(t)
	var from []*ssa.Function
	for _, name := range handlers {
		if g.byName[name] == nil {
			t.Errorf("there is no %s", name)
			continue
		}
		from = append(from, g.byName[name])
	}
	forward := reach(g.next, from)
	check.Must(t, forward[g.byName["(*pkg/enforce.writer).update"]], "no watch leads to a write of the kernel")
	backward := g.leadingTo(func(f *ssa.Function) bool {
		return len(g.writes[f]) > 0 && packageOf(f) == module+"pkg/enforce"
	})
	names := map[string]bool{}
	for f := range forward {
		if backward[f] && isOurs(f) {
			names[nameOf(f)] = true
		}
	}
	check.That(t, len(names) <= maxPath, "%d functions lead from a watch to a write, want at most %d", len(names), maxPath)
	t.Logf("%d functions lead from a watch to a write by %d queues; %d functions are reached", len(names), joined,
		len(forward))
	if testing.Verbose() {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			t.Log(name)
		}
	}
}

// join adds an edge from each function with an Add to a queue to the worker of that queue.
func (g *graph) join(t *testing.T) int {
	t.Helper()
	queues := tableOf(t, "Queues")
	for queue, names := range queues {
		name := names[0]
		worker := g.byName[name]
		if worker == nil || !slices.ContainsFunc(g.queues[queueUse{queue, "Done"}], func(f *ssa.Function) bool {
			return nameOf(f) == name
		}) {
			t.Errorf("%s does not work on the queue %s", name, queue)
			continue
		}
		for _, method := range []string{"Add", "AddAfter", "AddRateLimited"} {
			for _, f := range g.queues[queueUse{queue, method}] {
				g.edge(f, nil, worker)
			}
		}
	}
	for use := range g.queues {
		check.That(t, queues[use.queue] != nil, "the queue %s is not listed", use.queue)
	}
	return len(queues)
}

// leadingTo returns the functions from which some functions are reached.
func (g *graph) leadingTo(is func(*ssa.Function) bool) map[*ssa.Function]bool {
	before := map[*ssa.Function][]*ssa.Function{}
	var todo []*ssa.Function
	for f, next := range g.next {
		for _, to := range next {
			before[to] = append(before[to], f)
		}
	}
	for f := range g.writes {
		if is(f) {
			todo = append(todo, f)
		}
	}
	return reach(before, todo)
}

// tableOf returns the table of a section of docs/core.md, by its first column.
func tableOf(t *testing.T, section string) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/core.md")
	check.NoError(t, err)
	_, text, _ := strings.Cut(string(page), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	table := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*) \\|$").FindAllStringSubmatch(text, -1) {
		for cell := range strings.SplitSeq(row[2], ", ") {
			table[row[1]] = append(table[row[1]], strings.Trim(cell, "`"))
		}
	}
	check.Must(t, len(table) > 0, "docs/core.md has no table below %s", section)
	return table
}

// The page names files that exist, and the bounds of this test. It can be read in an afternoon.
func TestTheCoreCanBeReadInAnAfternoon(t *testing.T) {
	page, err := os.ReadFile("../../docs/core.md")
	check.NoError(t, err)
	words := len(strings.Fields(string(page)))
	check.That(t, words <= 1500, "docs/core.md has %d words", words)
	for _, file := range regexp.MustCompile("`(pkg/[^`]*\\.go)`").FindAllStringSubmatch(string(page), -1) {
		_, err := os.Stat("../../" + file[1])
		check.Report(t, err)
	}
	for _, bound := range []string{
		fmt.Sprintf("at most %d,%03d lines", maxLines/1000, maxLines%1000), fmt.Sprintf("At most %d functions", maxPath),
	} {
		check.That(t, strings.Contains(string(page), bound), "docs/core.md does not have %q", bound)
	}
}

// The kernel stays small with all that it imports.
func TestTheKernelIsSmall(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`,
		"./pkg/enforce", "./pkg/proof")
	list.Dir = "../.."
	out, err := list.Output()
	check.NoError(t, err)
	lines := 0
	for _, file := range strings.Fields(string(out)) {
		text, err := os.ReadFile(file)
		check.NoError(t, err)
		lines += bytes.Count(text, []byte("\n"))
	}
	check.That(t, lines <= maxLines && lines != 0, "the kernel has %d lines with all that it imports, want at most %d",
		lines, maxLines)
	t.Logf("%d lines", lines)
}
