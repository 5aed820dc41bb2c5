package order

import (
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/cluster"
)

// upgrader upgrades the release app to a revision, by one of several Helms.
type upgrader struct {
	*bench
	sdk   *action.Configuration
	chart string
}

// newUpgrader prepares Helm 3 as a library, which takes milliseconds where a command takes a second.
func newUpgrader(b *bench, template string) *upgrader {
	b.Helper()
	kubeconfig, namespace, cache := b.Cluster.Kubeconfig(), b.Apps, b.TempDir()
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Namespace, flags.CacheDir = &kubeconfig, &namespace, &cache
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.QPS = -1
		return config
	}
	u := &upgrader{bench: b, sdk: &action.Configuration{}, chart: b.Chart("app", template)}
	if err := u.sdk.Init(flags, namespace, "secret", func(string, ...any) {}); err != nil {
		b.Fatal(err)
	}
	return u
}

// bySDK upgrades with the library of Helm 3.
func (u *upgrader) bySDK(value int) error {
	loaded, err := loader.Load(u.chart)
	if err != nil {
		return fmt.Errorf("load the chart: %w", err)
	}
	upgrade := action.NewUpgrade(u.sdk)
	upgrade.Namespace, upgrade.MaxHistory = u.Apps, 5
	// Reading the schema of all kinds would take most of the time.
	upgrade.DisableOpenAPIValidation = true
	if _, err := upgrade.RunWithContext(u.Ctx, "app", loaded, map[string]any{"value": value}); err != nil {
		return fmt.Errorf("upgrade to %d: %w", value, err)
	}
	return nil
}

// byCommand upgrades with the command of a Helm.
func (u *upgrader) byCommand(h cluster.Helm, value int) error {
	_, err := h.Run(u.Ctx, "upgrade", "app", u.chart, "--set", fmt.Sprintf("value=%d", value), "--history-max", "5", "--namespace", u.Apps)
	return err
}
