package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// writeCertificate replaces the certificate in old by a new one; old is nil when there is no Secret.
func (k *Keeper) writeCertificate(ctx context.Context, old *corev1.Secret) (*corev1.Secret, error) {
	data, err := newCertificate(k.host, k.leaderHosts(), old)
	if err != nil {
		return nil, err
	}
	secrets := k.Client.CoreV1().Secrets(k.Namespace)
	if old == nil {
		made, err := secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: k.Namespace,
				Name:      k.Secret,
			}, Type: corev1.SecretTypeTLS, Data: data,
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("store the certificate: %w", err)
		}
		k.secret.CompareAndSwap(nil, made)
		return made, nil
	}
	renewed := old.DeepCopy() // with its resource version: another replica may have written
	renewed.Data = data
	made, err := secrets.Update(ctx, renewed, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("store the certificate: %w", err)
	}
	k.secret.CompareAndSwap(old, made)
	return made, nil
}

// register updates the registration to the wanted requests, with those to change objects sent to a Service. It writes
// nothing when they are equal.
func (k *Keeper) register(ctx context.Context, with *certificate, wanted Wanted, service string) error {
	configurations := k.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	have := k.registration.Load()
	if len(wanted.Resources) == 0 && len(wanted.Records) == 0 {
		if have == nil {
			return nil
		}
		if err := unregister(ctx, k.Client, have); err != nil {
			return err
		}
		k.registration.CompareAndSwap(have, nil)
		return nil
	}
	owners, err := k.owners(ctx)
	if err != nil {
		return err
	}
	records := k.clientConfig(with, k.Service)
	hooks := webhooks(wanted, records, k.clientConfig(with, service), k.ownUser(ctx))
	if have == nil {
		made, err := configurations.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: k.Name, OwnerReferences: owners}, Webhooks: hooks,
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create the ValidatingWebhookConfiguration: %w", err)
		}
		k.registration.CompareAndSwap(nil, made)
		return nil
	}
	if equality.Semantic.DeepEqual(have.Webhooks, hooks) && equality.Semantic.DeepEqual(have.OwnerReferences, owners) {
		return nil
	}
	changed := have.DeepCopy()
	changed.Webhooks, changed.OwnerReferences = hooks, owners
	made, err := configurations.Update(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update the ValidatingWebhookConfiguration: %w", err)
	}
	k.registration.CompareAndSwap(have, made)
	return nil
}

// Retire deletes the registration of a guard that is no longer served: the API server would wait for it in vain at each
// change. A configuration of that name without the guard's webhook belongs to another owner, and stays.
func Retire(ctx context.Context, client kubernetes.Interface, name string) error {
	have, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read the ValidatingWebhookConfiguration: %w", err)
	case !slices.ContainsFunc(have.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool {
		return w.Name == objectsWebhook || w.Name == recordsWebhook
	}):
		return nil
	}
	return unregister(ctx, client, have)
}

// unregister deletes a registration unless it has been deleted or replaced.
func unregister(
	ctx context.Context, client kubernetes.Interface, have *admissionregistrationv1.ValidatingWebhookConfiguration,
) error {
	err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, have.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the ValidatingWebhookConfiguration: %w", err)
	}
	return nil
}

func (k *Keeper) clientConfig(with *certificate, service string) admissionregistrationv1.WebhookClientConfig {
	client := admissionregistrationv1.WebhookClientConfig{CABundle: with.bundle}
	if k.URL != "" {
		client.URL = ptr.To(k.URL + with.path)
		return client
	}
	client.Service = &admissionregistrationv1.ServiceReference{Namespace: k.Namespace, Name: service,
		Path: ptr.To(with.path), Port: ptr.To(k.Port)}
	return client
}

// owners returns the owner of the registration, so that it does not outlive an uninstalled operator. The owner is the
// operator's ClusterRole: an object without a namespace cannot have an owner in one.
func (k *Keeper) owners(ctx context.Context) ([]metav1.OwnerReference, error) {
	if k.Owner == "" {
		return nil, nil
	}
	role, err := k.Client.RbacV1().ClusterRoles().Get(ctx, k.Owner, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the owner of the ValidatingWebhookConfiguration: %w", err)
	}
	return []metav1.OwnerReference{{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: role.Name,
		UID: role.UID}}, nil
}

// ownUser returns the operator's own user; empty when the API server does not answer.
func (k *Keeper) ownUser(ctx context.Context) string {
	if k.self == nil {
		review, err := k.Client.AuthenticationV1().SelfSubjectReviews().Create(ctx,
			&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			k.Log.Warnf(
				"guard: cannot determine the operator's own user, so its requests are not exempt: %v",
				err,
			)
			return ""
		}
		user := review.Status.UserInfo.Username
		k.self = &user
		if !strings.HasPrefix(user, "system:serviceaccount:") {
			k.Log.Warnf("guard: the operator runs as user %s, whose requests it never refuses, whoever sends them; "+
				"give it a ServiceAccount of its own", user)
		}
	}
	return *k.self
}
