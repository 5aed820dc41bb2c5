package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
)

// memory remembers the settled forms of objects beyond a lock, and in Secrets beyond the process: one Secret for each
// HelmRelease. It is safe for concurrent use.
type memory struct {
	common *common

	// reading is held over the requests that read the Secrets of earlier processes, and guards listed. The order is
	// reading, mu, the mutex of a lock.Lock.
	reading sync.Mutex
	listed  bool

	mu       sync.Mutex                  // guards releases
	releases map[types.UID]*settledForms // by the uid of the HelmRelease
}

// settledForms are those of one release.
type settledForms struct {
	known *lock.Settled
	// stored is the content of the Secret, and next the time of the next permitted write.
	stored *lock.Settled
	next   time.Time
}

const (
	// settledLabel selects the Secrets, settledKey is their only key.
	settledLabel, settledKey = "helm.cattle.io/settled", "settled"
	// settledPause is the least time between two writes of one Secret.
	settledPause = time.Minute
	// settledPage is how many Secrets are read at a time.
	settledPage = 100
)

// of returns the memory about the objects of a lock, nil for none. The Secrets are read once in a process, for the
// first object that differs from its manifest.
func (m *memory) of(ctx context.Context, l *lock.Lock) (*lock.Settled, error) {
	if err := m.read(ctx); err != nil {
		return nil, fmt.Errorf("read the settled forms of objects: %w", err)
	}
	var uid types.UID
	m.common.entries.update(l.Key, func(e *entry) { uid = e.uid })
	m.mu.Lock()
	defer m.mu.Unlock()
	if forms := m.releases[uid]; forms != nil && forms.known != nil && forms.known.Record == l.Record.UID {
		return forms.known, nil
	}
	return nil, nil
}

// read reads the Secrets, once in a process. Statuses do not wait for it.
func (m *memory) read(ctx context.Context) error {
	m.reading.Lock()
	defer m.reading.Unlock()
	if m.listed {
		return nil
	}
	err := m.list(ctx)
	if apierrors.IsForbidden(err) {
		m.common.Log.Warnf("the settled forms of objects cannot be read, so they are learnt again: %v", err)
		err = nil
	}
	m.listed = err == nil
	return err
}

// list reads the Secrets page by page.
func (m *memory) list(ctx context.Context) error {
	options := metav1.ListOptions{LabelSelector: settledLabel, Limit: settledPage}
	for {
		page, err := m.common.clients.Kubernetes.CoreV1().Secrets(m.common.Namespace).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			m.take(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// take copies the content of a Secret. An unreadable Secret has none. The knowledge of this process is newer.
func (m *memory) take(secret *corev1.Secret) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, owner := range secret.OwnerReferences {
		if secret.Name != m.common.own.SettledName(owner.UID) {
			continue
		}
		stored := &lock.Settled{}
		if err := json.Unmarshal(secret.Data[settledKey], stored); err != nil || len(stored.Key) == 0 {
			m.common.Log.Warnf("Secret %s holds no settled forms of objects", secret.Name)
			return
		}
		if forms := m.formsOf(owner.UID); forms.known == nil {
			forms.known, forms.stored = stored, stored
		}
	}
}

// formsOf is called with m.mu held.
func (m *memory) formsOf(uid types.UID) *settledForms {
	forms := m.releases[uid]
	if forms == nil {
		forms = &settledForms{}
		m.releases[uid] = forms
	}
	return forms
}

// keep remembers the settled forms of a lock, nil for none, of a HelmRelease, and returns them.
func (m *memory) keep(uid types.UID, l *lock.Lock) *settledForms {
	if l == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	forms := m.formsOf(uid)
	known, err := l.Settled(forms.known)
	if err != nil {
		m.common.Log.WithField("release", l.Release.String()).Warnf("the settled forms of objects: %v", err)
	}
	forms.known = known
	return forms
}

// forget drops the memory of a deleted HelmRelease. Kubernetes deletes its Secret.
func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.releases, uid)
}

// store writes the settled forms of a lock to the Secret of its HelmRelease, if the Secret differs. It returns the time
// until the next permitted write.
func (m *memory) store(ctx context.Context, hr *v1alpha1.HelmRelease, l *lock.Lock) (wait time.Duration) {
	forms := m.keep(hr.UID, l)
	m.mu.Lock()
	known, now := forms.known, m.common.Clock.Now()
	wait = forms.next.Sub(now)
	changed := known != forms.stored && (forms.stored != nil || len(known.Forms) > 0)
	if changed && wait <= 0 {
		forms.next = now.Add(settledPause)
	}
	m.mu.Unlock()
	if !changed || wait > 0 {
		return max(wait, 0)
	}
	if err := m.write(ctx, hr, known); err != nil {
		m.common.Log.WithField("helmrelease", keyOf(hr)).Warnf("the settled forms of its objects are not stored, so "+
			"they are learnt again after a restart: %v", err)
		return settledPause
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	forms.stored = known
	return 0
}

// write replaces the Secret of a HelmRelease, and creates it if there is none.
func (m *memory) write(ctx context.Context, hr *v1alpha1.HelmRelease, settled *lock.Settled) error {
	text, err := json.Marshal(settled)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	secret := &corev1.Secret{Data: map[string][]byte{settledKey: text}, ObjectMeta: metav1.ObjectMeta{
		Name: m.common.own.SettledName(hr.UID), Labels: map[string]string{settledLabel: "true"},
		OwnerReferences: []metav1.OwnerReference{hr.Owner()}}}
	secrets := m.common.clients.Kubernetes.CoreV1().Secrets(m.common.Namespace)
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	}
	return err
}
