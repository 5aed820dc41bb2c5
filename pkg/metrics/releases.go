package metrics

import (
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
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
	conditions map[string]bool // never written to
	yields     uint64
	reverts    uint64
	objects    v1alpha1.ObjectCounts
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
	for key, rec := range r.snapshot() {
		send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, more ...string) {
			to <- prometheus.MustNewConstMetric(d, kind, value, append([]string{key.Namespace, key.Name}, more...)...)
		}
		send(r.yielded, prometheus.CounterValue, float64(rec.yields))
		send(r.reverted, prometheus.CounterValue, float64(rec.reverts))
		if !rec.stated {
			continue
		}
		for of, n := range map[string]int{
			"tracked": rec.objects.Tracked, "drifted": rec.objects.Drifted, "contended": rec.objects.Contended,
			"waiting": rec.objects.Waiting, "additions": rec.objects.Additions, "unmanaged": rec.objects.Unmanaged,
		} {
			send(r.objects, prometheus.GaugeValue, float64(n), of)
		}
		send(r.locked, prometheus.GaugeValue, bit(rec.locked))
		if rec.suspended != 0 {
			send(r.suspended, prometheus.GaugeValue, float64(rec.suspended))
		}
		send(r.state, prometheus.GaugeValue, 1, rec.state)
		for kind, on := range rec.conditions {
			send(r.condition, prometheus.GaugeValue, bit(on), kind)
		}
	}
}

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
