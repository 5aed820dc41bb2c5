package proof

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// secret returns the metadata of a record.
func secret(revision, uid, version, status string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "sh.helm.release.v1.web.v" +
			revision, UID: types.UID(uid), ResourceVersion: version,
			Labels: map[string]string{"owner": "helm", "name": "web", "version": revision, "status": status}},
	}
}

func recordOf(t *testing.T, m *metav1.PartialObjectMetadata) release.Record {
	t.Helper()
	rec, err := release.Secrets.RecordOf(m)
	check.NoError(t, err)
	return rec
}

// lister answers lists of records and counts them.
type lister struct {
	mu    sync.Mutex
	lists int
	gate  chan struct{} // a list may end; nil lets all
	items []*metav1.PartialObjectMetadata
	err   error
}

func (l *lister) guard() *Verifier { return New(Options{Metadata: l.client()}) }

func (l *lister) client() *fake.FakeMetadataClient {
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		panic(err)
	}
	client := fake.NewSimpleMetadataClient(scheme)
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if l.gate != nil {
			<-l.gate
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lists++
		if l.err != nil {
			return true, nil, l.err
		}
		list := &metav1.List{}
		for _, item := range l.items {
			list.Items = append(list.Items, runtime.RawExtension{Object: item})
		}
		return true, list, nil
	})
	return client
}

func TestHoldsOnlyForTheVeryRecord(t *testing.T) {
	locked := secret("2", "u2", "20", "deployed")
	old := secret("1", "u1", "11", "superseded")
	cases := map[string]struct {
		now  []*metav1.PartialObjectMetadata
		want bool
	}{
		"the record is unchanged": {[]*metav1.PartialObjectMetadata{old, locked}, true},
		"an upgrade has begun": {[]*metav1.PartialObjectMetadata{old, locked,
			secret("3", "u3", "30", "pending-upgrade")}, false},
		"an upgrade is done": {[]*metav1.PartialObjectMetadata{locked, secret("3", "u3", "31", "deployed")}, false},
		"the record was written again": {[]*metav1.PartialObjectMetadata{old,
			secret("2", "u2", "21", "uninstalling")}, false},
		"another record of the same revision (re-install)": {[]*metav1.PartialObjectMetadata{secret("2", "u9", "40",
			"deployed")}, false},
		"the same revision written again as deployed": {[]*metav1.PartialObjectMetadata{secret("2", "u2", "22",
			"deployed")}, false},
		"an older record is the newest": {[]*metav1.PartialObjectMetadata{old}, false},
		"there is no record":            {nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := &lister{items: tc.now}
			got, err := l.guard().Holds(t.Context(), recordOf(t, locked))
			check.That(t, err == nil && got == tc.want, "holds is %v, %v; want %v", got, err, tc.want)
		})
	}
}

func TestHoldsIsAnErrorWhenARecordCannotBeRead(t *testing.T) {
	locked := secret("2", "u2", "20", "deployed")
	tampered := secret("3", "u3", "30", "deployed")
	delete(tampered.Labels, "version")
	l := &lister{items: []*metav1.PartialObjectMetadata{locked, tampered}}
	holds, err := l.guard().Holds(t.Context(), recordOf(t, locked))
	check.That(t, !holds && err != nil, "holds is %v, %v", holds, err)
	l = &lister{err: errors.New("no answer")}
	holds, err = l.guard().Holds(t.Context(), recordOf(t, locked))
	check.That(t, !holds && err != nil, "holds is %v, %v", holds, err)
}

// Callers during a list in flight share the next one: the one in flight may be older than their observation.
func TestThoseWhoWaitShareOneListThatBeganAfterTheyAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locked := secret("2", "u2", "20", "deployed")
		l := &lister{items: []*metav1.PartialObjectMetadata{locked}, gate: make(chan struct{})}
		g := l.guard()
		defer g.Close()
		results := make(chan bool, 11)
		ask := func() {
			holds, err := g.Holds(t.Context(), recordOf(t, locked))
			check.Report(t, err)
			results <- holds
		}
		go ask()
		synctest.Wait() // the first list is in flight
		for range 10 {
			go ask()
		}
		synctest.Wait()
		l.gate <- struct{}{}
		synctest.Wait() // the second one is
		l.items = nil
		l.gate <- struct{}{}
		held := 0
		for range 11 {
			if <-results {
				held++
			}
		}
		synctest.Wait()
		check.That(t, l.lists == 2 && held == 1, "%d lists, %d of 11 were told that the record holds; want 2 and 1", l.lists,
			held)
		check.That(t, len(g.lists.next) == 0 && len(g.lists.running) == 0, "%d and %d releases are remembered",
			len(g.lists.next), len(g.lists.running))
	})
}

func TestACallerThatGivesUpDoesNotSpoilTheListOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locked := secret("2", "u2", "20", "deployed")
		l := &lister{items: []*metav1.PartialObjectMetadata{locked}, gate: make(chan struct{})}
		g := l.guard()
		defer g.Close()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		for _, ctx := range []context.Context{ctx, t.Context()} {
			go func() {
				_, err := g.Holds(ctx, recordOf(t, locked))
				errs <- err
			}()
		}
		synctest.Wait()
		cancel()
		err := <-errs
		check.That(t, errors.Is(err, context.Canceled), "who gave up: %v", err)
		close(l.gate)
		check.Report(t, <-errs)
	})
}

// Helm may begin to work in the other storage than before, so each check lists both, and writes no fence.
func TestEachCheckReadsAllStorages(t *testing.T) {
	locked := secret("2", "u2", "20", "deployed")
	l := &lister{items: []*metav1.PartialObjectMetadata{locked}}
	client := l.client()
	var inConfigMaps []runtime.RawExtension
	var failure error
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if failure != nil {
			return true, nil, failure
		}
		return true, &metav1.List{Items: inConfigMaps}, nil
	})
	own := types.NamespacedName{Namespace: "own", Name: "own-mark"}
	v := New(Options{Metadata: client, Storages: release.Storages[:], Fence: own, Secrets: fenceSecret{}})
	defer v.Close()
	check.Must(t, v.fence == nil, "fences are written, and only the watch of Secrets delivers them")
	expect := func(when string, want, wantErr bool) {
		t.Helper()
		holds, err := v.Holds(t.Context(), recordOf(t, locked))
		check.That(t, holds == want && (err != nil) == wantErr, "%s: holds is %v, %v", when, holds, err)
	}
	expect("no record in ConfigMaps", true, false)
	expect("at once again", true, false)
	check.That(t, l.lists == 2, "%d lists", l.lists)
	record := func(name, status string) []runtime.RawExtension {
		m := secret("1", "other", "30", status)
		m.Name = name
		return []runtime.RawExtension{{Object: m}}
	}
	inConfigMaps = record("settings", "deployed")
	expect("a ConfigMap that only has the labels of a record", true, false)
	inConfigMaps = record("sh.helm.release.v1.web.v1", "uninstalled")
	expect("a release that was uninstalled in ConfigMaps", true, false)
	inConfigMaps = record("sh.helm.release.v1.web.v1", "pending-install")
	expect("a record in a ConfigMap", false, false)
	inConfigMaps = record("sh.helm.release.v1.web.v3", "deployed")
	expect("a record in a ConfigMap that cannot be read", false, true)
	inConfigMaps, failure = nil, errors.New("no answer")
	expect("ConfigMaps that cannot be listed", false, true)
}

// A verifier without a Secret to write to only reads.
func TestWithoutASecretNothingIsWritten(t *testing.T) {
	locked := secret("2", "u2", "20", "deployed")
	l := &lister{items: []*metav1.PartialObjectMetadata{locked}}
	g := l.guard()
	defer g.Close()
	for range 5 {
		holds, err := g.Holds(t.Context(), recordOf(t, locked))
		check.That(t, err == nil && holds, "holds is %v, %v", holds, err)
	}
	check.That(t, l.lists == 5, "%d lists", l.lists)
}
