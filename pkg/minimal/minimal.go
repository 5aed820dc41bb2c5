// Package minimal finds a minimal subset by a bounded number of trials.
package minimal

// Subset returns a minimal subset of all for which works reports true: without any one of its elements works reports
// false. works(all) must be true and works of nothing false; Subset tries neither. Every superset of a working subset
// must work, too. The number of trials is about k*log2(n/k)+2k for k of n elements (QuickXplain: Junker, "Preferred
// Explanations and Relaxations for Over-Constrained Problems", AAAI 2004).
//
// When works returns an error, Subset returns it with the smallest subset known to work by then, which need not be
// minimal.
func Subset[T any](all []T, works func([]T) (bool, error)) ([]T, error) {
	s := search[T]{works: works, err: nil}
	found := s.among(nil, all, false)
	return found, s.err
}

type search[T any] struct {
	works func([]T) (bool, error)
	err   error // ends the search
}

// among returns a minimal part of rest that works together with kept; kept and rest together do. try is set when kept
// alone may work.
func (s *search[T]) among(kept, rest []T, try bool) []T {
	if try && s.err == nil {
		var enough bool
		if enough, s.err = s.works(kept); enough && s.err == nil {
			return nil
		}
	}
	if len(rest) <= 1 || s.err != nil {
		return rest
	}
	half := len(rest) / 2
	second := s.among(join(kept, rest[:half]), rest[half:], true)
	first := s.among(join(kept, second), rest[:half], len(second) > 0)
	return join(first, second)
}

func join[T any](a, b []T) []T { return append(append(make([]T, 0, len(a)+len(b)), a...), b...) }
