package judge

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// An object of a Helm release, and its forms after requests. Foreign fields are beside what the manifest declares.
const (
	pair        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}, data: {one: "1", two: "2"}}`
	oneChanged  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}, data: {one: x, two: "2"}}`
	oneAgain    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}, data: {one: z, two: "2"}}`
	twoChanged  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}, data: {one: "1", two: y}}`
	bothChanged = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}, data: {one: x, two: y}}`
	oneGone     = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}, data: {two: "2"}}`
	foreign     = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps, managedFields: [` +
		`{manager: me, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:three": {}}}}]}, ` +
		`data: {one: "1", two: "2", three: "3"}}`
	frozenPair = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps}, immutable: true, ` +
		`data: {one: "1", two: "2"}}`
	taken = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps, annotations: ` +
		`{meta.helm.sh/release-name: other, meta.helm.sh/release-namespace: apps}}, data: {one: x, two: "2"}}`
	pod        = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: apps}}`
	adoptedPod = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: apps, ownerReferences: [` +
		`{apiVersion: apps/v1, kind: ReplicaSet, name: b, uid: "1", controller: true}]}}`
	goes = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: apps, finalizers: [x/y], ` +
		`deletionTimestamp: "2026-01-01T00:00:00Z"}, data: {one: "1", two: "2"}}`
	shortJob = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {ttlSecondsAfterFinished: 9}}`
	otherJob = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {managedBy: example.com/queue}}`
	limited  = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {activeDeadlineSeconds: 9, backoffLimit: 6}}`
	hurried  = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {activeDeadlineSeconds: 1, backoffLimit: 0}}`
	ending   = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {}, status: {conditions: [{type: FailureTarget, status: "True"}]}}`
	finished = `{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {}, status: {conditions: [{type: Complete, status: "True"}]}}`
)

func TestAdmit(t *testing.T) {
	for name, test := range map[string]struct {
		desired, before, after string // after is empty for a deletion
		with                   func(*Admission)
		want                   AdmissionReason
		paths                  string
	}{
		"a change":              {pair, pair, oneChanged, nil, StopChange, "data[one]"},
		"a removal":             {pair, pair, oneGone, nil, StopChange, "data[one]"},
		"a deletion":            {pair, pair, "", nil, StopDeletion, ""},
		"an owner":              {pair, pair, owned("1"), nil, StopChange, "metadata.ownerReferences[0]"},
		"another owner":         {pair, owned("1"), owned("2"), nil, StopChange, "metadata.ownerReferences[0]"},
		"the same owner":        {pair, owned("1"), owned("1"), nil, AdmitNoDrift, ""},
		"an owner goes":         {pair, owned("1"), pair, nil, AdmitNoDrift, ""},
		"a declared owner":      {owned("1"), pair, owned("1"), nil, AdmitNoDrift, ""},
		"a declared owner goes": {owned("1"), owned("1"), pair, nil, StopChange, "metadata.ownerReferences"},
		"an owner that a controller of Kubernetes adds": {pair, pair, owned("1"), by(
			"system:serviceaccount:kube-system:statefulset-controller", "system:serviceaccounts:kube-system"),
			AdmitNoDrift, ""},
		"an owner that is ignored": {pair, pair, owned("1"), func(a *Admission) {
			a.Rules = matcher(t, v1alpha1.IgnoreRule{Paths: []string{"/metadata/ownerReferences"}})
		}, AdmitNoDrift, ""},
		"a Pod is adopted by a user": {pod, pod, adoptedPod, nil, StopChange, "metadata.ownerReferences[0]"},
		"nothing":                    {pair, pair, pair, nil, AdmitNoDrift, ""},
		"a repair":                   {pair, oneChanged, pair, nil, AdmitNoDrift, ""},
		"half a repair":              {pair, bothChanged, twoChanged, nil, AdmitNoDrift, ""},
		"nothing of a drift":         {pair, oneChanged, oneChanged, nil, AdmitNoDrift, ""},
		"more drift":                 {pair, oneChanged, bothChanged, nil, StopChange, "data[two]"},
		"another drift":              {pair, oneChanged, oneAgain, nil, StopChange, "data[one]"},
		"a repair and a new drift":   {pair, oneChanged, twoChanged, nil, StopChange, "data[two]"},
		"what others add":            {pair, pair, foreign, nil, AdmitNoDrift, ""},
		"what forbids later changes": {pair, pair, frozenPair, nil, StopChange, "immutable"},
		"what forbids them already":  {pair, frozenPair, frozenPair, nil, AdmitNoDrift, ""},
		"what others add, in scope Strict": {pair, pair, foreign, func(a *Admission) { a.Strict = true }, StopChange,
			"data[three]"},
		"what others had added, in scope Strict": {pair, foreign, foreign, func(a *Admission) { a.Strict = true },
			AdmitNoDrift, ""},
		"what is ignored": {pair, pair, oneChanged, func(a *Admission) {
			a.Rules = matcher(t, v1alpha1.IgnoreRule{Paths: []string{"/data/one"}})
		}, AdmitNoDrift, ""},
		"back to what was learnt": {pair, oneAgain, oneChanged, func(a *Admission) {
			a.Baseline = drift.Learn(a.Desired, object(t, oneChanged).Object, drift.Options{})
		}, AdmitNoDrift, ""},
		"a form that is not learnt yet": {pair, oneChanged, oneChanged, func(a *Admission) { a.First = true }, AdmitNoDrift, ""},

		"no guard":      {pair, pair, oneChanged, func(a *Admission) { a.Guard = v1alpha1.GuardOff }, AdmitOff, ""},
		"one of before": {pair, pair, oneChanged, func(a *Admission) { a.Guard = "" }, AdmitOff, ""},

		"an exempt user":             {pair, pair, "", exempting("User", "", "alice"), AdmitExempt, ""},
		"another user":               {pair, pair, "", exempting("User", "", "bob"), StopDeletion, ""},
		"an exempt group":            {pair, pair, oneChanged, exempting("Group", "", "admins"), AdmitExempt, ""},
		"a group of the user's name": {pair, pair, oneChanged, exempting("Group", "", "alice"), StopChange, "data[one]"},
		"an exempt ServiceAccount": {pair, pair, "", func(a *Admission) {
			a.By.User = "system:serviceaccount:ci:deployer"
			exempting("ServiceAccount", "ci", "deployer")(a)
		}, AdmitExempt, ""},
		"a ServiceAccount of another namespace": {pair, pair, "", func(a *Admission) {
			a.By.User = "system:serviceaccount:dev:deployer"
			exempting("ServiceAccount", "ci", "deployer")(a)
		}, StopDeletion, ""},

		"the garbage collector":                {pair, pair, "", by("system:serviceaccount:kube-system:generic-garbage-collector"), AdmitCluster, ""},
		"the namespace controller":             {pair, pair, oneChanged, by("system:serviceaccount:kube-system:namespace-controller"), AdmitCluster, ""},
		"a deletion by the controller manager": {pair, pair, "", by("system:kube-controller-manager"), AdmitCluster, ""},
		"a deletion by another controller": {pair, pair, "", by("system:serviceaccount:kube-system:pod-garbage-collector",
			"system:serviceaccounts:kube-system"), AdmitCluster, ""},
		"a change by another controller": {pair, pair, oneChanged, by("system:serviceaccount:kube-system:x",
			"system:serviceaccounts:kube-system"), StopChange, "data[one]"},
		"a preemption": {pair, pair, "", by("system:kube-scheduler"), AdmitCluster, ""},
		"a node":       {pair, pair, "", by("system:node:n1", "system:nodes"), AdmitCluster, ""},
		"the account of the release deletes": {pair, pair, "", func(a *Admission) {
			a.Account, a.ReplaceImmutable = "alice", true
		}, StopDeletion, ""},
		"the account of the release replaces": {pair, oneChanged, "", func(a *Admission) {
			a.Account, a.ReplaceImmutable = "alice", true
		}, AdmitOwn, ""},
		"the account of the release may not replace": {pair, oneChanged, "", func(a *Admission) { a.Account = "alice" },
			StopDeletion, ""},
		"another account replaces": {pair, oneChanged, "", func(a *Admission) {
			a.Account, a.ReplaceImmutable = "bob", true
		}, StopDeletion, ""},
		"the account of the release changes": {pair, pair, oneChanged, func(a *Admission) { a.Account = "alice" },
			StopChange, "data[one]"},

		"a deletion that is pending": {pair, goes, "", nil, AdmitBeingDeleted, ""},
		"a Job that has run":         {job, finished, "", nil, AdmitNotRecreated, ""},
		"a Pod that has run":         {once, ended("Succeeded", ""), "", nil, AdmitNotRecreated, ""},
		"a Pod that runs":            {once, ended("Running", ""), "", nil, StopDeletion, ""},
		"a deletion that a rule leaves alone": {pair, pair, "", func(a *Admission) {
			a.Rules = matcher(t, v1alpha1.IgnoreRule{Deletion: true})
		}, AdmitNotRecreated, ""},
		"a Job that runs":        {job, job, "", nil, StopDeletion, ""},
		"a Job that a user ends": {job, job, finished, nil, StopChange, "status.conditions"},
		"a Job that its controller ends": {job, job, finished, by("system:serviceaccount:kube-system:job-controller",
			"system:serviceaccounts:kube-system"), AdmitNoDrift, ""},
		"a Job of another controller":              {job, otherJob, finished, nil, AdmitNoDrift, ""},
		"a Job that a user has its controller end": {job, job, ending, nil, StopChange, "status.conditions"},
		"a Job with limits that a user adds":       {job, job, limited, nil, StopChange, "spec.activeDeadlineSeconds, spec.backoffLimit"},
		"a Job with limits that a user lowers":     {job, limited, hurried, nil, StopChange, "spec.activeDeadlineSeconds, spec.backoffLimit"},
		"a Job with limits that a user raises":     {job, hurried, limited, nil, AdmitNoDrift, ""},
		"a Job with limits that a rule leaves alone": {job, job, limited, func(a *Admission) {
			a.Rules = matcher(t, v1alpha1.IgnoreRule{Paths: []string{"/spec"}})
		}, AdmitNoDrift, ""},
		"a Job that is ending":                     {job, ending, ending, nil, AdmitNoDrift, ""},
		"a Job that has ended":                     {job, finished, finished, nil, AdmitNoDrift, ""},
		"a Job that runs, and is deleted later":    {shortJob, shortJob, "", nil, StopDeletion, ""},
		"a Job that has run, and is deleted later": {shortJob, finished, "", nil, AdmitNotRecreated, ""},
		"another release's object":                 {pair, taken, "", nil, StopDeletion, ""},
		"to another release":                       {pair, pair, taken, nil, StopChange, "data[one]"},

		"replicas": {twoWebs, twoWebs, fourWebs, nil, StopChange, "spec.replicas"},
		"replicas within the range of an autoscaler": {twoWebs, twoWebs, fourWebs, func(a *Admission) {
			a.LiveRange = &Range{Min: 1, Max: 5}
		}, AdmitNoDrift, ""},
		"replicas beyond the range of an autoscaler": {twoWebs, fourWebs, nineWebs, func(a *Admission) {
			a.LiveRange = &Range{Min: 1, Max: 5}
		}, StopChange, "spec.replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			a := admission(t, test.desired, test.before, test.after)
			if test.with != nil {
				test.with(&a)
			}
			got, changes := Admit(a)
			paths := drift.Describe(changes, 5)
			check.That(t, got == test.want && paths == test.paths, "%s %s, want %s %s", got, paths, test.want,
				test.paths)
			if got == StopChange && a.Harmless() {
				t.Error("said to be harmless")
			}
		})
	}
}

func admission(t testing.TB, desired, before, after string) Admission {
	a := Admission{
		Input: input(t, desired, ""), Before: object(t, before), After: object(t, after), Guard: v1alpha1.GuardDeny,
		By: Requester{User: "alice", Groups: []string{"admins"}},
	}
	a.Locked = a.Release
	return a
}

// Helm's commands take one namespace, and change nothing of a release whose records are stored in another one.
func TestARefusalNamesTheToolThatStoresRecordsElsewhere(t *testing.T) {
	a := admission(t, twoWebs, twoWebs, fourWebs)
	a.Locked.Namespace = "flux"
	_, changes := Admit(a)
	want := `helm-locker: Deployment apps/a belongs to the Helm release apps/app, which is locked; spec.replicas 2 -> 4 was ` +
		`refused. Use the tool that stores its records in namespace flux, or "helm-locker suspend app -n flux --for 30m"`
	got := a.Refusal(changes)
	check.That(t, got == want, "got %s\nwant %s", got, want)
}

func exempting(kind v1alpha1.GuardSubjectKind, namespace, name string) func(*Admission) {
	return func(a *Admission) {
		a.Exempt = []v1alpha1.GuardSubject{{Kind: kind, Namespace: namespace, Name: name}}
	}
}

func by(user string, groups ...string) func(*Admission) {
	return func(a *Admission) { a.By = Requester{User: user, Groups: groups} }
}

// A request for the subresource scale brings a Scale, and nothing else of the object.
func TestAdmitScale(t *testing.T) {
	scale := func(replicas int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale",
			"metadata": map[string]any{"name": "a", "namespace": "apps"}, "spec": map[string]any{"replicas": replicas}}}
	}
	for after, want := range map[int64]AdmissionReason{2: AdmitNoDrift, 4: StopChange, 0: StopChange} {
		a := admission(t, twoWebs, twoWebs, twoWebs)
		a.Before, a.After = scale(3), scale(after)
		got, _ := Admit(a)
		check.That(t, got == want, "to %d: %s", after, got)
	}
}

// A denial prints a command for a shell. A tenant may declare any name of a role, and any key in a custom resource.
func TestHostile_NoCommandHoldsTextForAShell(t *testing.T) {
	for name, test := range map[string]struct{ key, name, namespace, want string }{
		"a plain key":              {"a.example/b", "a", "apps", "deployment/a 'metadata.annotations[a.example/b]=...'"},
		"another namespace":        {"a.example/b", "a", "more", "deployment/more/a 'metadata.annotations[a.example/b]=...'"},
		"a substitution as a key":  {"$(id)", "a", "apps", ""},
		"a quote in a key":         {"a'b", "a", "apps", ""},
		"a substitution as a name": {"a.example/b", "a`id`", "apps", ""},
		"Helm's metadata":          {"meta.helm.sh/release-name", "a", "apps", ""},
	} {
		old := strings.Replace(twoWebs, "name: a,", "name: a, annotations: {"+strconv.Quote(test.key)+": old},", 1)
		a := admission(t, old, old, strings.Replace(old, ": old}", ": new}", 1))
		a.ID.Name, a.ID.Namespace = test.name, test.namespace
		_, changes := Admit(a)
		added := a.Refusal([]drift.Change{{Path: changes[0].Path, Op: drift.Added}})
		text := a.Refusal(changes)
		check.That(t,
			len(changes) == 1 && !strings.Contains(added, "helm-locker values") && strings.Contains(text, test.want) &&
				(test.want != "" || !strings.Contains(text, "helm-locker values")), "%s: %s", name, text)
	}
}

func TestWhatARequesterIsTold(t *testing.T) {
	scaled := admission(t, twoWebs, twoWebs, fourWebs)
	_, changes := Admit(scaled)
	for got, want := range map[string]string{
		scaled.Refusal(changes): `helm-locker: Deployment apps/a belongs to the Helm release apps/app, which is locked; ` +
			`spec.replicas 2 -> 4 was refused. Use "helm upgrade app -n apps" ("helm-locker values app -n apps ` +
			`deployment/a spec.replicas=4" names the value), or "helm-locker suspend app -n apps --for 30m"`,
		scaled.Warning(changes, false): `helm-locker: Deployment apps/a belongs to the Helm release apps/app, which is ` +
			`locked; spec.replicas 2 -> 4 will be reverted`,
		scaled.Warning(changes, true): `helm-locker: Deployment apps/a belongs to the Helm release apps/app, which is ` +
			`locked; spec.replicas 2 -> 4 is drift, and will be reported`,
	} {
		check.That(t, got == want, "got  %s\nwant %s", got, want)
	}
	secret := strings.Replace(pair, "ConfigMap", "Secret", 1)
	a := admission(t, secret, secret, strings.Replace(oneChanged, "ConfigMap", "Secret", 1))
	_, changes = Admit(a)
	text := a.Refusal(changes)
	check.That(t,
		!strings.Contains(text, `"1"`) && !strings.Contains(text, " x") && strings.Contains(text, "data[one] was refused"),
		"%v", text)
	custom := func(text string) string { return strings.Replace(text, "apps/v1", "example.com/v1", 1) }
	resource := admission(t, custom(twoWebs), custom(twoWebs), custom(fourWebs))
	_, changes = Admit(resource)
	text = resource.Refusal(changes)
	check.That(t, strings.Contains(text, "locked; spec.replicas was refused"), "%v", text)
	both := admission(t, pair, pair, bothChanged)
	_, changes = Admit(both)
	for text, want := range map[string]string{
		both.Refusal(changes): "data[one], data[two] were refused. Use ", both.Warning(changes, false): "data[two] will be reverted",
		both.Warning(changes, true): "data[one], data[two] are drift, and will be reported",
	} {
		check.That(t, strings.Contains(text, want), "%s does not say %q", text, want)
	}
	both.DryRun = true
	text = both.Refusal(changes)
	check.That(t, strings.Contains(text, "data[one], data[two] would be refused. Use "), "%v", text)
	gone := admission(t, pair, pair, "")
	text = gone.Warning(nil, false)
	check.That(t, strings.HasSuffix(text, "its deletion will be undone"), "%v", text)
}

// A limit by which Kubernetes ends an object is no drift, so a warning does not promise its revert.
func TestAWarningOfAnEndPromisesNoRevert(t *testing.T) {
	for name, after := range map[string]string{"limits": limited, "a status": ending} {
		a := admission(t, job, job, after)
		_, changes := Admit(a)
		for _, detect := range []bool{false, true} {
			text := a.Warning(changes, detect)
			check.That(t, strings.HasSuffix(text, "will end it, and will not be reverted"), "%s: %s", name, text)
		}
	}
}

// owned is pair with an owner.
func owned(uid string) string {
	return strings.Replace(pair, "namespace: apps", "namespace: apps, ownerReferences: ["+
		`{apiVersion: v1, kind: ConfigMap, name: owner, uid: "`+uid+`"}]`, 1)
}
