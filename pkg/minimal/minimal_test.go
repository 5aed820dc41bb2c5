package minimal

import (
	"errors"
	"math/bits"
	"slices"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
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
			check.Must(t, err == nil && len(got) == bits.OnesCount(needed) && contains(got, needed),
				"of %d, %b needed: %v, %v", n, needed, got, err)
			k := len(got)
			check.That(t, trials <= 2*k*(bits.Len(uint(n))), "of %d, %b needed: %d trials", n, needed, trials)
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
		check.That(t, errors.Is(err, over) && contains(got, 1<<2|1<<5), "%d trials: %v, %v", most, got, err)
	}
}
