package daemon

import (
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/release"
)

func behaviourFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "leader-elect", Value: true, Sources: cli.EnvVars("LEADER_ELECT"), Category: command.CategoryBehaviour,
			Usage: "let only one of several replicas write; the others stand by"},
		&cli.DurationFlag{Name: "lease-duration", Value: 15 * time.Second, Sources: cli.EnvVars("LEASE_DURATION"),
			Category: command.CategoryBehaviour,
			Usage:    "how long a leader that vanished is waited for"},
		&cli.StringFlag{Name: "release-storage", Value: release.Secrets.String(), Sources: cli.EnvVars("RELEASE_STORAGE"),
			Category: command.CategoryBehaviour,
			Usage:    "where Helm keeps its records (HELM_DRIVER): secret, configmap, or secret,configmap"},
		&cli.BoolFlag{Name: "objectset-metadata", Sources: cli.EnvVars("OBJECTSET_METADATA"), Category: command.CategoryBehaviour,
			Usage: "write the classic ObjectSet labels and annotations on the objects of locked releases"},
		&cli.BoolFlag{Name: "impersonate", Sources: cli.EnvVars("IMPERSONATE"), Category: command.CategoryBehaviour,
			Usage: "write objects only in the name of a ServiceAccount in the release's namespace: spec.serviceAccountName, or the default one"},
		&cli.StringFlag{Name: "default-service-account", Sources: cli.EnvVars("DEFAULT_SERVICE_ACCOUNT"),
			Category: command.CategoryBehaviour,
			Usage:    "with --impersonate, the ServiceAccount for releases whose HelmRelease names none"},
		&cli.BoolFlag{Name: "skip-crd", Sources: cli.EnvVars("SKIP_CRD"), Category: command.CategoryBehaviour,
			Usage: "do not install or update the CustomResourceDefinition"},
	}
}
