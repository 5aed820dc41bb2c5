package callgraph

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// fields adds edges for calls of functions in fields of structs: to all functions that are ever put into the field.
func (g *graph) fields() {
	stored := map[string][]ssa.Value{}
	each(g.all, func(f *ssa.Function, instruction ssa.Instruction) {
		if store, ok := instruction.(*ssa.Store); ok {
			if field := fieldOf(store.Addr); field != "" {
				stored[field] = append(stored[field], store.Val)
			}
		}
	})
	each(g.all, func(f *ssa.Function, instruction ssa.Instruction) {
		call, ok := instruction.(ssa.CallInstruction)
		if !ok || call.Common().IsInvoke() {
			return
		}
		load, ok := call.Common().Value.(*ssa.UnOp)
		if !ok {
			return
		}
		for _, value := range stored[fieldOf(load.X)] {
			for _, callee := range g.functions(value) {
				g.edge(f, instruction, callee)
			}
		}
	})
}

func each(functions map[*ssa.Function]bool, visit func(*ssa.Function, ssa.Instruction)) {
	for f := range functions {
		for _, block := range f.Blocks {
			for _, instruction := range block.Instrs {
				visit(f, instruction)
			}
		}
	}
}

// fieldOf returns the type and name of the field of an address; empty for another address.
func fieldOf(address ssa.Value) string {
	field, ok := address.(*ssa.FieldAddr)
	if !ok {
		return ""
	}
	return typeName(field.X.Type()) + "." + fieldName(field.X.Type(), field.Field)
}

// functions returns the possible functions of a value: of a parameter those of its callers, and of theirs.
func (g *graph) functions(value ssa.Value) []*ssa.Function {
	return g.functionsOf(value, map[*ssa.Parameter]bool{})
}

func (g *graph) functionsOf(value ssa.Value, seen map[*ssa.Parameter]bool) (found []*ssa.Function) {
	switch v := value.(type) {
	case *ssa.MakeClosure:
		return []*ssa.Function{v.Fn.(*ssa.Function)}
	case *ssa.Function:
		return []*ssa.Function{v}
	case *ssa.ChangeType:
		return g.functionsOf(v.X, seen)
	case *ssa.Parameter:
		if seen[v] {
			return nil
		}
		seen[v] = true
		position := slices.Index(v.Parent().Params, v)
		for _, caller := range g.callers(v.Parent()) {
			if position < len(caller.Args) {
				found = append(found, g.functionsOf(caller.Args[position], seen)...)
			}
		}
	}
	return found
}

func (g *graph) callers(f *ssa.Function) (callers []*ssa.CallCommon) {
	for site, callees := range g.at {
		if call, ok := site.(ssa.CallInstruction); ok && slices.Contains(callees, f) {
			callers = append(callers, call.Common())
		}
	}
	return callers
}

// passed returns the functions that callers pass for the parameter that an instruction calls.
func (g *graph) passed(instruction ssa.Instruction) []*ssa.Function {
	call, ok := instruction.(*ssa.Call)
	if !ok || call.Call.IsInvoke() {
		return nil
	}
	if parameter, ok := call.Call.Value.(*ssa.Parameter); ok {
		return g.functions(parameter)
	}
	return nil
}

// isGoroutine reports whether an instruction begins a goroutine, or makes a function for one.
func isGoroutine(instruction ssa.Instruction) bool {
	switch i := instruction.(type) {
	case *ssa.Go:
		return true
	case *ssa.MakeClosure:
		return !slices.ContainsFunc(*i.Referrers(), func(by ssa.Instruction) bool {
			call, ok := by.(*ssa.Call)
			if !ok {
				return true
			}
			method, receiver := methodOf(&call.Call)
			return method != "Go" || receiver != "sync.WaitGroup" && receiver != "golang.org/x/sync/errgroup.Group"
		})
	}
	return false
}
