package enforce

import (
	"github.com/rancher/wrangler/v3/pkg/apply"

	"github.com/rancher/helm-locker/pkg/release"
)

// AddObjectSetMetadata declares wrangler's classic ObjectSet label and annotation on a desired object, for users with
// queries for them. It is off by default: locking leaves no trace on an object.
func AddObjectSetMetadata(desired map[string]any, key release.Key) error {
	labels, annotations, err := apply.GetLabelsAndAnnotations(SetID(key), nil)
	if err != nil {
		return err
	}
	for name, value := range labels {
		setPath(desired, value, "metadata", "labels", name)
	}
	for name, value := range annotations {
		setPath(desired, value, "metadata", "annotations", name)
	}
	return nil
}

// SetID names the ObjectSet of a release.
func SetID(key release.Key) string { return "helm-locker/" + key.String() }
