package witness

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/trust"
)

// trustKey is the only key of the Secret with the trust in the records of a HelmRelease.
const trustKey = "trust"

// Store keeps the trust in the records of each HelmRelease, in a Secret of the operator. All replicas share it. It is
// safe for concurrent use.
type Store struct {
	// Secrets are those of the operator's namespace, and Name returns the name of one by the uid of the HelmRelease.
	Secrets typedcorev1.SecretInterface
	Name    func(types.UID) string

	Clock clock.PassiveClock
	Log   logrus.FieldLogger
}

// Of returns the trust in the records of the HelmRelease with this uid, and the Secret with it; nil for none. An
// unreadable Secret trusts none.
func (st *Store) Of(ctx context.Context, uid types.UID) (*trust.State, *corev1.Secret, error) {
	secret, err := st.Secrets.Get(ctx, st.Name(uid), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &trust.State{}, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the trust in release records: %w", err)
	}
	state := &trust.State{}
	if err := json.Unmarshal(secret.Data[trustKey], state); err != nil {
		st.Log.Warnf("Secret %s holds no trust in records, so none is trusted: %v", secret.Name, err)
		state = &trust.State{}
	}
	return state, secret, nil
}

// Change changes the trust in the records of a HelmRelease. It stores no change of an older state: change runs again
// with a newer one. change returns false for a state to leave as it is.
func (st *Store) Change(
	ctx context.Context, hr *v1alpha1.HelmRelease, change func(*trust.State) (bool, error),
) error {
	return retry.OnError(retry.DefaultRetry, func(err error) bool {
		return ctx.Err() == nil && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err))
	}, func() error {
		state, secret, err := st.Of(ctx, hr.UID)
		if err != nil {
			return err
		}
		if changed, err := change(state); err != nil || !changed {
			return err
		}
		state.Changes++
		return st.write(ctx, hr, secret, state)
	})
}

// write replaces the state that was read with a Secret; nil for none.
func (st *Store) write(ctx context.Context, hr *v1alpha1.HelmRelease, read *corev1.Secret, state *trust.State) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode the trust in release records: %w", err)
	}
	data := map[string][]byte{trustKey: text}
	if read != nil {
		read.Data = data
		_, err = st.Secrets.Update(ctx, read, metav1.UpdateOptions{})
		return err
	}
	_, err = st.Secrets.Create(ctx, &corev1.Secret{Data: data, ObjectMeta: metav1.ObjectMeta{Name: st.Name(hr.UID),
		OwnerReferences: []metav1.OwnerReference{hr.Owner()}}}, metav1.CreateOptions{})
	return err
}

// Now returns the time of a decision, in the precision of the API server.
func (st *Store) Now() *metav1.Time {
	return &metav1.Time{Time: st.Clock.Now().UTC().Truncate(time.Second)}
}
