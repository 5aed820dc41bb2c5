package kit

import (
	"sync"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Upgraded has Helm install a release, and upgrade it a number of times under its lock, and under tampering if wanted.
// It checks that no write of Helm's was undone.
func (e *Env) Upgraded(times int, tampered bool) {
	e.Helper()
	u := NewUpgrades(e)
	stop := make(chan struct{})
	var beside sync.WaitGroup
	if tampered {
		beside.Go(func() { u.Tamper(stop) })
	}
	end := sync.OnceFunc(func() { close(stop); beside.Wait() })
	defer end()
	began := time.Now()
	for range times {
		check.NoError(e, u.Next())
	}
	e.Logf("%d upgrades in %s", times, time.Since(began).Round(time.Millisecond))
	end()
	u.Check(tampered)
}
