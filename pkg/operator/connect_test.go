package operator

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/version"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// oldServer tells its version, or why it does not.
type oldServer struct {
	version string
	err     error
}

func (s oldServer) ServerVersion() (*version.Info, error) {
	return &version.Info{GitVersion: s.version}, s.err
}

func TestTheVersionOfTheAPIServerDecidesHowChecksAreMade(t *testing.T) {
	for want, servers := range map[bool][]oldServer{
		true:  {{version: "v1.30.4"}},
		false: {{version: "v1.33.0"}, {version: "v1.30.4", err: errors.New("no answer")}},
	} {
		for _, server := range servers {
			check.Equal(t, listsReadStorage(server, fixture.Quiet()), want, "%+v", server)
		}
	}
}
