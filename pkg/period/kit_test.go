package period

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
)

var begin = time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)

// script makes lines as the sink writes them, at given hours of a period.
type script struct {
	t       testing.TB
	cluster string
	lines   []*evidence.Line
}

func hour(n float64) time.Time { return begin.Add(time.Duration(n * float64(time.Hour))) }

func (s *script) add(at float64, kind message.Type, d evidence.Data) *evidence.Line {
	l := &evidence.Line{Type: kind, Time: hour(at), Recorded: hour(at), Cluster: s.cluster, Data: d}
	if kind != evidence.StateRead && kind != evidence.Denied && kind != evidence.GapFound {
		l.Lease = "locker"
	}
	s.lines = append(s.lines, l)
	return l
}

func (s *script) watched(from, until float64) {
	s.add(until, evidence.Watched, evidence.Data{Watched: &evidence.Span{From: hour(from), Until: hour(until)}})
}

func (s *script) gap(from, until float64, reason evidence.Reason) *evidence.Line {
	g := evidence.Gap{From: hour(from), Until: hour(until), Reason: reason}
	return s.add(until, evidence.GapFound, evidence.Data{Gap: &g})
}

func about(name string) message.Message {
	return message.Message{HelmRelease: &message.Reference{Namespace: "locker", Name: name},
		Release: &message.Reference{Namespace: "apps", Name: name}}
}

func (s *script) lock(at float64, name string, l message.Lock) {
	m := about(name)
	m.Lock = &l
	s.add(at, message.LockChanged, evidence.Data{Message: m})
}

func locked(revision int) message.Lock {
	return message.Lock{Locked: true, Reason: v1alpha1.ReasonLocked, Revision: revision}
}

func (s *script) state(at float64, name string, l message.Lock, d evidence.Data) {
	d.Message = about(name)
	d.Lock = &l
	s.add(at, evidence.StateRead, d)
}

func (s *script) drift(at float64, name string, change func(*v1alpha1.DriftRecord)) {
	m := about(name)
	m.Drift = &v1alpha1.DriftRecord{Time: metav1.NewMicroTime(hour(at)), Action: v1alpha1.DriftActionReverted,
		Operation: v1alpha1.DriftModified,
		Object:    v1alpha1.DriftedObject{Kind: "ConfigMap", Namespace: "apps", Name: name},
		Paths:     []string{"/data/a"}, FieldManager: "kubectl-edit", Duration: &metav1.Duration{Duration: 12 * time.Millisecond},
		Since: v1alpha1.DriftSinceObserved}
	change(m.Drift)
	kind := message.TypeOf(m.Drift.Action)
	if m.Drift.Action == v1alpha1.DriftActionDenied {
		kind = evidence.Denied
	}
	s.add(at, kind, evidence.Data{Message: m})
}

func (s *script) report(from, until float64) *Report {
	b := NewBuilder(hour(from), hour(until))
	for _, l := range s.lines {
		b.Add(l)
	}
	b.AddChain("evidence", &evidence.Chain{Files: 1, Lines: len(s.lines), Head: evidence.Genesis})
	return b.Report()
}

// brief returns intervals in a short form, in hours.
func brief(all []Interval) (out []string) {
	for _, i := range all {
		text := fmt.Sprintf("%g-%g %s %s", i.From.Sub(begin).Hours(), i.Until.Sub(begin).Hours(), i.State, i.Reason)
		if i.Pause != nil {
			text += " " + i.Pause.Reason
		}
		out = append(out, text)
	}
	return out
}
