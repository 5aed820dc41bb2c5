package policy

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
)

const system = "locker"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// newPolicy returns a policy for the given namespaces, as the API server stores one.
func newPolicy(name string, namespaces ...string) *v1alpha1.HelmReleasePolicy {
	p := &v1alpha1.HelmReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name,
		UID: types.UID("uid of " + name), Generation: 1, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
	p.Spec.Match.Namespaces = namespaces
	p.Spec.Template.Spec = v1alpha1.Protection{Mode: v1alpha1.ModeEnforce, Scope: v1alpha1.ScopeDeclared,
		Guard: v1alpha1.GuardOff}
	p.Spec.MaxReleases, p.Spec.AcceptRecordsOfAnyone = defaultMaxReleases, true
	return p
}

func newRelease(name string) Release {
	namespace, name, _ := strings.Cut(name, "/")
	return Release{Key: release.Key{Namespace: namespace, Name: name}}
}

func releases(names ...string) (all []Release) {
	for _, name := range names {
		all = append(all, newRelease(name))
	}
	return all
}

// inputOf returns the input of a plan for one policy and some releases.
func inputOf(p *v1alpha1.HelmReleasePolicy, names ...string) Input {
	return Input{Namespace: system, Policies: []*v1alpha1.HelmReleasePolicy{p}, Now: noon, Releases: releases(names...)}
}

// handWritten returns a HelmRelease of no policy.
func handWritten(name, of string) *v1alpha1.HelmRelease {
	r := newRelease(of)
	hr := &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name,
		UID: types.UID("uid of HelmRelease " + name)}}
	hr.Spec.Release = v1alpha1.ReleaseReference{Namespace: r.Namespace, Name: r.Name}
	return hr
}

// drifts is the annotation of a HelmRelease whose release drifts in mode Detect.
const drifts = "test/drifts"

// carriedOut returns the HelmReleases after a plan, with the operator's status.
func carriedOut(in Input, plan Plan) []*v1alpha1.HelmRelease {
	all := map[string]*v1alpha1.HelmRelease{}
	for _, hr := range in.HelmReleases {
		all[hr.Name] = hr
	}
	for _, r := range plan.Results {
		switch r.Outcome {
		case Create, Update:
			hr := r.Desired.DeepCopy()
			if hr.UID == "" {
				hr.UID = types.UID("uid of HelmRelease " + hr.Name)
			}
			hr.Generation++
			hr.Status.ObservedGeneration = hr.Generation
			locked := metav1.Condition{Type: v1alpha1.ConditionLocked, Status: metav1.ConditionTrue,
				Reason: v1alpha1.ReasonLocked}
			if hr.Spec.Mode == v1alpha1.ModeDetect {
				locked.Status, locked.Reason = metav1.ConditionFalse, v1alpha1.ReasonDetectOnly
			}
			ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
				Reason: locked.Reason}
			drifted := metav1.Condition{Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionFalse}
			if hr.Spec.Mode == v1alpha1.ModeDetect && hr.Annotations[drifts] != "" {
				drifted.Status = metav1.ConditionTrue
			}
			hr.Status.Conditions = []metav1.Condition{locked, ready, drifted}
			all[hr.Name] = hr
		case Delete:
			delete(all, r.Existing.Name)
		}
	}
	var list []*v1alpha1.HelmRelease
	for _, hr := range all {
		list = append(list, hr)
	}
	return list
}

// show renders a plan, without unchanged releases.
func show(plan Plan) string {
	var lines []string
	for _, r := range plan.Results {
		line := fmt.Sprintf("%s %s %s %s", r.Policy.Name, r.Outcome, r.Release, r.By)
		if r.Outcome != Keep {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "; ")
}

func with[T any](v *T, change func(*T)) *T {
	change(v)
	return v
}
