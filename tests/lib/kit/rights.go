package kit

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// User returns a user as a subject of bindings.
func User(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
}

// Account creates a ServiceAccount and returns it as a subject of bindings.
func (e *Env) Account(namespace, name string) rbacv1.Subject {
	e.Helper()
	_, err := e.Kube.CoreV1().ServiceAccounts(namespace).Create(e.Ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	check.NoError(e, err)
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// Bind gives a subject a role, as "ClusterRole/edit", in a namespace; everywhere when the namespace is empty.
func (e *Env) Bind(namespace, name, role string, subject rbacv1.Subject) {
	e.Helper()
	kind, of, _ := strings.Cut(role, "/")
	metadata, subjects := metav1.ObjectMeta{Name: name}, []rbacv1.Subject{subject}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: of}
	var err error
	if namespace == "" {
		_, err = e.Kube.RbacV1().ClusterRoleBindings().Create(e.Ctx,
			&rbacv1.ClusterRoleBinding{ObjectMeta: metadata, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
	} else {
		_, err = e.Kube.RbacV1().RoleBindings(namespace).Create(e.Ctx,
			&rbacv1.RoleBinding{ObjectMeta: metadata, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
	}
	check.NoError(e, err)
}

// Allow is Bind for a new role with rules, which has the name of the binding.
func (e *Env) Allow(namespace, name string, subject rbacv1.Subject, rules ...rbacv1.PolicyRule) {
	e.Helper()
	metadata, kind := metav1.ObjectMeta{Name: name}, "Role"
	var err error
	if namespace == "" {
		kind = "ClusterRole"
		_, err = e.Kube.RbacV1().ClusterRoles().Create(e.Ctx, &rbacv1.ClusterRole{ObjectMeta: metadata, Rules: rules},
			metav1.CreateOptions{})
	} else {
		_, err = e.Kube.RbacV1().Roles(namespace).Create(e.Ctx, &rbacv1.Role{ObjectMeta: metadata, Rules: rules},
			metav1.CreateOptions{})
	}
	check.NoError(e, err)
	e.Bind(namespace, name, kind+"/"+name, subject)
}

// Administrator returns a token of a new ServiceAccount with all rights.
func (e *Env) Administrator() string {
	e.Helper()
	e.Bind("", e.Operator+"-viewer", "ClusterRole/cluster-admin", e.Account(e.Operator, "viewer"))
	config, err := e.Cluster.ServiceAccountConfig(e.Ctx, e.Operator, "viewer")
	check.NoError(e, err)
	return config.BearerToken
}

// accountWith returns the configuration of a new ServiceAccount in the operator's namespace, with rights there and in
// the whole cluster.
func (e *Env) accountWith(name string, here, everywhere []rbacv1.PolicyRule) *rest.Config {
	e.Helper()
	account := e.Account(e.Operator, name)
	e.Allow(e.Operator, name, account, here...)
	e.Allow("", e.Operator+"-"+name, account, everywhere...)
	config, err := e.Cluster.ServiceAccountConfig(e.Ctx, e.Operator, name)
	check.NoError(e, err)
	return config
}
