package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// happening is one line of status --watch. Its fields are part of the command's interface.
type happening struct {
	Context     string    `json:"context,omitempty"`
	Time        time.Time `json:"time"`
	HelmRelease string    `json:"helmRelease"`
	Release     string    `json:"release"`
	// Drift is the drift of the event; nil for a change of state.
	Drift *v1alpha1.DriftRecord `json:"drift,omitempty"`
	// Locked and Message are the new state, for a change of state.
	Locked  string `json:"locked,omitempty"`
	Message string `json:"message,omitempty"`
}

// watchLine is a happening as JSON.
type watchLine struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	happening
}

// follower derives events from successive states of HelmReleases.
type follower struct {
	// context names the cluster of several; empty for one.
	context string
	now     func() time.Time
	known   map[string]*seen // by uid
}

type seen struct {
	state  string
	drifts map[driftKey]v1alpha1.DriftAction
}

// driftKey identifies a drift.
type driftKey struct {
	at        time.Time
	object    v1alpha1.DriftedObject
	operation v1alpha1.DriftOperation
	// The manager and how it wrote.
	manager, how, subresource string
}

// next returns the events of a HelmRelease since its last state. For the first state it returns only the lock:
// earlier drift is history.
func (f *follower) next(event watch.EventType, hr *v1alpha1.HelmRelease) []happening {
	base := happening{Context: f.context, Time: f.now(), HelmRelease: hr.Namespace + "/" + hr.Name,
		Release: hr.Spec.Release.String()}
	before := f.known[string(hr.UID)]
	if event == watch.Deleted {
		delete(f.known, string(hr.UID))
		base.Locked, base.Message = report.LockedNo, "the HelmRelease was deleted"
		return []happening{base}
	}
	after := &seen{drifts: map[driftKey]v1alpha1.DriftAction{}}
	f.known[string(hr.UID)] = after
	var happened []happening
	for _, record := range slices.Backward(hr.Status.RecentDrift) {
		key := driftKey{record.Time.UTC(), record.Object, record.Operation, record.FieldManager,
			record.FieldManagerOperation, record.Subresource}
		after.drifts[key] = record.Action
		if before == nil || before.drifts[key] == record.Action {
			continue
		}
		now := base
		now.Time, now.Drift = record.Time.Time, &record
		happened = append(happened, now)
	}
	locked, message := lockMessage(hr, base.Time)
	after.state = locked + " " + message
	if before != nil && hr.Status.ObservedGeneration < hr.Generation {
		after.state = before.state // the operator has not handled what was changed last
	}
	if before == nil || before.state != after.state {
		base.Locked, base.Message = locked, message
		happened = append(happened, base)
	}
	return happened
}

// lockMessage reports whether a HelmRelease is locked and describes its state. It leaves current drift out, which has
// separate lines.
func lockMessage(hr *v1alpha1.HelmRelease, now time.Time) (locked, message string) {
	locked = report.LockState(hr, now)
	reason, message, _ := report.Ready(hr)
	switch reason {
	case v1alpha1.ReasonLocked, v1alpha1.ReasonDetectOnly, v1alpha1.ReasonDriftDetected:
		message = fmt.Sprintf("revision %d, %s", hr.Status.Revision, plain.Count(hr.Status.Objects.Tracked, "object"))
	}
	if locked == report.LockedSuspended {
		message = "suspended" + report.SuspendedFor(hr)
	}
	if c := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionContended); c != nil &&
		c.Status == metav1.ConditionTrue {
		message += "; contended: " + c.Message
	}
	return locked, message
}

// watchStatus prints a line for every event, until ctx ends. With several contexts it goes on with the others when one
// ends with an error.
func watchStatus(ctx context.Context, a *action) error {
	contexts, err := a.contexts()
	if err != nil {
		return err
	}
	if contexts == nil {
		return watchCluster(ctx, a)
	}
	all := make([]located[struct{}], len(contexts))
	var printing sync.Mutex
	a.sideBySide(contexts, len(contexts), func(i int, one *action) {
		one.out = oneAtATime{&printing, func(text string) error {
			return a.write(text)
		}}
		one.errOut = oneAtATime{&printing, func(text string) error {
			a.noteIn(contexts[i].Name, text)
			return nil
		}}
		all[i].Context = contexts[i]
		err := watchCluster(ctx, one)
		if ctx.Err() != nil {
			return // the user has seen enough
		}
		all[i].err = err
		printing.Lock()
		defer printing.Unlock()
		a.printErrorIn(contexts[i].Name, err)
	})
	return worst(all)
}

// oneAtATime passes what is written to print, which is not called for two texts at the same time.
type oneAtATime struct {
	printing *sync.Mutex
	print    func(text string) error
}

func (o oneAtATime) Write(text []byte) (int, error) {
	o.printing.Lock()
	defer o.printing.Unlock()
	return len(text), o.print(string(text))
}

// watchCluster prints a line for every event in one cluster, until ctx ends.
func watchCluster(ctx context.Context, a *action) error {
	store, query, err := statusStore(ctx, a)
	if err != nil {
		return err
	}
	_, operators, err := queried(ctx, a, store, query)
	if err != nil {
		return err
	}
	f := &follower{context: a.context, now: a.now, known: map[string]*seen{}}
	err = store.follow(ctx, "", func(event watch.EventType, hr *v1alpha1.HelmRelease) (bool, error) {
		if !query.fits(hr) {
			return false, nil
		}
		if f.known[string(hr.UID)] == nil {
			outdate(hr, operators)
		}
		for _, h := range f.next(event, hr) {
			line := eventText(h, a.style()) + "\n"
			if a.cmd.String("output") == formatJSON {
				var err error
				if line, err = encodeJSON(watchLine{report.ListVersion, kindLockEvent, h}, ""); err != nil {
					return false, err
				}
			}
			if err := a.write(line); err != nil {
				return false, err
			}
		}
		return false, nil
	})
	if errors.Is(err, context.Canceled) {
		err = nil // the user has seen enough
	}
	return err
}

// eventText returns the line for people.
func eventText(h happening, style report.Style) string {
	head := style.Dim(h.Time.UTC().Format("2006-01-02T15:04:05.000Z")) + "  "
	if h.Context != "" {
		head += plain.Line(h.Context) + "  "
	}
	head += style.Bold(plain.Line(h.Release)) + "  "
	if h.Drift == nil {
		text := plain.Line(report.LockWords(h.Locked) + ": " + h.Message)
		if h.Locked == report.LockedYes {
			return head + style.Green(text)
		}
		return head + style.Yellow(text)
	}
	text := fmt.Sprintf("%s %s", h.Drift.Object, report.WhatDrifted(*h.Drift))
	done := style.Green(plain.Line(report.Outcome(*h.Drift)))
	if h.Drift.Action == v1alpha1.DriftActionReported || h.Drift.Action == v1alpha1.DriftActionRefused ||
		h.Drift.Action == v1alpha1.DriftActionDenied {
		done = style.Red(plain.Line(report.Outcome(*h.Drift)))
	}
	return head + plain.Line(text) + ": " + done
}
