package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/release"
)

// compare reads every object of a release, and searches for undeclared objects with its name.
func (s *soakRun) compare(ctx context.Context, r *helmRelease, declared []*unstructured.Unstructured) error {
	names := map[string]bool{}
	for _, want := range declared {
		gvr := resourceOf(want)
		names[gvr.Resource+"/"+want.GetName()] = true
		key := objectKey{gvr, r.namespace, want.GetName()}
		live, err := s.client.Resource(gvr).Namespace(r.namespace).Get(ctx, want.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return &wrongObject{key, "does not exist"}
		}
		if err != nil {
			return err
		}
		if !r.owns(live) {
			return &wrongObject{key, "has lost Helm's metadata"}
		}
		at, spare := differs(want.Object, live.Object, "")
		if at != "" {
			return &wrongObject{key, "differs from the manifest at " + at}
		}
		if err := s.spared(key, live, spare); err != nil {
			return err
		}
	}
	for _, gvr := range resources() {
		list, err := s.client.Resource(gvr).Namespace(r.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, u := range list.Items {
			if u.GetAnnotations()["meta.helm.sh/release-name"] != r.name || names[gvr.Resource+"/"+u.GetName()] {
				continue
			}
			key := objectKey{gvr, r.namespace, u.GetName()}
			if err := s.leftover(ctx, r, key, u.GetUID()); err != nil {
				return err
			}
		}
	}
	return nil
}

// leftover returns nil for an object that Helm has left behind.
func (s *soakRun) leftover(ctx context.Context, r *helmRelease, key objectKey, uid types.UID) error {
	records, err := s.records(ctx, r)
	if err != nil {
		return err
	}
	if s.creators[uid] == "" {
		entries, err := s.journal.read(key)
		if err != nil {
			return err
		}
		s.creators[uid] = creator(entries, key, uid)
	}
	if err := leftByHelm(s.creators[uid], records, key); err != nil {
		return &wrongObject{
			key, fmt.Sprintf("says it is of the release, which does not declare it, and Helm did not leave it behind: %v", err),
		}
	}
	s.report.leftover(uid)
	return nil
}

// records returns the recorded revisions of a release.
func (s *soakRun) records(ctx context.Context, r *helmRelease) (map[string]*release.Release, error) {
	selector, err := release.Selector(r.name)
	if err != nil {
		return nil, err
	}
	list, err := s.kube.CoreV1().Secrets(r.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("records of %s: %w", r.name, err)
	}
	records := map[string]*release.Release{}
	for i := range list.Items {
		records[list.Items[i].Name], err = release.DecodeRecord(list.Items[i].Data[release.DataKey], nil)
		if err != nil {
			return nil, fmt.Errorf("record %s: %w", list.Items[i].Name, err)
		}
	}
	return records, nil
}

// spared returns nil when Helm has left the undeclared list elements of an object. If an element is renamed just
// before an upgrade, Helm adds the declared one beside it; to the operator the renamed one is then an addition, which
// stays in scope Declared. The operator has to remove elements renamed later, so the criterion is Helm's last write.
func (s *soakRun) spared(key objectKey, live *unstructured.Unstructured, spare []string) error {
	if len(spare) == 0 {
		return nil
	}
	which := string(live.GetUID()) + "/" + live.GetResourceVersion()
	if s.left[which] == nil {
		entries, err := s.journal.read(key)
		if err != nil {
			return err
		}
		s.left[which] = asHelmLeft(entries, key, live.GetUID())
	}
	for _, at := range spare {
		if !hasElement(s.left[which], at) {
			return &wrongObject{key, "has an element that neither the manifest has nor what Helm wrote last: " + at}
		}
	}
	s.report.count("helm: objects looked at in which it left renamed elements beside the declared ones")
	return nil
}

// differs returns the path of a declared value that live lacks; empty for none. spare are the named elements of its
// lists beside the declared ones.
func differs(declared, live any, at string) (where string, spare []string) {
	switch d := declared.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return at, nil
		}
		for key, value := range d {
			found, more := differs(value, l[key], at+"/"+key)
			if found != "" {
				return found, nil
			}
			spare = append(spare, more...)
		}
		return "", spare
	case []any:
		l, ok := live.([]any)
		if !ok || len(l) < len(d) {
			return at, nil
		}
		if len(l) > len(d) {
			if l, spare = split(d, l, at); len(l) != len(d) {
				return at, nil
			}
		}
		for i := range d {
			found, more := differs(d[i], l[i], at+"/"+strconv.Itoa(i))
			if found != "" {
				return found, nil
			}
			spare = append(spare, more...)
		}
		return "", spare
	}
	if fmt.Sprint(declared) != fmt.Sprint(live) { // 80 is 80, whether a decoder takes it for an integer or not
		return at, nil
	}
	return "", nil
}

// split returns the elements with declared names, and the paths of those with other names. An element without a name
// counts as declared.
func split(declared, live []any, at string) (named []any, spare []string) {
	names := map[string]bool{}
	for _, element := range declared {
		names[nameOf(element)] = true
	}
	for _, element := range live {
		if name := nameOf(element); name == "" || names[name] {
			named = append(named, element)
		} else {
			spare = append(spare, at+"/"+name)
		}
	}
	return named, spare
}

// nameOf returns the name of an element of a list; empty when it has none.
func nameOf(element any) string {
	fields, ok := element.(map[string]any)
	if !ok {
		return ""
	}
	name, ok := fields["name"].(string)
	if !ok {
		return ""
	}
	return name
}

// hasElement reports whether an object has the element at a path of split: through fields and numbered elements to a
// named one.
func hasElement(object any, at string) bool {
	step, rest, more := strings.Cut(strings.TrimPrefix(at, "/"), "/")
	switch value := object.(type) {
	case map[string]any:
		return more && hasElement(value[step], rest)
	case []any:
		if !more {
			return slices.ContainsFunc(value, func(element any) bool { return nameOf(element) == step })
		}
		i, err := strconv.Atoi(step)
		return err == nil && i >= 0 && i < len(value) && hasElement(value[i], rest)
	}
	return false
}
