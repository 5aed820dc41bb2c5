package cli

import "testing"

func TestMemoryIsGivenBackOnceWorkIsOver(t *testing.T) {
	const mib = 1 << 20
	var r rest
	for i, step := range []struct {
		what      string
		allocated uint64
		want      bool
	}{
		{"the start", 20 * mib, false},
		{"still at work", 30 * mib, false},
		{"at rest", 30*mib + 1000, true},
		{"still at rest", 30*mib + 2000, false},
		{"a little work", 32 * mib, false},
		{"at rest after a little work: nothing worth a collection", 32*mib + 1000, false},
		{"more work", 36 * mib, false},
		{"at rest", 36*mib + 1000, true},
	} {
		if got := r.begun(step.allocated); got != step.want {
			t.Errorf("step %d, %s: got %t", i, step.what, got)
		}
	}
	if allocated() == 0 {
		t.Error("this Go does not tell what was allocated")
	}
}
