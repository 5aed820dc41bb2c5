package enforce

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rancher/helm-locker/pkg/release"
)

var key = release.Key{Namespace: "apps", Name: "web"}

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
	rec, err := release.RecordOf(m)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// lister answers lists of records and counts them.
type lister struct {
	mu    sync.Mutex
	lists int
	began chan struct{} // a list has begun
	gate  chan struct{} // a list may end; nil lets all
	items []*metav1.PartialObjectMetadata
	err   error
}

func (l *lister) prover() *Prover {
	return NewProver(l.client(), nil, types.NamespacedName{}, nil, logrus.New())
}

func (l *lister) client() *fake.FakeMetadataClient {
	scheme := fake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		panic(err)
	}
	client := fake.NewSimpleMetadataClient(scheme)
	client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if l.began != nil {
			l.began <- struct{}{}
		}
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
		"an upgrade is done": {[]*metav1.PartialObjectMetadata{locked,
			secret("3", "u3", "31", "deployed")}, false},
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
			got, err := l.prover().Holds(t.Context(), recordOf(t, locked))
			if err != nil || got != tc.want {
				t.Errorf("holds is %v, %v; want %v", got, err, tc.want)
			}
		})
	}
}

func TestHoldsIsAnErrorWhenARecordCannotBeRead(t *testing.T) {
	locked := secret("2", "u2", "20", "deployed")
	tampered := secret("3", "u3", "30", "deployed")
	delete(tampered.Labels, "version")
	l := &lister{items: []*metav1.PartialObjectMetadata{locked, tampered}}
	if holds, err := l.prover().Holds(t.Context(), recordOf(t, locked)); holds || err == nil {
		t.Errorf("holds is %v, %v", holds, err)
	}
	l = &lister{err: errors.New("no answer")}
	if holds, err := l.prover().Holds(t.Context(), recordOf(t, locked)); holds || err == nil {
		t.Errorf("holds is %v, %v", holds, err)
	}
}

// Everybody who asks while a read is under way shares the next one: the one under way may have been answered before
// what they saw happened.
func TestThoseWhoWaitShareOneReadThatBeganAfterTheyAsked(t *testing.T) {
	locked := secret("2", "u2", "20", "deployed")
	l := &lister{items: []*metav1.PartialObjectMetadata{locked}, began: make(chan struct{}), gate: make(chan struct{})}
	p := l.prover()
	rec := recordOf(t, locked)
	var asked sync.WaitGroup
	results := make(chan bool, 11)
	ask := func() {
		defer asked.Done()
		holds, err := p.Holds(context.Background(), rec)
		if err != nil {
			t.Error(err)
		}
		results <- holds
	}
	asked.Add(1)
	go ask()
	<-l.began // the first read is under way
	for range 10 {
		asked.Add(1)
		go ask()
	}
	waitJoined(p, 10)
	// The record changes before the first read is answered to the API server's mind, and after the ten saw their
	// objects.
	l.gate <- struct{}{}
	<-l.began // the second read began after all ten asked
	l.mu.Lock()
	l.items = nil
	l.mu.Unlock()
	l.gate <- struct{}{}
	asked.Wait()
	close(results)
	held := 0
	for holds := range results {
		if holds {
			held++
		}
	}
	if l.lists != 2 || held != 1 {
		t.Errorf("%d reads, %d of 11 were told that the record holds; want 2 and 1", l.lists, held)
	}
	if len(p.reads) != 0 {
		t.Errorf("%d releases are remembered", len(p.reads))
	}
}

// waitJoined returns when n callers wait for the next read.
func waitJoined(p *Prover, n int) {
	for {
		p.mu.Lock()
		rs := p.reads[key]
		joined := 0
		if rs != nil && rs.next != nil {
			joined = rs.next.joined
		}
		p.mu.Unlock()
		if joined == n {
			return
		}
	}
}

func TestACallerThatGivesUpDoesNotSpoilTheReadOfOthers(t *testing.T) {
	locked := secret("2", "u2", "20", "deployed")
	l := &lister{items: []*metav1.PartialObjectMetadata{locked}, began: make(chan struct{}, 2),
		gate: make(chan struct{}, 2)}
	p := l.prover()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := p.Holds(ctx, recordOf(t, locked))
		done <- err
	}()
	<-l.began
	cancel()
	l.gate <- struct{}{}
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	l.gate <- struct{}{}
	if holds, err := p.Holds(context.Background(), recordOf(t, locked)); err != nil || !holds {
		t.Errorf("holds is %v, %v", holds, err)
	}
}
