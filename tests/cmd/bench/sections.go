package main

import (
	"context"
	"slices"
)

// part is a section of a run with its function.
type part struct {
	name    string
	measure func(*bench, context.Context) error
}

// stages are the parts of a run. Those of one stage share a control plane. Every stage has a new one, so that objects
// of an earlier stage have no influence.
func stages() [][]part {
	return [][]part{
		{{"single", (*bench).latency}, {"many", (*bench).across}, {"burst", (*bench).bursts}, {"upgrades", (*bench).upgrades}},
		{{"lock", (*bench).locking}, {"storm", (*bench).storms}, {"churn", (*bench).churn},
			{"unrelated", (*bench).strangers}},
		{{policySection, (*bench).policies}},
		{{"neighbour", (*bench).neighbour}},
		{{"history", (*bench).history}},
		{{"failover", (*bench).failover}},
		{{"guard", (*bench).guard}},
		{{"trust", (*bench).trust}},
		{{"scale", (*bench).scaling}},
	}
}

// sectionNames returns the names of all parts in the order of the run.
func sectionNames() []string {
	var names []string
	for _, stage := range stages() {
		for _, p := range stage {
			names = append(names, p.name)
		}
	}
	return names
}

// position returns the place of a section among all, -1 for none.
func position(name string) int { return slices.Index(sectionNames(), name) }
