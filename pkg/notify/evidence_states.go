package notify

import (
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
)

// states are the locks as the last lines have them. The sink reads them when it begins, after a gap, and each minute:
// the stream has only changes, and neither the reason of a pause nor refused requests.
type states struct {
	written map[message.Reference]lockState // by HelmRelease
	denied  map[message.Reference][]v1alpha1.DriftRecord
}

// lockState is the content of a line about a lock.
type lockState struct {
	release message.Reference
	lock    message.Lock
	pause   evidence.Pause
	rules   evidence.Rules
	writer  string
}

func newStates() *states {
	return &states{written: map[message.Reference]lockState{}, denied: map[message.Reference][]v1alpha1.DriftRecord{}}
}

// told notes the state in a message. Its pause is read later.
func (s *states) told(m *message.Message) {
	before := s.written[*m.HelmRelease]
	before.lock = *m.Lock
	if m.Release != nil {
		before.release = *m.Release
	}
	s.written[*m.HelmRelease] = before
}

// read returns lines for what has changed, or for all locks. The list was read after a time.
func (s *states) read(list []v1alpha1.HelmRelease, after time.Time, all bool) []*evidence.Line {
	var lines []*evidence.Line
	found := map[message.Reference]bool{}
	for i := range list {
		hr := &list[i]
		key := message.Reference{Namespace: hr.Namespace, Name: hr.Name}
		found[key] = true
		lines = append(lines, s.deniedSince(key, hr)...)
		now := stateOf(hr)
		if before, known := s.written[key]; all || !known || !same(before, now) {
			lines = append(lines, now.line(key, after))
		}
		s.written[key] = now
	}
	for key, before := range s.written {
		if !found[key] {
			before.lock = message.Lock{Reason: v1alpha1.EventReasonUntracked, Message: "the HelmRelease does not exist"}
			before.pause, before.rules, before.writer = evidence.Pause{}, evidence.Rules{}, ""
			lines = append(lines, before.line(key, after))
			delete(s.written, key)
			delete(s.denied, key)
		}
	}
	return lines
}

// same reports whether two states differ in nothing but the message about a lock, which may count objects.
func same(x, y lockState) bool {
	x.lock.Message, y.lock.Message = "", ""
	return reflect.DeepEqual(x, y)
}

// deniedSince returns lines for the refused requests that are not written.
func (s *states) deniedSince(key message.Reference, hr *v1alpha1.HelmRelease) []*evidence.Line {
	var lines []*evidence.Line
	var all []v1alpha1.DriftRecord
	for i := range hr.Status.RecentDrift {
		r := hr.Status.RecentDrift[i]
		if r.Action != v1alpha1.DriftActionDenied {
			continue
		}
		all = append(all, r)
		written := func(o v1alpha1.DriftRecord) bool { return equality.Semantic.DeepEqual(o, r) }
		if !slices.ContainsFunc(s.denied[key], written) {
			l := stateOf(hr).line(key, r.Time.Time)
			l.Type, l.Data = evidence.Denied, evidence.Data{Message: message.Message{
				HelmRelease: &key, Release: l.Data.Release, Drift: &r}}
			lines = append(lines, l)
		}
	}
	slices.Reverse(lines) // the newest is the first one in the status
	s.denied[key] = all
	return lines
}

// stateOf returns the state of a HelmRelease by its status and its spec.
func stateOf(hr *v1alpha1.HelmRelease) lockState {
	s := lockState{release: message.Reference{Namespace: hr.Spec.Release.Namespace, Name: hr.Spec.Release.Name},
		lock: message.Lock{State: hr.Status.State, Revision: hr.Status.Revision}}
	if cond := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionLocked); cond != nil {
		s.lock.Locked, s.lock.Reason = cond.Status == metav1.ConditionTrue, cond.Reason
		s.lock.Message = cond.Message
	}
	s.rules = evidence.Rules{Mode: hr.Spec.Mode, Scope: hr.Spec.Scope, Guard: hr.Spec.Guard,
		Account: hr.Spec.ServiceAccountName, Ignore: hr.Spec.Ignore}
	if t := hr.Status.Trust; t != nil && t.Revision == hr.Status.Revision {
		s.writer = t.Writer
	}
	s.pause = pauseOf(hr, s.lock.Reason)
	return s
}

func (s lockState) line(key message.Reference, at time.Time) *evidence.Line {
	l := &evidence.Line{Type: evidence.StateRead, Time: at, Data: evidence.Data{Message: message.Message{
		HelmRelease: &key, Release: &s.release, Lock: &s.lock}}}
	if s.pause != (evidence.Pause{}) {
		l.Data.Pause = &s.pause
	}
	if !reflect.DeepEqual(s.rules, evidence.Rules{}) {
		l.Data.Rules = &s.rules
	}
	l.Data.Writer = s.writer
	return l
}
