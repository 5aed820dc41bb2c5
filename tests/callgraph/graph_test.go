package callgraph

import (
	"encoding/json"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/cha"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/rancher/helm-locker/tests/lib/check"
)

const (
	module = "github.com/rancher/helm-locker/"
	queues = module + "pkg/queues.Queues"
	// generated are wrangler's clients and handlers: a call of a client is a write, and a handler has to be registered.
	generated = module + "pkg/generated/"
)

// graph has the functions of this module that run in the operator's process. An edge is a call, or a mention of a
// function as a value: what a library does with a function is not known, so it counts as called where it is mentioned.
type graph struct {
	// next has the functions that a function calls or mentions.
	next map[*ssa.Function][]*ssa.Function
	// now has those of them that do not begin as a goroutine.
	now map[*ssa.Function][]*ssa.Function
	// writes has the writing requests, by the function that makes them.
	writes map[*ssa.Function][]string
	// queues has the functions that use a queue of the controller, by its field and method.
	queues map[queueUse][]*ssa.Function
	byName map[string]*ssa.Function
	// all has the functions, and at those that an instruction calls or mentions.
	all map[*ssa.Function]bool
	at  map[ssa.Instruction][]*ssa.Function
}

type queueUse struct{ queue, method string }

// ours returns the packages of this module that run in the operator's process.
func ours(t *testing.T) (paths []string) {
	t.Helper()
	list, err := packages.Load(&packages.Config{
		Context: t.Context(), Dir: "../..", Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps,
	}, "./pkg/operator")
	check.NoError(t, err)
	packages.Visit(list, nil, func(p *packages.Package) {
		if strings.HasPrefix(p.PkgPath, module) {
			paths = append(paths, p.PkgPath)
		}
	})
	return paths
}

func load(t *testing.T) *graph {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Context: t.Context(), Dir: "../..", Mode: packages.LoadSyntax, Overlay: overlay(t),
	}, ours(t)...)
	check.NoError(t, err)
	check.Must(t, packages.PrintErrors(loaded) <= 0, "the packages of the operator do not compile")
	program, _ := ssautil.Packages(loaded, ssa.InstantiateGenerics)
	program.Build()
	g := &graph{next: map[*ssa.Function][]*ssa.Function{}, now: map[*ssa.Function][]*ssa.Function{},
		writes: map[*ssa.Function][]string{},
		queues: map[queueUse][]*ssa.Function{}, byName: map[string]*ssa.Function{},
		all: map[*ssa.Function]bool{}, at: map[ssa.Instruction][]*ssa.Function{}}
	calls := cha.CallGraph(program)
	for f := range ssautil.AllFunctions(program) {
		if len(f.Blocks) > 0 && isOurs(f) {
			if f.Parent() == nil {
				g.byName[nameOf(f)] = f
			}
			g.all[f] = true
			g.read(f, calls.Nodes[f])
		}
	}
	g.fields()
	return g
}

// overlay returns the changed files of a mutant, by their paths: HELM_LOCKER_OVERLAY names the file for go's -overlay.
func overlay(t *testing.T) map[string][]byte {
	t.Helper()
	list := os.Getenv("HELM_LOCKER_OVERLAY")
	if list == "" {
		return nil
	}
	text, err := os.ReadFile(list)
	check.NoError(t, err)
	var changed struct{ Replace map[string]string }
	check.NoError(t, json.Unmarshal(text, &changed))
	files := map[string][]byte{}
	for path, file := range changed.Replace {
		files[path], err = os.ReadFile(file)
		check.NoError(t, err)
	}
	return files
}

// read adds the edges and the writes of a function.
func (g *graph) read(f *ssa.Function, node *callgraph.Node) {
	if node != nil {
		for _, edge := range node.Out {
			// A call of a value is an edge from where the function is mentioned.
			if c := edge.Site.Common(); c.IsInvoke() || c.StaticCallee() != nil {
				g.edge(f, edge.Site, edge.Callee.Func)
			}
		}
	}
	for _, block := range f.Blocks {
		for _, instruction := range block.Instrs {
			for _, operand := range instruction.Operands(nil) {
				if mentioned, ok := (*operand).(*ssa.Function); ok {
					g.edge(f, instruction, mentioned)
					g.register(f, mentioned)
				}
			}
			if call, ok := instruction.(ssa.CallInstruction); ok {
				g.call(f, call.Common())
			}
		}
	}
}

func (g *graph) edge(from *ssa.Function, at ssa.Instruction, to *ssa.Function) {
	if to.Origin() != nil && len(to.Blocks) == 0 {
		to = to.Origin()
	}
	if at != nil && !isGoroutine(at) {
		g.at[at], g.now[from] = append(g.at[at], to), append(g.now[from], to)
	}
	if !slices.Contains(g.next[from], to) {
		g.next[from] = append(g.next[from], to)
	}
}

// register records the registration of a handler of wrangler's that writes.
func (g *graph) register(f, handler *ssa.Function) {
	if strings.HasPrefix(packageOf(handler), generated) && strings.HasPrefix(handler.Name(), "Register") {
		g.writes[f] = append(g.writes[f], nameOf(handler))
	}
}

// writing are the methods of clients that write.
var writing = []string{"Create", "Update", "UpdateStatus", "UpdateScale", "Patch", "Apply", "ApplyStatus", "ApplyScale",
	"Delete", "DeleteCollection", "ApplyObjects", "Post", "Put", "Verb", "StartRecordingToSink"}

// call records a call of a method of a client, or of a queue.
func (g *graph) call(f *ssa.Function, c *ssa.CallCommon) {
	method, receiver := methodOf(c)
	if method == "" {
		return
	}
	if queue := queueOf(c); queue != "" {
		use := queueUse{queue, method}
		g.queues[use] = append(g.queues[use], f)
	}
	if slices.Contains(writing, method) && isClient(receiver) {
		g.writes[f] = append(g.writes[f], receiver+"."+method)
	}
}

// methodOf returns the method that is called and the package and type of its receiver; empty for no method.
func methodOf(c *ssa.CallCommon) (method, receiver string) {
	if c.IsInvoke() {
		return c.Method.Name(), typeName(c.Value.Type())
	}
	callee := c.StaticCallee()
	if callee == nil || callee.Signature.Recv() == nil {
		return "", ""
	}
	return callee.Name(), typeName(callee.Signature.Recv().Type())
}

// clients begin the names of the types whose methods make requests.
var clients = []string{
	"k8s.io/client-go/", "k8s.io/apiextensions-apiserver/", "k8s.io/kube-aggregator/",
	"github.com/rancher/wrangler/", "github.com/rancher/lasso/", generated,
}

func isClient(receiver string) bool {
	return slices.ContainsFunc(clients, func(prefix string) bool { return strings.HasPrefix(receiver, prefix) })
}

func typeName(t types.Type) string {
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return t.String()
	}
	return named.Obj().Pkg().Path() + "." + named.Obj().Name()
}

// queueOf returns the field of the controller's queues that a method is called on; empty for none.
func queueOf(c *ssa.CallCommon) string {
	if !c.IsInvoke() {
		return ""
	}
	load, ok := c.Value.(*ssa.UnOp)
	if !ok {
		return ""
	}
	field, ok := load.X.(*ssa.FieldAddr)
	if !ok || typeName(field.X.Type()) != queues {
		return ""
	}
	return fieldName(field.X.Type(), field.Field)
}

func fieldName(t types.Type, i int) string {
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem()
	}
	return t.Underlying().(*types.Struct).Field(i).Name()
}

func isOurs(f *ssa.Function) bool { return strings.HasPrefix(packageOf(f), module) }

func packageOf(f *ssa.Function) string {
	for f.Parent() != nil {
		f = f.Parent()
	}
	if f.Origin() != nil {
		f = f.Origin()
	}
	if f.Pkg != nil {
		return f.Pkg.Pkg.Path()
	}
	if o := f.Object(); o != nil && o.Pkg() != nil {
		return o.Pkg().Path()
	}
	return ""
}

// nameOf returns the name of a function without the module's: "(*pkg/enforce.writer).merge"; of a function inside of
// another one the name of that.
func nameOf(f *ssa.Function) string {
	for f.Parent() != nil {
		f = f.Parent()
	}
	return strings.ReplaceAll(f.String(), module, "")
}

// reach returns the functions that some functions reach by edges, themselves included.
func reach(edges map[*ssa.Function][]*ssa.Function, from []*ssa.Function) map[*ssa.Function]bool {
	seen := map[*ssa.Function]bool{}
	for todo := slices.Clone(from); len(todo) > 0; {
		f := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; !seen[f] {
			seen[f] = true
			todo = append(todo, edges[f]...)
		}
	}
	return seen
}
