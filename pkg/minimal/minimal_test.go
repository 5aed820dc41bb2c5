package minimal

import (
	"errors"
	"math/bits"
	"slices"
	"testing"
)

func TestSubsetIsMinimal(t *testing.T) {
	for n := 1; n <= 9; n++ {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		for needed := uint(1); needed < 1<<n; needed++ { // each non-empty set of elements that have to be in
			trials := 0
			got, err := Subset(all, func(some []int) (bool, error) {
				trials++
				return contains(some, needed), nil
			})
			if err != nil || len(got) != bits.OnesCount(needed) || !contains(got, needed) {
				t.Fatalf("of %d, %b needed: %v, %v", n, needed, got, err)
			}
			if k := len(got); trials > 2*k*(bits.Len(uint(n))) {
				t.Errorf("of %d, %b needed: %d trials", n, needed, trials)
			}
		}
	}
}

func contains(some []int, needed uint) bool {
	for i := range uint(16) {
		if needed&(1<<i) != 0 && !slices.Contains(some, int(i)) {
			return false
		}
	}
	return true
}

func TestSubsetWorksWhenTheTrialsRunOut(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	over := errors.New("no trial is left")
	for most := range 6 {
		trials := 0
		got, err := Subset(all, func(some []int) (bool, error) {
			if trials == most {
				return false, over
			}
			trials++
			return contains(some, 1<<2|1<<5), nil
		})
		if !errors.Is(err, over) || !contains(got, 1<<2|1<<5) {
			t.Errorf("%d trials: %v, %v", most, got, err)
		}
	}
}
