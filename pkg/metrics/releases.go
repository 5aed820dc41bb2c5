package metrics

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/rancher/helm-locker/pkg/release"
)

// releases are the metrics of every release. They are kept as a few numbers for each and converted into samples for a
// scrape: as series of a Prometheus vector those of one release take 15 KB, more than the state of its objects.
type releases struct {
	objects, locked, state, condition, yielded, reverted, suspended *prometheus.Desc

	mu    sync.Mutex
	known map[release.Key]record // guarded by mu
}

// record holds the numbers of one release.
type record struct {
	state      string
	conditions unique.Handle[string] // see encode: there are few different ones, whatever the number of releases
	yields     uint64
	reverts    uint64
	objects    Counts
	locked     bool
	suspended  int64 // since when, in seconds since 1970; 0 is not
	stated     bool  // Release was called, so that more than the counters is known
}

func newReleases() *releases {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help,
			append(slices.Clone(ofRelease), more...), nil)
	}
	return &releases{
		objects: desc(
			"objects",
			"Objects of locked releases, by condition: tracked, drifted, contended, waiting, additions, unmanaged.",
			"condition",
		),
		locked:    desc("locked", "1 for a release all of whose objects are protected or, in mode Detect, watched."),
		state:     desc("release_state", "1 for the state that a release is in.", "state"),
		condition: desc("condition", "1 for a condition of a HelmRelease that is True, 0 for one that is not.", "type"),
		yielded:   desc("yields_total", "Times that drift was left alone because Helm had begun to work."),
		reverted:  desc("reverts_total", "Objects of the release that were restored."),
		suspended: desc("suspended_since_timestamp_seconds",
			"Since when a suspended release is unlocked, in seconds since 1970."),
		known: map[release.Key]record{},
	}
}

// Describe is for the registry, as is Collect.
func (r *releases) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		r.objects, r.locked, r.state, r.condition, r.yielded, r.reverted, r.suspended,
	} {
		to <- d
	}
}

// Collect makes the samples of all releases. Those of one release are of one moment.
func (r *releases) Collect(to chan<- prometheus.Metric) {
	shared := labels{}
	for key, rec := range r.snapshot() {
		name, namespace := labelled("release", key.Name), shared.of("release_namespace", key.Namespace)
		to <- sample{r.yielded, prometheus.CounterValue, float64(rec.yields), []*dto.LabelPair{name, namespace}}
		to <- sample{r.reverted, prometheus.CounterValue, float64(rec.reverts), []*dto.LabelPair{name, namespace}}
		if !rec.stated {
			continue
		}
		gauge := func(d *prometheus.Desc, value float64, sorted ...*dto.LabelPair) {
			to <- sample{d, prometheus.GaugeValue, value, sorted}
		}
		for _, count := range []struct {
			of string
			n  int
		}{
			{"tracked", rec.objects.Tracked}, {"drifted", rec.objects.Drifted}, {"contended", rec.objects.Contended},
			{"waiting", rec.objects.Waiting}, {"additions", rec.objects.Additions},
			{"unmanaged", rec.objects.Unmanaged},
		} {
			gauge(r.objects, float64(count.n), shared.of("condition", count.of), name, namespace)
		}
		gauge(r.locked, bit(rec.locked), name, namespace)
		if rec.suspended != 0 {
			gauge(r.suspended, float64(rec.suspended), name, namespace)
		}
		gauge(r.state, 1, name, namespace, shared.of("state", rec.state))
		for kind, on := range decode(rec.conditions.Value()) {
			gauge(r.condition, bit(on), name, namespace, shared.of("type", kind))
		}
	}
}

// sample is one sample. A constant metric of the library's would make its labels again; these share them, which
// halves the garbage of a scrape.
type sample struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	value  float64
	labels []*dto.LabelPair // sorted by name
}

func (s sample) Desc() *prometheus.Desc { return s.desc }

// Write is how the registry reads the sample.
func (s sample) Write(to *dto.Metric) error {
	to.Label = s.labels
	if s.kind == prometheus.CounterValue {
		to.Counter = &dto.Counter{Value: &s.value}
	} else {
		to.Gauge = &dto.Gauge{Value: &s.value}
	}
	return nil
}

// labels are the labels shared by the samples of a scrape.
type labels map[[2]string]*dto.LabelPair

func (l labels) of(name, value string) *dto.LabelPair {
	pair := l[[2]string{name, value}]
	if pair == nil {
		pair = labelled(name, value)
		l[[2]string{name, value}] = pair
	}
	return pair
}

func labelled(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

// snapshot copies the numbers, so that a counting worker does not wait for a reader of the metrics.
func (r *releases) snapshot() map[release.Key]record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.known)
}

// change lets f change the numbers of a release; the first time they are the zero value.
func (r *releases) change(key release.Key, f func(*record)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.known[key]
	f(&rec)
	r.known[key] = rec
}

func (r *releases) forget(key release.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
}

// encode returns conditions as a text, "+Locked -Drifted", that is the same for the same conditions.
func encode(conditions map[string]bool) string {
	words := make([]string, 0, len(conditions))
	for kind, on := range conditions {
		sign := "-"
		if on {
			sign = "+"
		}
		words = append(words, sign+kind)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// decode returns the argument of encode.
func decode(conditions string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for word := range strings.FieldsSeq(conditions) {
			if !yield(word[1:], word[0] == '+') {
				return
			}
		}
	}
}
