package judge

import (
	"fmt"
	"slices"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
)

// Manifest has the declared objects of a release.
type Manifest struct {
	Objects []manifest.Object
	// Unknown are objects of unserved kinds.
	Unknown []manifest.Object
	// Skipped are documents without an object to compare.
	Skipped []manifest.Skipped

	of manifest.Release
}

// UnknownIDs returns the possible identities of the objects of unknown kinds.
func (m *Manifest) UnknownIDs() []manifest.ID {
	var ids []manifest.ID
	for _, o := range m.Unknown {
		ids = append(ids, o.ID.InEitherScope(m.of)...)
	}
	return ids
}

// IDs returns the identities of all declared objects. An object is declared if its identity is one of them. There is no
// other test, because the identities of Unknown are not those of live objects.
func (m *Manifest) IDs() []manifest.ID {
	ids := m.UnknownIDs()
	for _, o := range m.Objects {
		ids = append(ids, o.ID)
	}
	return ids
}

// InvalidError reports a manifest that does not parse. Nothing of it is compared or enforced.
type InvalidError struct{ Err error }

func (e *InvalidError) Error() string { return "the manifest does not parse: " + e.Err.Error() }

// Unwrap returns the error of the parser.
func (e *InvalidError) Unwrap() error { return e.Err }

// Read parses the manifest of a release and resolves its objects. Scope knows the namespaced kinds. The error is an
// *InvalidError when the manifest does not parse; any other comes from scope.
func Read(text string, of manifest.Release, scope manifest.Scope) (*Manifest, error) {
	set, err := manifest.Parse(text)
	if err != nil {
		return nil, &InvalidError{err}
	}
	objects, unknown, err := set.Resolve(of, scope)
	if err != nil {
		return nil, fmt.Errorf("resolve the objects of release %s/%s: %w", of.Namespace, of.Name, err)
	}
	return &Manifest{Objects: objects, Unknown: unknown, Skipped: set.Skipped, of: of}, nil
}

// Object is one object of a manifest to compare, without the parts left to others.
type Object struct {
	manifest.Object
	// Rules are the ignore rules with the object as a target; nil for none.
	Rules *rules.Matcher
	// Replicas is the range within which an autoscaler of the same release sets the replicas; nil for none.
	Replicas *Range
}

// Exempt is an object excluded from the comparison, and the reason.
type Exempt struct {
	Object    manifest.Object
	Exception v1alpha1.Exception
}

// Plan divides a manifest into the compared objects and the exceptions.
type Plan struct {
	Objects []Object
	Exempt  []Exempt
	// Exceptions are those of the exempt objects, and those of parts of the other objects.
	Exceptions []v1alpha1.Exception
}

// Plan sorts the objects by the rules of a HelmRelease (nil for none) and the rules of coexistence. It removes the
// parts left to others from the content of the objects.
func (m *Manifest) Plan(own Own, ignore *rules.Rules) *Plan {
	p := &Plan{}
	scaled := AutoscaledObjects(m.Objects, func(o manifest.Object) bool {
		matcher := ignore.For(o)
		return exempt(o, own, matcher) == nil && !IgnoresRange(o.ID, matcher)
	})
	for _, o := range m.Objects {
		matcher := ignore.For(o)
		if e := exempt(o, own, matcher); e != nil {
			p.Exempt = append(p.Exempt, Exempt{o, *e})
			p.Exceptions = append(p.Exceptions, *e)
			continue
		}
		if declared := ignore.Declared(o); declared != nil {
			p.Exceptions = append(p.Exceptions,
				ExceptionOf(o.ID, v1alpha1.ExceptionIgnored, declared.Describe(), declared.Paths()...))
		}
		p.Exceptions = append(p.Exceptions, Coexist(&o)...)
		object := Object{Object: o, Rules: matcher, Replicas: scaled[o.ID]}
		if r := object.Replicas; r != nil {
			p.Exceptions = append(p.Exceptions,
				ExceptionOf(o.ID, v1alpha1.ExceptionAutoscaled, r.String(), "/spec/replicas"))
		}
		p.Objects = append(p.Objects, object)
	}
	return p
}

// IgnoresRange reports whether rules ignore the target or the range of a scaler. Rules about managers may, independent
// of their present fields.
func IgnoresRange(scaler manifest.ID, matcher *rules.Matcher) bool {
	ignored := matcher.Bind(nil)
	if ignored == nil {
		return matcher.NeedsOwnership()
	}
	s := Scalers[scalerOf(scaler.GroupKind())]
	read := slices.Clone(s.decides)
	for _, field := range []string{"apiVersion", "kind", "name"} {
		read = append(read, append(slices.Clone(s.reference), field))
	}
	return matcher.NeedsOwnership() || slices.ContainsFunc(read, func(path []string) bool {
		for n := range path {
			if ignored(path[:n+1]) {
				return true
			}
		}
		return false
	})
}

// exempt returns the exception for an object excluded from the comparison, nil for any other.
func exempt(o manifest.Object, own Own, matcher *rules.Matcher) *v1alpha1.Exception {
	var e v1alpha1.Exception
	reserved := own.Reserved(o)
	switch {
	case reserved != "":
		e = ExceptionOf(o.ID, v1alpha1.ExceptionReserved, reserved)
	case o.OptedOut:
		e = ExceptionOf(o.ID, v1alpha1.ExceptionOptedOut, "an annotation in the manifest exempts the object")
	case matcher.Whole():
		e = ExceptionOf(o.ID, v1alpha1.ExceptionIgnored, "spec.ignore exempts the object")
	default:
		return nil
	}
	return &e
}
