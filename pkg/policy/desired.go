package policy

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
)

// Name returns the name of a policy's HelmRelease for a release: NAMESPACE.NAME. It is unique, as the name of a
// namespace has no dots.
func Name(key release.Key) string { return key.Namespace + "." + key.Name }

// maxReleaseName is the maximum length of a release name in a HelmRelease, and in Helm.
const maxReleaseName = 53

// suspendField stands in v1alpha1.PolicyFieldsAnnotation for suspend and suspendUntil.
const suspendField = "suspend"

// ignoreField stands there for the rules of spec.ignore that end.
const ignoreField = "ignore"

// phase is how far a rollout has come with a release.
type phase struct {
	mode v1alpha1.Mode
	// enforcedSince is the time at which the rollout set mode Enforce, heldSince the start of its hold because of
	// drift; empty for none.
	enforcedSince, heldSince string
}

// desired returns the HelmRelease of a release by a policy and a phase, given the existing one; nil for none. Fields
// not owned by the policy are unchanged.
func desired(
	p *v1alpha1.HelmReleasePolicy, key release.Key, existing *v1alpha1.HelmRelease, of phase,
) *v1alpha1.HelmRelease {
	hr := &v1alpha1.HelmRelease{}
	if existing != nil {
		hr = existing.DeepCopy()
	} else {
		hr.Namespace, hr.Name = p.Namespace, Name(key)
		hr.Spec.Release = v1alpha1.ReleaseReference{Namespace: key.Namespace, Name: key.Name}
	}
	fields := splitFields(hr.Annotations[v1alpha1.PolicyFieldsAnnotation])
	for _, label := range fields {
		if label != suspendField && label != ignoreField {
			delete(hr.Labels, label)
		}
	}
	if hr.Labels == nil {
		hr.Labels = map[string]string{}
	}
	maps.Copy(hr.Labels, p.Spec.Template.Metadata.Labels)
	hr.Labels[v1alpha1.PolicyLabel] = p.Name

	suspend, until := hr.Spec.Suspend, hr.Spec.SuspendUntil
	if slices.Contains(fields, suspendField) {
		suspend, until = false, nil
	}
	temporary := slices.DeleteFunc(hr.Spec.Ignore, isForGood)
	hr.Spec.Protection = protection(p, of.mode)
	own := slices.Sorted(maps.Keys(p.Spec.Template.Metadata.Labels))
	if hr.Spec.Suspend || hr.Spec.SuspendUntil != nil {
		own = append(own, suspendField)
	} else {
		hr.Spec.Suspend, hr.Spec.SuspendUntil = suspend, until
	}
	if slices.ContainsFunc(hr.Spec.Ignore, func(r v1alpha1.IgnoreRule) bool { return !isForGood(r) }) {
		own = append(own, ignoreField)
	} else if room := v1alpha1.MaxIgnoreRules - len(hr.Spec.Ignore); !slices.Contains(fields, ignoreField) {
		hr.Spec.Ignore = append(hr.Spec.Ignore, temporary[:min(room, len(temporary))]...)
	}
	annotate(hr, v1alpha1.PolicyFieldsAnnotation, strings.Join(own, ","))
	annotate(hr, v1alpha1.EnforcedSinceAnnotation, of.enforcedSince)
	if of.heldSince == "" || hr.Annotations[v1alpha1.HeldSinceAnnotation] == "" {
		delete(hr.Annotations, v1alpha1.EnforceRevisionAnnotation) // the consent is for the drift of this hold
	}
	annotate(hr, v1alpha1.HeldSinceAnnotation, of.heldSince)
	hr.OwnerReferences = append(slices.DeleteFunc(hr.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Controller != nil && *o.Controller
	}), controllerReference(p))
	return hr
}

// isForGood reports whether an ignore rule has no end. A user may add others to a HelmRelease of a policy, as a
// suspension.
func isForGood(r v1alpha1.IgnoreRule) bool { return r.Until == nil }

// controllerReference makes a HelmRelease the policy's. It does not keep a deletion of the policy waiting.
func controllerReference(p *v1alpha1.HelmReleasePolicy) metav1.OwnerReference {
	controls := true
	return metav1.OwnerReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.PolicyKind,
		Name: p.Name, UID: p.UID, Controller: &controls}
}

// protection returns the spec of the template with a mode, and with the API server's defaults.
func protection(p *v1alpha1.HelmReleasePolicy, mode v1alpha1.Mode) v1alpha1.Protection {
	spec := *p.Spec.Template.Spec.DeepCopy()
	spec.Mode = mode
	if spec.Scope == "" {
		spec.Scope = v1alpha1.ScopeDeclared
	}
	switch {
	case spec.Guard == "":
		spec.Guard = v1alpha1.GuardOff
	case spec.Guard == v1alpha1.GuardDeny && mode == v1alpha1.ModeDetect: // until the rollout enforces the release
		spec.Guard = v1alpha1.GuardWarn
	}
	return spec
}

// modeOf returns the mode of a template.
func modeOf(p *v1alpha1.HelmReleasePolicy) v1alpha1.Mode {
	if p.Spec.Template.Spec.Mode == v1alpha1.ModeDetect {
		return v1alpha1.ModeDetect
	}
	return v1alpha1.ModeEnforce
}

// differs reports whether a HelmRelease has to be written to be as desired.
func differs(existing, desired *v1alpha1.HelmRelease) bool {
	return !equality.Semantic.DeepEqual(existing.Spec, desired.Spec) ||
		!equality.Semantic.DeepEqual(existing.Labels, desired.Labels) ||
		!equality.Semantic.DeepEqual(existing.Annotations, desired.Annotations) ||
		!sameReferences(existing.OwnerReferences, desired.OwnerReferences)
}

// sameReferences reports whether two lists have the same owners, in whichever order.
func sameReferences(a, b []metav1.OwnerReference) bool {
	has := func(list []metav1.OwnerReference, o metav1.OwnerReference) bool {
		return slices.ContainsFunc(list, func(x metav1.OwnerReference) bool {
			return equality.Semantic.DeepEqual(x, o)
		})
	}
	return len(a) == len(b) &&
		!slices.ContainsFunc(b, func(o metav1.OwnerReference) bool { return !has(a, o) })
}

// annotate sets an annotation; an empty value takes it away.
func annotate(hr *v1alpha1.HelmRelease, name, value string) {
	if value == "" {
		delete(hr.Annotations, name)
		return
	}
	metav1.SetMetaDataAnnotation(&hr.ObjectMeta, name, value)
}

func splitFields(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// enforcedSince returns when a rollout set the mode of a HelmRelease to Enforce; false when none did.
func enforcedSince(hr *v1alpha1.HelmRelease) (time.Time, bool) {
	since, err := time.Parse(time.RFC3339, hr.Annotations[v1alpha1.EnforcedSinceAnnotation])
	return since, err == nil
}
