package policies

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestOwnWrites(t *testing.T) {
	begun := time.Unix(1000, 0)
	hr := func(uid, version string) *v1alpha1.HelmRelease {
		meta := metav1.ObjectMeta{Name: "a", UID: types.UID(uid), ResourceVersion: version}
		return &v1alpha1.HelmRelease{ObjectMeta: meta}
	}
	type ours = written[*v1alpha1.HelmRelease]
	made := func(during func(*ours), err error) *ours {
		w := &ours{}
		_, got := w.write("a", clocktesting.NewFakePassiveClock(begun), func() (*v1alpha1.HelmRelease, error) {
			if during != nil {
				during(w)
			}
			return hr("ours", "5"), err
		})
		check.That(t, errors.Is(got, err), "the error is %v, want %v", got, err)
		return w
	}
	none := []*v1alpha1.HelmRelease{}
	for name, tc := range map[string]struct {
		w      *ours
		cached []*v1alpha1.HelmRelease
		after  time.Duration
		want   string // uid and version
		again  bool   // it has to be looked at again without an event
	}{
		"not seen yet":                 {w: made(nil, nil), cached: none, want: "ours 5", again: true},
		"never seen":                   {w: made(nil, nil), cached: none, after: unseenFor},
		"refused":                      {w: made(nil, errors.New("refused")), cached: none},
		"gone before it was answered":  {w: made(func(w *ours) { w.gone("a") }, nil), cached: none},
		"another one has gone":         {w: made(func(w *ours) { w.gone("b") }, nil), cached: none, want: "ours 5", again: true},
		"the cache has an earlier one": {w: made(nil, nil), cached: []*v1alpha1.HelmRelease{hr("ours", "4")}, want: "ours 5"},
		"the cache has it":             {w: made(nil, nil), cached: []*v1alpha1.HelmRelease{hr("ours", "5")}, want: "ours 5"},
		"the cache has another one":    {w: made(nil, nil), cached: []*v1alpha1.HelmRelease{hr("theirs", "4")}, want: "theirs 4"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, hr := range tc.w.newest(tc.cached, begun.Add(tc.after)) {
				got = string(hr.UID) + " " + hr.ResourceVersion
			}
			check.Equal(t, got, tc.want)
			want := time.Time{}
			if tc.again {
				want = begun.Add(unseenFor)
			}
			check.Equal(t, tc.w.unseenUntil(), want, "looked at again at")
		})
	}
}
