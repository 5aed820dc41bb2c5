package order

import (
	"fmt"

	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// upgrader upgrades the release app to a revision, by one of several Helms.
type upgrader struct {
	*fixture
	sdk   *kit.HelmSDK
	chart string
}

// newUpgrader prepares Helm 3 as a library, which takes milliseconds where a command takes a second.
func newUpgrader(b *fixture, template string) *upgrader {
	b.Helper()
	return &upgrader{fixture: b, sdk: b.HelmSDK(b.Apps, b.Apps), chart: b.Chart("app", template)}
}

// bySDK upgrades with the library of Helm 3.
func (u *upgrader) bySDK(value int) error {
	return u.sdk.Upgrade(u.chart, map[string]any{"value": value})
}

// byCommand upgrades with the command of a Helm.
func (u *upgrader) byCommand(h cluster.Helm, value int) error {
	_, err := h.Run(u.Ctx, "upgrade", "app", u.chart, "--set", fmt.Sprintf("value=%d", value), "--history-max", "5",
		"--namespace", u.Apps)
	return err
}
