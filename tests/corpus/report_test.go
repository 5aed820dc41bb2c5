package corpus

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// row is what became of the tamperings with one chart.
type row struct {
	chart   string
	objects int
	// writes is how many writes of the operator it took.
	writes int
	took   time.Duration

	mu sync.Mutex
	// accepted tamperings changed the object; refused ones were answered with 4xx; noChange ones were accepted, but the
	// API server made the same of them; absent are those where the live object lacks what is declared; exempt those that
	// an autoscaler may make.
	accepted, refused, noChange, absent, exempt int
	restored                                    []time.Duration
	failed                                      []string
}

func (r *row) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

// settle records an accepted tampering, and what of it is left.
func (r *row) settle(took time.Duration, o *object, what, left string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepted++
	if left == "" {
		r.restored = append(r.restored, took)
		return
	}
	r.failed = append(r.failed, fmt.Sprintf("%s: %s: not restored within %s: %s", o, what, patience, left))
}

// report is a table by chart.
type report struct{ rows []*row }

func (r *report) add(row *row) { r.rows = append(r.rows, row) }

// String returns the table; times are in milliseconds.
func (r *report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "chart\tobjects\taccepted\trestored\tmedian ms\tslowest ms\twrites\trefused\tno change\tabsent\texempt\tseconds\t")
	for _, x := range r.rows {
		slices.Sort(x.restored)
		var median, slowest time.Duration
		if n := len(x.restored); n > 0 {
			median, slowest = x.restored[n/2], x.restored[n-1]
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t\n", x.chart, x.objects, x.accepted, len(x.restored),
			median.Milliseconds(), slowest.Milliseconds(), x.writes, x.refused, x.noChange, x.absent, x.exempt, x.took.Seconds())
	}
	// A failed flush of a strings.Builder cannot be.
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	return b.String()
}
