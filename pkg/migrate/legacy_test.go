package migrate

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/classic"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

var key = release.Key{Namespace: "apps", Name: "web"}

const prefix = "objectset.rio.cattle.io/"

// marked returns an object with the older operator's mark for the release apps/web, and with the field key as its
// revert wrote it.
func marked(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	labels, annotations, err := classic.Metadata(key)
	check.NoError(t, err)
	annotations[prefix+"applied"] = "H4sI"
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetName("web")
	u.SetResourceVersion("7")
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	u.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry("helm", "Update",
			`{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}},"f:data":{"f:other":{}}}`),
		entry("helm-locker", "Update", `{"f:metadata":{"f:annotations":{"f:`+prefix+`applied":{},"f:`+prefix+
			`id":{}},"f:labels":{"f:`+prefix+`hash":{}}},"f:data":{"f:key":{}}}`),
		entry("kubectl", "Update", `{"f:data":{"f:theirs":{}}}`),
	})
	return u
}

func entry(manager, operation, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "v1",
		FieldsType: "FieldsV1",
		FieldsV1:   metav1.NewFieldsV1(fields),
	}
}

func edit(u *unstructured.Unstructured, annotations map[string]string) *unstructured.Unstructured {
	all := u.GetAnnotations()
	for name, value := range annotations {
		all[prefix+name] = value
		if value == "" {
			delete(all, prefix+name)
		}
	}
	u.SetAnnotations(all)
	return u
}

func TestFindLegacyTakesOnlyWhatTheOlderOperatorWrote(t *testing.T) {
	all := []string{"applied", "id", "owner-gvk", "owner-name", "owner-namespace"}
	foreign := edit(marked(t), map[string]string{"owner-gvk": "fleet.cattle.io/v1alpha1, Kind=Bundle"})
	foreign.SetLabels(map[string]string{prefix + "hash": "0123"})
	renewed := edit(marked(t), map[string]string{"id": "helm-locker/apps/web"}) // by an earlier version of this operator
	renewed.SetLabels(map[string]string{prefix + "hash": "4567"})
	pruned := edit(marked(t), map[string]string{"prune": "false"})
	for name, tc := range map[string]struct {
		live        *unstructured.Unstructured
		declared    map[string]any
		annotations []string
		label       bool
	}{
		"all of it":          {live: marked(t), annotations: all, label: true},
		"of another program": {live: foreign},
		// The hash says ours.
		"of another release": {live: edit(marked(t), map[string]string{"owner-name": "shop"}), label: true},
		"renewed by this operator": {live: renewed,
			annotations: []string{"applied", "owner-gvk", "owner-name", "owner-namespace"}},
		"what users set stays": {live: pruned, annotations: all, label: true},
		"annotations are gone": {live: edit(marked(t),
			map[string]string{"applied": "", "id": "", "owner-gvk": "", "owner-name": "", "owner-namespace": ""}),
			label: true},
		"what the manifest says is kept": {live: marked(t),
			declared: map[string]any{"annotations": map[string]any{prefix + "id": "x"},
				"labels": map[string]any{prefix + "hash": "x"}},
			annotations: []string{"applied", "owner-gvk", "owner-name", "owner-namespace"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := FindLegacy(key, tc.live, map[string]any{"metadata": tc.declared}, false, false)
			check.NoError(t, err)
			var got []string
			for _, name := range found.Annotations {
				got = append(got, strings.TrimPrefix(name, prefix))
			}
			check.That(t,
				slices.Equal(got, tc.annotations) && (len(found.Labels) == 1) == tc.label && found.Any() == (tc.label ||
					len(got) > 0), "found %v and labels %v, want %v and %v", got, found.Labels, tc.annotations, tc.label)
		})
	}
}

func TestFindLegacyHandsFieldsToHelm(t *testing.T) {
	const wrote = `"f:data":{"f:key":{}}`
	for name, tc := range map[string]struct {
		change     func(*unstructured.Unstructured)
		serverSide bool
		want       []string
	}{
		"client-side": {want: []string{
			`helm Update {"f:data":{"f:key":{},"f:other":{}},"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}}`,
			`kubectl Update {"f:data":{"f:theirs":{}}}`,
		}},
		"server-side": {
			change: func(u *unstructured.Unstructured) {
				entries := u.GetManagedFields()
				entries[0].Operation = "Apply"
				u.SetManagedFields(entries)
			},
			want: []string{
				`helm Apply {"f:data":{"f:key":{},"f:other":{}},"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}}`,
				`kubectl Update {"f:data":{"f:theirs":{}}}`,
			},
		},
		"server-side, in an older version of the kind": {
			change: func(u *unstructured.Unstructured) {
				entries := u.GetManagedFields()
				entries[0].Operation, entries[0].APIVersion = "Apply", "v1beta1"
				u.SetManagedFields(entries)
			},
			want: []string{
				`helm Apply {"f:data":{"f:other":{}},"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}}`,
				`kubectl Update {"f:data":{"f:theirs":{}}}`,
			},
		},
		"re-created, of a server-side release": {
			change:     func(u *unstructured.Unstructured) { u.SetManagedFields(u.GetManagedFields()[1:]) },
			serverSide: true,
			want:       []string{`kubectl Update {"f:data":{"f:theirs":{}}}`, `helm Apply {` + wrote + `}`},
		},
		"re-created": {
			change: func(u *unstructured.Unstructured) { u.SetManagedFields(u.GetManagedFields()[1:]) },
			want:   []string{`kubectl Update {"f:data":{"f:theirs":{}}}`, `helm Update {` + wrote + `}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := marked(t)
			if tc.change != nil {
				tc.change(live)
			}
			found, err := FindLegacy(key, live, nil, tc.serverSide, false)
			check.NoError(t, err)
			patch := found.operations()
			last := patch[len(patch)-1]
			entries, ok := last.Value.([]metav1.ManagedFieldsEntry)
			check.Must(t, last.Path == "/metadata/managedFields" && ok, "the patch ends with %+v", last)
			var got []string
			for _, e := range entries {
				got = append(got, e.Manager+" "+string(e.Operation)+" "+string(e.FieldsV1.GetRawBytes()))
			}
			check.That(t,
				slices.Equal(got, tc.want) && found.HandsOver && slices.Equal(found.Managers, []string{"helm-locker"}),
				"managedFields are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		})
	}
}

// What this operator has written by --objectset-metadata stays, and the fields of the older one become Helm's.
func TestFindLegacyKeepsWhatThisOperatorWrites(t *testing.T) {
	current := func() *unstructured.Unstructured {
		u := marked(t)
		edit(u, map[string]string{"applied": ""})
		annotations := u.GetAnnotations()
		annotations["meta.helm.sh/release-name"] = "web"
		u.SetAnnotations(annotations)
		check.NoError(t, classic.Declare(u.Object, key))
		return u
	}
	kept, err := FindLegacy(key, current(), nil, false, false)
	check.NoError(t, err)
	check.That(t,
		kept.Kept && kept.Any() && kept.HandsOver && len(kept.Labels)+len(kept.Annotations) <= 0 &&
			slices.Equal(kept.Managers, []string{"helm-locker"}), "beside the older operator: %+v", kept)
	alone := current()
	alone.SetManagedFields([]metav1.ManagedFieldsEntry{entry("helm", "Update",
		`{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{},"f:`+prefix+`applied":{}}},"f:data":{}}`)})
	kept, err = FindLegacy(key, alone, nil, false, false)
	check.That(t, err == nil && kept.Kept && !kept.Any(), "alone: %+v, %v", kept, err)
	all, err := FindLegacy(key, alone, nil, false, true)
	check.NoError(t, err)
	check.That(t, !all.Kept && len(all.Labels) == 1 && len(all.Annotations) == 5, "all of it: %+v", all)
}
