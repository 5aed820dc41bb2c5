package callgraph

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// heldWhile returns the mutexes that are locked while another one is held.
func (g *graph) heldWhile() map[string][]string {
	locks := map[*ssa.Function][]string{}
	each(g.all, func(f *ssa.Function, instruction ssa.Instruction) {
		if mutex, locked := mutexOf(instruction); locked {
			locks[f] = append(locks[f], mutex)
		}
	})
	held := map[string][]string{}
	for f := range locks {
		for _, block := range f.Blocks {
			for i, instruction := range block.Instrs {
				mutex, locked := mutexOf(instruction)
				if !locked {
					continue
				}
				for inner := range reach(g.now, g.calledUntilUnlocked(mutex, block, i+1)) {
					for _, other := range locks[inner] {
						if !slices.Contains(held[mutex], other) {
							held[mutex] = append(held[mutex], other)
						}
					}
				}
			}
		}
	}
	for mutex := range held {
		slices.Sort(held[mutex])
	}
	return held
}

// calledUntilUnlocked returns the functions that are called or mentioned from an instruction on, as long as the mutex
// is held.
func (g *graph) calledUntilUnlocked(mutex string, block *ssa.BasicBlock, from int) (called []*ssa.Function) {
	type place struct {
		block *ssa.BasicBlock
		from  int
	}
	seen := map[*ssa.BasicBlock]bool{}
	for todo := []place{{block, from}}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		unlocked := false
		for _, instruction := range at.block.Instrs[at.from:] {
			if unlocked = unlocks(instruction, mutex); unlocked {
				break
			}
			called = append(called, g.at[instruction]...)
			called = append(called, g.passed(instruction)...)
		}
		for _, next := range at.block.Succs {
			if !unlocked && !seen[next] {
				seen[next] = true
				todo = append(todo, place{next, 0})
			}
		}
	}
	return called
}

// mutexOf returns the mutex that an instruction locks.
func mutexOf(instruction ssa.Instruction) (string, bool) {
	call, ok := instruction.(*ssa.Call)
	if !ok {
		return "", false
	}
	return mutexIn(&call.Call, "Lock", "RLock")
}

func unlocks(instruction ssa.Instruction, mutex string) bool {
	call, ok := instruction.(*ssa.Call)
	if !ok {
		return false
	}
	unlocked, ok := mutexIn(&call.Call, "Unlock", "RUnlock")
	return ok && unlocked == mutex
}

func mutexIn(c *ssa.CallCommon, methods ...string) (string, bool) {
	method, receiver := methodOf(c)
	if !slices.Contains(methods, method) || receiver != "sync.Mutex" && receiver != "sync.RWMutex" {
		return "", false
	}
	field, ok := c.Args[0].(*ssa.FieldAddr)
	if !ok {
		return "a mutex in " + c.Args[0].Name(), true
	}
	return strings.TrimPrefix(typeName(field.X.Type()), module+"pkg/") + "." + fieldName(field.X.Type(), field.Field),
		true
}

// begun are the mutexes under which nothing is called but pkg/proof's background.begin: it begins a goroutine.
var begun = []string{"proof.shared.mu"}

func mutexesHaveAnOrder(t *testing.T, g *graph) {
	listed := tableOf(t, "The order of mutexes")
	held := g.heldWhile()
	for _, mutex := range begun {
		delete(held, mutex)
	}
	for _, mutex := range slices.Sorted(maps.Keys(held)) {
		check.That(t, slices.Equal(held[mutex], listed[mutex]),
			"while %s is held, %q are locked, and docs/core.md has %q; its row is\n| `%s` | `%s` |", mutex, held[mutex],
			listed[mutex], mutex, strings.Join(held[mutex], "`, `"))
	}
	for mutex := range listed {
		check.That(t, held[mutex] != nil, "docs/core.md has %s, under which nothing is locked", mutex)
	}
	for mutex := range held {
		check.That(t, !circle(held, mutex, mutex, nil), "%s is locked while it is held", mutex)
	}
}

// circle reports whether a mutex is locked, at last, while another one is held.
func circle(held map[string][]string, from, to string, seen []string) bool {
	return slices.ContainsFunc(held[from], func(next string) bool {
		return next == to || !slices.Contains(seen, next) && circle(held, next, to, append(seen, next))
	})
}
