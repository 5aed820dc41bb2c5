package main

import (
	"context"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func contextThatEnded(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

func TestQuickKeepsWhatAFlagSays(t *testing.T) {
	o, err := parse([]string{"-quick", "-objects", "5000", "-releases", "200", "-scale", "1,2"})
	check.NoError(t, err)
	if o.objects != 5000 || o.releases != 200 || o.rounds != 40 || len(o.sizes) != 2 {
		t.Errorf("got %d objects, %d releases, %d rounds, scale %v; want 5000, 200, 40, [1 2]", o.objects, o.releases,
			o.rounds, o.sizes)
	}
}

func TestSectionsAreChosen(t *testing.T) {
	o, err := parse([]string{"-only", "storm,scale"})
	check.NoError(t, err)
	if len(o.chosen) != 2 || o.chosen[0] != "storm" || o.chosen[1] != "scale" || o.perRelease != 50 {
		t.Errorf("chosen are %v with %d objects in a release; want storm and scale, with 50", o.chosen, o.perRelease)
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
