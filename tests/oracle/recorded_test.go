package oracle

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// TestRules_RecordedFaults judges recordings of the operator at commit e4b7886, reduced to one release each. The
// directories have the names of the broken promises.
func TestRules_RecordedFaults(t *testing.T) {
	t.Parallel()
	faults := map[string][]string{
		// Helm stored a revision and failed in a hook, before it came to the object. The operator deployed it.
		"c-hook-fails-around-a-write":     {ruleStale},
		"c-hook-fails-in-detect":          {ruleStale},
		"c-hook-fails-long-after-a-write": {ruleProof, ruleStale},
		// A revert ended half-way.
		"d-operator-dies":      {ruleOwnership},
		"d-request-fails-once": {ruleProof, ruleOwnership},
		// The records of the locked release were stored in another namespace, where Helm had begun to work too.
		"e-created-again":  {ruleStale},
		"e-not-taken-back": {ruleStale},
		"e-pruned":         {ruleProof, ruleDeletion},
		"e-taken-over":     {ruleProof, ruleStale},
		// The newest revision declared the object at a version that was not served.
		"f-version-not-served": {ruleDeletion},
	}
	for name, want := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := directory(filepath.Join("testdata", "e4b7886", name))
			if err != nil {
				t.Fatal(err)
			}
			r, broken := newReport(), map[string]bool{}
			if err := s.judge(r); err != nil {
				t.Fatal(err)
			}
			for _, v := range r.violations {
				t.Log(v.rule, v.id, v.what)
				broken[v.rule] = true
			}
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(broken)); !slices.Equal(got, want) {
				t.Errorf("broken are %q, want %q", got, want)
			}
		})
	}
}
