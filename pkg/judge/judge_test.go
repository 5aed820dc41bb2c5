package judge

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// object returns the object of a YAML text; nil for an empty one.
func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	return &unstructured.Unstructured{Object: fixture.Object(t, text)}
}

const (
	config     = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}, data: {key: declared}}`
	tampered   = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}, data: {key: other}}`
	brief      = `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: apps}, spec: {ttlSecondsAfterFinished: 5}}`
	job        = `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: apps}, spec: {}}`
	twoWebs    = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: apps}, spec: {replicas: 2}}`
	fourWebs   = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: apps}, spec: {replicas: 4}}`
	nineWebs   = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: apps}, spec: {replicas: 9}}`
	claim      = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: apps, finalizers: [x]}}`
	deleted    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, finalizers: [x/y], deletionTimestamp: "2026-01-01T00:00:00Z"}, `
	finishing  = deleted + `data: {key: declared}}`
	finalizing = deleted + `data: {key: other}}`
)

// once is a Pod that is not restarted after it has ended.
const once = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: apps}, spec: {restartPolicy: OnFailure}}`

// ended returns a Pod in a phase. With a time at which its container ended, its deletion was requested at 00:00:10 with
// 30 seconds of grace.
func ended(phase, at string) string {
	if at == "" {
		return `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: ` + phase + `}}`
	}
	return `{apiVersion: v1, kind: Pod, metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:40Z", ` +
		`deletionGracePeriodSeconds: 30}, status: {phase: ` + phase + `, containerStatuses: [{name: c, ` +
		`state: {terminated: {finishedAt: "` + at + `"}}}]}}`
}

func leavesDeletion(t *testing.T) func(*Input) {
	return func(in *Input) { in.Rules = matcher(t, v1alpha1.IgnoreRule{Deletion: true}) }
}

func number(n int64) *int64 { return &n }

func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		desired, live, last string
		with                func(*Input)
		want                State
		replicas            int64 // to restore
	}{
		"as declared": {desired: config, live: config, want: InSync},
		"changed":     {desired: config, live: tampered, want: Drifted},
		"changed when it was not judged before": {desired: config, live: tampered, want: Unclear,
			with: func(in *Input) { in.First = true }},
		"as it was learnt": {desired: config, live: tampered, want: InSync, with: func(in *Input) {
			in.Baseline = drift.Learn(in.Desired, in.Live.Object, drift.Options{})
		}},
		"in a field that is ignored": {desired: config, live: tampered, want: InSync, with: func(in *Input) {
			in.Rules = matcher(t, v1alpha1.IgnoreRule{Paths: []string{"/data/key"}})
		}},
		"with an owner": {desired: pair, live: owned("1"), want: Drifted},
		"with an owner that a controller of Kubernetes adds": {desired: pod, live: adoptedPod, want: InSync},
		"gone":                                  {desired: config, want: Missing},
		"its deletion is pending":               {desired: config, live: finishing, want: BeingDeleted},
		"changed while its deletion is pending": {desired: config, live: finalizing, want: Drifted},

		"Job: gone and never seen":     {desired: job, want: NotRecreated},
		"Job: gone before it finished": {desired: job, last: job, want: Missing},
		"Job: gone after it finished": {desired: job, want: NotRecreated,
			last: `{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: "True"}]}}`},
		"Job: gone before its time to live could end": {last: job, want: Missing, desired: brief,
			with: func(in *Input) { in.GoneFor = 4 * time.Second }},
		"Job: gone for as long as its time to live": {last: job, want: NotRecreated, desired: brief,
			with: func(in *Input) { in.GoneFor = 5 * time.Second }},
		"Job: gone for as long as another user let it live": {last: brief, want: Missing, desired: job,
			with: func(in *Input) { in.GoneFor = 5 * time.Second }},

		"Pod that runs once: gone after it succeeded": {desired: once, last: ended("Succeeded", ""), want: NotRecreated},
		"Pod that runs once: gone after it failed":    {desired: once, last: ended("Failed", ""), want: NotRecreated},
		"Pod that runs once: gone before it ended":    {desired: once, last: ended("Running", ""), want: Missing},
		"Pod that runs once: gone and never seen":     {desired: once, want: NotRecreated},
		"Pod that runs once: ended before its deletion": {desired: once, want: NotRecreated,
			last: ended("Succeeded", "2026-01-01T00:00:09Z")},
		"Pod that runs once: ended by its deletion": {desired: once, want: Missing,
			last: ended("Failed", "2026-01-01T00:00:11Z")},
		"Pod that is restarted: gone after it succeeded": {desired: pod, last: ended("Succeeded", ""), want: Missing},
		"a deletion that a rule leaves alone":            {desired: config, last: config, want: NotRecreated, with: leavesDeletion(t)},
		"a pending deletion that a rule leaves alone": {desired: config, live: finishing, want: InSync,
			with: leavesDeletion(t)},
		"changed, and a rule leaves its deletion alone": {desired: config, live: tampered, want: Drifted,
			with: leavesDeletion(t)},

		"replicas: no autoscaler": {desired: twoWebs, live: fourWebs, want: Drifted, replicas: 2},
		"replicas: within the range of the release's autoscaler": {desired: twoWebs, live: fourWebs, want: InSync,
			with: func(in *Input) { in.Replicas = &Range{Min: 1, Max: 5} }},
		"replicas: within the range of a live autoscaler": {desired: twoWebs, live: fourWebs, want: InSync,
			with: func(in *Input) { in.LiveRange = &Range{Min: 1, Max: 5} }},
		"replicas: beyond the range": {desired: twoWebs, live: nineWebs, want: Drifted, replicas: 5,
			with: func(in *Input) { in.LiveRange = &Range{Min: 1, Max: 5} }},
		"replicas: beyond the range, and one was chosen": {desired: twoWebs, live: nineWebs, want: Drifted, replicas: 4,
			with: func(in *Input) { in.LiveRange, in.Chosen = &Range{Min: 1, Max: 5}, number(4) }},
		"replicas: gone, and one was chosen": {desired: twoWebs, want: Missing, replicas: 4,
			with: func(in *Input) { in.LiveRange, in.Chosen = &Range{Min: 1, Max: 5}, number(4) }},
		"replicas: gone, and what was chosen is beyond the range": {desired: twoWebs, want: Missing, replicas: 2,
			with: func(in *Input) { in.LiveRange, in.Chosen = &Range{Min: 1, Max: 3}, number(4) }},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, test.desired, test.live)
			in.Last = object(t, test.last)
			if test.with != nil {
				test.with(&in)
			}
			got := Judge(in)
			check.Must(t, got.State == test.want, "%s %v, want %s", got.State, got.Changes, test.want)
			check.That(t,
				(got.State == NotRecreated) == (got.Why != "") && (got.Deletion != "") == ((test.live == finishing ||
					test.live == finalizing) && !in.Rules.Deletion()), "why %q, deletion %q", got.Why, got.Deletion)
			restored, _, _ := unstructured.NestedInt64(got.Desired, "spec", "replicas")
			if test.replicas != 0 && restored != test.replicas {
				t.Errorf("%d replicas are restored, want %d", restored, test.replicas)
			}
		})
	}
}

func TestHasAdditions(t *testing.T) {
	const desired = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: declared}}`
	const added = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {key: declared, more: x}}`
	for name, test := range map[string]struct {
		live, manager string
		with          func(*Input)
		want          bool
	}{
		"nothing":                      {live: desired, manager: "kubectl"},
		"of a person":                  {live: added, manager: "kubectl", want: true},
		"of Helm":                      {live: added, manager: "helm"},
		"of Kubernetes":                {live: added, manager: "kube-controller-manager"},
		"in scope Strict, it is drift": {live: added, manager: "kubectl", with: func(in *Input) { in.Strict = true }},
		"in a field that is ignored": {live: added, manager: "kubectl", with: func(in *Input) {
			in.Rules = matcher(t, v1alpha1.IgnoreRule{Paths: []string{"/data/more"}})
		}},
		"of a manager that is ignored": {live: added, manager: "kubectl", with: func(in *Input) {
			in.Rules = matcher(t, v1alpha1.IgnoreRule{Managers: []string{"kube*"}})
		}},
	} {
		in := input(t, desired, test.live)
		in.Live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: test.manager,
			Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:more":{}}}`)}})
		if test.with != nil {
			test.with(&in)
		}
		check.Equal(t, in.HasAdditions(Judge(in), in.Live), test.want, "%v", name)
	}
}

func input(t testing.TB, desired, live string) Input {
	t.Helper()
	u := object(t, desired)
	gvk := u.GroupVersionKind()
	return Input{
		ID:      manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: "apps", Name: "a"},
		Release: release.Key{Namespace: "apps", Name: "app"}, Desired: u.Object, Live: object(t, live),
		Scalable: gvk.Kind == "Deployment",
	}
}

func matcher(t testing.TB, ignore ...v1alpha1.IgnoreRule) *rules.Matcher {
	t.Helper()
	compiled, err := rules.Compile(ignore)
	check.NoError(t, err)
	return compiled.For(manifest.Object{})
}

// A dry run distinguishes the API server's form of a declared value from drift.
func TestSettle(t *testing.T) {
	for name, test := range map[string]struct {
		after string
		want  State
	}{
		"the API server would leave it as it is":   {tampered, InSync},
		"the API server would make it what it was": {config, Drifted},
	} {
		in := input(t, config, tampered)
		in.First = true
		got := in.Unsettled(Judge(in)).AfterDryRun(object(t, test.after))
		check.Equal(t, got.State, test.want, "%v", name)
		in.First, in.Baseline = false, got.Baseline
		again := Judge(in)
		check.That(t, again.State == test.want, "%s: %s when it is judged again", name, again.State)
	}
}

func TestWhoElseClaimsTheObject(t *testing.T) {
	for annotations, want := range map[string]release.Key{
		`{}`: {},
		`{meta.helm.sh/release-name: app, meta.helm.sh/release-namespace: apps}`:   {},
		`{meta.helm.sh/release-name: other}`:                                       {},
		`{meta.helm.sh/release-name: other, meta.helm.sh/release-namespace: apps}`: {Namespace: "apps", Name: "other"},
	} {
		live := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps, annotations: ` + annotations + `}}`
		check.Equal(t, Judge(input(t, config, live)).Claimant, want, "%v", annotations)
	}
}

// The last finalizer of what holds data stays even in scope Strict: to take it off would complete the deletion.
func TestFinalizersOfWhatHoldsData(t *testing.T) {
	finalizer := []string{"metadata", "finalizers", "0"}
	for desired, want := range map[string]bool{claim: true, config: false} {
		in := input(t, desired, desired)
		deleted := object(t, finishing).GetDeletionTimestamp()
		in.Live.SetDeletionTimestamp(deleted)
		ignore := in.Ignore(in.Desired)
		check.That(t, (ignore != nil && ignore(finalizer)) == want, "%s: ignored is %v", in.ID, !want)
		in.Live.SetDeletionTimestamp(nil)
		ignore = in.Ignore(in.Desired)
		check.That(t, ignore == nil, "%s: something is ignored although no deletion is pending", in.ID)
	}
}
