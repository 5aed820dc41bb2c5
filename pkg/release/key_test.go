package release_test

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// hostileNames are texts that would redirect a request as a part of a path or of a selector.
var hostileNames = []string{
	"", ".", "..", "../pods", "a/b", "../pods/http:mine:8080/proxy", "%zz", "%2e%2e", "x y", "x?limit=1", "x#y", "x,y",
	"x,status=deployed", "x=y", "x in (y)", "X", "-x", "x-", "x..y", ".x", "x\n", "x\x00", "\u00e4", "x_y", "*",
	strings.Repeat("x", 64), strings.Repeat("x", 54),
}

func TestKeyOfTakesTheNamesThatHelmTakes(t *testing.T) {
	names := append([]string{"x", "x.y", "x-1", "1", strings.Repeat("x", 53)}, hostileNames...)
	for _, name := range names {
		want := release.Key{Namespace: "apps", Name: name}
		if chartutil.ValidateReleaseName(name) != nil {
			want = release.Key{}
		}
		check.Equal(t, release.KeyOf("apps", name), want, "name %q", name)
	}
}

func TestKeyOfTakesNamesOfNamespaces(t *testing.T) {
	for _, namespace := range append([]string{"x.y"}, hostileNames[:len(hostileNames)-1]...) {
		check.Equal(t, release.KeyOf(namespace, "app"), release.Key{}, "namespace %q", namespace)
	}
	for _, namespace := range []string{"x", "1-x", strings.Repeat("x", 63)} {
		got := release.KeyOf(namespace, "app")
		check.That(t, got.Namespace == namespace && got.Name == "app", "namespace %q: got %q", namespace, got)
	}
}

// A name is a value in a selector, and never a part of its syntax.
func TestSelectorRefusesWhatIsNoName(t *testing.T) {
	for _, name := range []string{"x,status=deployed", "x y", "a/b", "x in (y)", strings.Repeat("x", 64)} {
		got, err := release.Selector(name)
		check.That(t, err != nil, "%q selects by %q", name, got)
	}
}

// A record of a release name refused by Helm was not written by Helm.
func TestRecordOfRejectsNamesThatHelmRefuses(t *testing.T) {
	long := strings.Repeat("x", 54)
	_, err := release.Secrets.RecordOf(metadata(func(m *metav1.PartialObjectMetadata) {
		m.Name, m.Labels["name"] = release.ObjectName(long, 12), long
	}))
	check.That(t, errors.Is(err, release.ErrRecord) && strings.Contains(err.Error(), "no release of that name"),
		"got %v, want an ErrRecord", err)
}
