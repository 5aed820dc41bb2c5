package tamper

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// forEach runs a part of the test for every chart.
type forEach func(name string, do func(*testing.T, *chart, *result))

// begin installs the charts and adds a result for each of them to r.
func (w *fixture) begin(t *testing.T, r *report) (each forEach, results []*result) {
	w.installAll(t)
	for _, ch := range w.charts {
		results = append(results, newResult(ch, &r.hopeless))
	}
	r.results = append(r.results, results...)
	return func(name string, do func(*testing.T, *chart, *result)) {
		t.Run(name, func(t *testing.T) {
			for i, ch := range w.charts {
				t.Run(ch.String(), func(t *testing.T) { do(t, ch, results[i]) })
			}
		})
	}, results
}

// restores starts the operator and runs the first part of every pass.
func (w *fixture) restores(t *testing.T, each forEach) {
	w.proxy = w.env.NewProxy()
	w.operator = kit.StartOperator(t, w.proxy.RESTConfig(), w.env.Operator)
	each("LocksWithoutWriting", w.locksWithoutWriting)
	t.Run("StaysQuiet", w.staysQuiet)
	each("RestoresEverything", w.restoresEverything)
}
