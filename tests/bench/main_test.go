package main

import (
	"context"
	"testing"
)

func contextThatEnded(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

func TestShortKeepsWhatAFlagSays(t *testing.T) {
	o, err := parse([]string{"-short", "-objects", "5000", "-releases", "200"})
	if err != nil {
		t.Fatal(err)
	}
	if o.objects != 5000 || o.releases != 200 || o.rounds != 60 {
		t.Errorf("got %d objects, %d releases, %d rounds; want 5000, 200, 60", o.objects, o.releases, o.rounds)
	}
}

func TestSizesThatMakeNoSense(t *testing.T) {
	for _, args := range [][]string{{"-objects", "3", "-releases", "4"}, {"-rounds", "0"}, {"again"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
