// Package settled keeps the settled forms of the objects of locks beyond the process.
package settled

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
)

// Memory remembers the settled forms of objects beyond a lock, and in Secrets beyond the process: one Secret for each
// HelmRelease. It is safe for concurrent use.
type Memory struct {
	// Secrets are those of the operator's namespace, and Name returns the name of one by the uid of the HelmRelease.
	Secrets typedcorev1.SecretInterface
	Name    func(types.UID) string

	Clock clock.PassiveClock
	Log   logrus.FieldLogger

	// reading is held over the requests that read the Secrets of earlier processes, and guards listed. The order is
	// reading, mu, the mutex of a lock.Lock.
	reading sync.Mutex
	listed  bool

	mu       sync.Mutex           // guards releases
	releases map[types.UID]*forms // by the uid of the HelmRelease
}

// forms are those of one release.
type forms struct {
	known *lock.Settled
	// stored is the content of the Secret, and next the time of the next permitted write.
	stored *lock.Settled
	next   time.Time
}

const (
	// label selects the Secrets, key is their only key.
	label, key = "helm.cattle.io/settled", "settled"
	// pause is the least time between two writes of one Secret.
	pause = time.Minute
	// page is how many Secrets are read at a time.
	page = 100
)

// Of returns the memory about the objects of a lock of a HelmRelease; nil for none. The Secrets are read once in a
// process, for the first object that differs from its manifest.
func (m *Memory) Of(ctx context.Context, uid types.UID, l *lock.Lock) (*lock.Settled, error) {
	if err := m.read(ctx); err != nil {
		return nil, fmt.Errorf("read the settled forms of objects: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if of := m.releases[uid]; of != nil && of.known != nil && of.known.Record == l.Record.UID {
		return of.known, nil
	}
	return nil, nil
}

// read reads the Secrets, once in a process. Statuses do not wait for it.
func (m *Memory) read(ctx context.Context) error {
	m.reading.Lock()
	defer m.reading.Unlock()
	if m.listed {
		return nil
	}
	err := m.list(ctx)
	if apierrors.IsForbidden(err) {
		m.Log.Warnf("the settled forms of objects cannot be read, so they are learnt again: %v", err)
		err = nil
	}
	m.listed = err == nil
	return err
}

// list reads the Secrets page by page.
func (m *Memory) list(ctx context.Context) error {
	options := metav1.ListOptions{LabelSelector: label, Limit: page}
	for {
		list, err := m.Secrets.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			m.take(&list.Items[i])
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}

// take copies the content of a Secret. An unreadable Secret has none. The knowledge of this process is newer.
func (m *Memory) take(secret *corev1.Secret) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, owner := range secret.OwnerReferences {
		if secret.Name != m.Name(owner.UID) {
			continue
		}
		stored := &lock.Settled{}
		if err := json.Unmarshal(secret.Data[key], stored); err != nil || len(stored.Key) == 0 {
			m.Log.Warnf("Secret %s holds no settled forms of objects", secret.Name)
			return
		}
		if of := m.formsOf(owner.UID); of.known == nil {
			of.known, of.stored = stored, stored
		}
	}
}

// formsOf is called with m.mu held.
func (m *Memory) formsOf(uid types.UID) *forms {
	of := m.releases[uid]
	if of == nil {
		if m.releases == nil {
			m.releases = map[types.UID]*forms{}
		}
		of = &forms{}
		m.releases[uid] = of
	}
	return of
}

// Keep remembers the settled forms of a lock, nil for none, of a HelmRelease.
func (m *Memory) Keep(uid types.UID, l *lock.Lock) {
	if l == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.formsOf(uid)
	known, err := l.Settled(of.known)
	if err != nil {
		m.Log.WithField("release", l.Release.String()).Warnf("the settled forms of objects: %v", err)
	}
	of.known = known
}

// Forget drops the memory of a deleted HelmRelease. Kubernetes deletes its Secret.
func (m *Memory) Forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.releases, uid)
}

// Store writes the settled forms of a lock to the Secret of its HelmRelease, if the Secret differs. It returns the time
// until the next permitted write.
func (m *Memory) Store(ctx context.Context, hr *v1alpha1.HelmRelease, l *lock.Lock) (wait time.Duration) {
	m.Keep(hr.UID, l)
	m.mu.Lock()
	of := m.formsOf(hr.UID)
	known, now := of.known, m.Clock.Now()
	wait = of.next.Sub(now)
	changed := known != of.stored && (of.stored != nil || len(known.Forms) > 0)
	if changed && wait <= 0 {
		of.next = now.Add(pause)
	}
	m.mu.Unlock()
	if !changed || wait > 0 {
		return max(wait, 0)
	}
	if err := m.write(ctx, hr, known); err != nil {
		m.Log.WithField("helmrelease", hr.Namespace+"/"+hr.Name).Warnf("the settled forms of its objects are not "+
			"stored, so they are learnt again after a restart: %v", err)
		return pause
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of.stored = known
	return 0
}

// write replaces the Secret of a HelmRelease, and creates it if there is none.
func (m *Memory) write(ctx context.Context, hr *v1alpha1.HelmRelease, settled *lock.Settled) error {
	text, err := json.Marshal(settled)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	secret := &corev1.Secret{Data: map[string][]byte{key: text}, ObjectMeta: metav1.ObjectMeta{
		Name: m.Name(hr.UID), Labels: map[string]string{label: "true"},
		OwnerReferences: []metav1.OwnerReference{hr.Owner()}}}
	_, err = m.Secrets.Update(ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = m.Secrets.Create(ctx, secret, metav1.CreateOptions{})
	}
	return err
}
