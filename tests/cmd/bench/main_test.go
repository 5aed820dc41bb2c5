package main

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestQuickKeepsWhatAFlagSays(t *testing.T) {
	o, err := parse([]string{"-quick", "-objects", "5000", "-releases", "200", "-scale", "1,2"})
	check.NoError(t, err)
	if o.objects != 5000 || o.releases != 200 || o.rounds != 40 || len(o.sizes) != 2 {
		t.Errorf("got %d objects, %d releases, %d rounds, scale %v; want 5000, 200, 40, [1 2]", o.objects, o.releases,
			o.rounds, o.sizes)
	}
}

func TestArgumentsThatMakeNoSense(t *testing.T) {
	for _, args := range [][]string{
		{"-objects", "3", "-releases", "4"}, {"-rounds", "0"}, {"again"}, {"-only", "storms"}, {"-scale", "10,5"},
		{"-scale", ""}, {"-upgrades", "1"},
	} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
