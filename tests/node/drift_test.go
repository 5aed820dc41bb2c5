//go:build linux

package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// late is the longest time by which the guard delays a request: the timeout of its registration.
const late = 2 * time.Second

// slack is what a busy machine adds to any request.
const slack = 2 * time.Second

// many is how many ConfigMaps the release shop has beside shop: a tamperer who goes round them fights for none.
const many = 20

// traffic is a tamperer who goes round the ConfigMaps of the release shop, and a writer of fields that the lock leaves
// alone.
type traffic struct {
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu sync.Mutex
	// denied counts the refused requests of the tamperer, and lives has the life of the drift of each admitted one.
	denied int
	lives  []time.Duration
	// slowest is the slowest request of the writer, of written.
	slowest time.Duration
	written int
	errs    []error
}

// begin starts the traffic.
func (f *fixture) begin() *traffic {
	f.Helper()
	ctx, stop := context.WithCancel(f.Ctx)
	tr := &traffic{stop: stop}
	configMaps := f.In(kit.ConfigMaps, f.Apps)
	patch := func(name, body string) error {
		_, err := configMaps.Patch(ctx, name, types.MergePatchType, []byte(body),
			metav1.PatchOptions{FieldManager: kit.Tamperer})
		return err
	}
	tr.every(ctx, func(i int) error {
		name := fmt.Sprint("shop-", i%many)
		err := patch(name, fmt.Sprintf(`{"data":{"key":"tampered %d"}}`, i))
		if err != nil && strings.Contains(err.Error(), "denied the request") {
			tr.add(func() { tr.denied++ })
			return nil
		}
		begun := time.Now()
		for err == nil {
			live, getErr := configMaps.Get(ctx, name, metav1.GetOptions{})
			if value, _ := kit.Field(live, "data.key").(string); getErr == nil && !strings.HasPrefix(value, "tampered") {
				break
			}
			err = getErr
		}
		tr.add(func() { tr.lives = append(tr.lives, time.Since(begun)) })
		return err
	})
	tr.every(ctx, func(i int) error {
		begun := time.Now()
		err := patch("shop", fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, i))
		tr.add(func() { tr.written, tr.slowest = tr.written+1, max(tr.slowest, time.Since(begun)) })
		return err
	})
	f.Cleanup(func() { tr.end() })
	return tr
}

// every calls a function ten times a second until the end, and keeps its errors.
func (tr *traffic) every(ctx context.Context, do func(i int) error) {
	tr.ended.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for i := 0; ; i++ {
			if err := do(i); err != nil && ctx.Err() == nil {
				tr.add(func() { tr.errs = append(tr.errs, err) })
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
}

func (tr *traffic) add(what func()) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	what()
}

// seen returns how many of the tamperer's requests were denied, and admitted.
func (tr *traffic) seen() (denied, admitted int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.denied, len(tr.lives)
}

// end stops the traffic.
func (tr *traffic) end() {
	tr.stop()
	tr.ended.Wait()
}

// steps is how many requests follow each other before a drift ends, when a leader begins: for its lease, the record,
// the object, and the write. On a busy machine each takes as long as the slowest request of the writer, or as a usual
// revert: the processors serve a Pod after the programs of the machine, and so after the writer.
const steps = 5

// unusual is how many drifts an interruption of the operator lengthens: the tamperer waits for the end of each. Those
// and the longest fiftieth are no measure of the machine.
const unusual = 3

// expect stops the traffic. It expects every write to pass in time, and no drift to live longer than a limit and the
// requests of its revert.
func (tr *traffic) expect(t testing.TB, limit time.Duration) {
	t.Helper()
	tr.end()
	longest, usual := time.Duration(0), time.Duration(0)
	slices.Sort(tr.lives)
	if n := len(tr.lives); n > unusual {
		longest, usual = tr.lives[n-1], tr.lives[n-1-max(unusual, n/50)]
	} else if n > 0 {
		longest = tr.lives[n-1]
	}
	t.Logf("%d changes were denied, %d admitted, of which the longest lived %s, and the usual ones at most %s; "+
		"the slowest of %d other writes took %s", tr.denied, len(tr.lives), longest.Round(time.Millisecond),
		usual.Round(time.Millisecond), tr.written, tr.slowest.Round(time.Millisecond))
	for _, err := range tr.errs {
		t.Errorf("a request failed: %v", err)
	}
	check.That(t, tr.written != 0 && tr.slowest <= late+slack, "the slowest of %d writes took %s", tr.written,
		tr.slowest)
	limit += steps * max(tr.slowest, usual)
	check.That(t, longest <= limit, "a drift lived %s, more than %s", longest, limit)
}

// leader returns the Pod of the leading operator.
func (f *fixture) leader() *corev1.Pod {
	f.Helper()
	var found *corev1.Pod
	f.within(patience, "an operator leads", func() error {
		holder := f.holder()
		for _, p := range f.pods("helm-locker-") {
			if p.Labels["app"] == "helm-locker" && strings.HasPrefix(holder, p.Name) {
				found = &p
				return nil
			}
		}
		return fmt.Errorf("the lease is held by %q", holder)
	})
	return found
}

// holder returns the holder of the operators' lease, or "".
func (f *fixture) holder() string {
	lease, err := f.Kube.CoordinationV1().Leases(f.Operator).Get(f.Ctx, "helm-locker", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// restarts returns how often the container of a Pod was restarted, and whether it is Ready.
func (f *fixture) restarts(pod string) (count int32, ready bool) {
	f.Helper()
	p, err := f.Kube.CoreV1().Pods(f.Operator).Get(f.Ctx, pod, metav1.GetOptions{})
	check.NoError(f, err)
	return p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[0].Ready
}

// objects are the templates of the release shop.
var objects = strings.Replace(template, declared, "{{ .Values.key }}", 1) + fmt.Sprintf(`
{{- range until %d }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "shop-{{ . }}"}
data: {key: {{ $.Values.key }}}
{{- end }}
`, many)

// upgradeTo upgrades the release shop by Helm to a value, and expects it in every object.
func (f *fixture) upgradeTo(h cluster.Helm, value string) {
	f.Helper()
	chart, err := cluster.Chart(f.TempDir(), "shop", "0.1.0", map[string]string{"all.yaml": objects}, "key: "+declared)
	check.NoError(f, err)
	f.Helm(h, "upgrade", "--install", "shop", chart, "--set", "key="+value)
	f.restored(value)
}

// restored waits until every object of the release shop has had a value.
func (f *fixture) restored(value string) {
	f.Helper()
	f.WaitField(kit.ConfigMaps, "shop", "data.key", value)
	for i := range many {
		f.WaitField(kit.ConfigMaps, fmt.Sprint("shop-", i), "data.key", value)
	}
}
