package release

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Storage is the kind of object of Helm's records, as in HELM_DRIVER. The zero value is Secrets.
type Storage int

// The supported storages.
const (
	Secrets Storage = iota
	ConfigMaps
)

// Storages are all of them.
var Storages = [...]Storage{Secrets, ConfigMaps}

// Unread returns the storages missing from read.
func Unread(read []Storage) []Storage {
	return slices.DeleteFunc(slices.Clone(Storages[:]), func(s Storage) bool { return slices.Contains(read, s) })
}

// ParseStorages reads names with commas between them: secret and configmap, or secrets and configmaps, as HELM_DRIVER
// takes them. None is Secrets.
func ParseStorages(names string) ([]Storage, error) {
	if names == "" {
		return []Storage{Secrets}, nil
	}
	var parsed []Storage
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		at := slices.IndexFunc(Storages[:], func(s Storage) bool {
			return name == s.String() || name == s.String()+"s"
		})
		if at < 0 {
			return nil, fmt.Errorf("release storage %q: use secret, configmap, or both as secret,configmap", name)
		}
		if !slices.Contains(parsed, Storages[at]) {
			parsed = append(parsed, Storages[at])
		}
	}
	return parsed, nil
}

// String returns the storage's name in HELM_DRIVER.
func (s Storage) String() string { return strings.ToLower(s.Kind()) }

// Kind returns the kind of object.
func (s Storage) Kind() string {
	if s == ConfigMaps {
		return "ConfigMap"
	}
	return "Secret"
}

// GVR returns the resource of the kind.
func (s Storage) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: s.String() + "s"}
}

// FieldSelector returns the field selector of a list or watch of records: only Secrets have a type.
func (s Storage) FieldSelector() string {
	if s == Secrets {
		return fields.OneTermEqualSelector("type", SecretType).String()
	}
	return ""
}

// MayBeRecord reports whether an object selected by label and type may be a record. A ConfigMap has no type, so its
// name decides; Helm skips other ConfigMaps with these labels, too.
func (s Storage) MayBeRecord(m metav1.Object) bool {
	return s == Secrets || strings.HasPrefix(m.GetName(), NamePrefix)
}
