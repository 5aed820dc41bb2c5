package daemon

import (
	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/operator"
)

// categoryGuard is the category of the guard's flags in the help text.
const categoryGuard = "Guard"

func guardFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "guard-address", Sources: cli.EnvVars("GUARD_ADDRESS"), Category: categoryGuard,
			Usage: "address at which the API server asks before it changes an object, for example :9443; no release can be guarded without it"},
		&cli.StringFlag{Name: "guard-service", Sources: cli.EnvVars("GUARD_SERVICE"), Category: categoryGuard,
			Usage: "`NAME` or NAME:PORT of the Service in front of that address, in the operator's namespace"},
		&cli.StringFlag{Name: "guard-leader-service", Sources: cli.EnvVars("GUARD_LEADER_SERVICE"), Category: categoryGuard,
			Usage: "`NAME` of a Service without a selector, with a port named guard: the leader writes its endpoint, and is asked alone while no release denies changes (docs/guard.md)"},
		&cli.StringFlag{Name: "pod-ip", Sources: cli.EnvVars("POD_IP"), Category: categoryGuard,
			Usage: "`IP` of this Pod, for that endpoint"},
		&cli.StringFlag{Name: "guard-url", Sources: cli.EnvVars("GUARD_URL"), Category: categoryGuard,
			Usage: "`URL` of that address, https://HOST:PORT, for an operator outside of the cluster; instead of --guard-service"},
		&cli.StringFlag{Name: "guard-secret", Sources: cli.EnvVars("GUARD_SECRET"), Category: categoryGuard,
			Usage: "`NAME` of the Secret that holds the certificate, in the operator's namespace; called like the operator's lease, with -guard, without it"},
		&cli.BoolFlag{Name: "guard-cert-manager", Sources: cli.EnvVars("GUARD_CERT_MANAGER"), Category: categoryGuard,
			Usage: "leave that Secret to cert-manager, and only read it"},
		&cli.StringFlag{Name: "guard-client-ca", Sources: cli.EnvVars("GUARD_CLIENT_CA"), Category: categoryGuard,
			Usage: "`FILE` with the authorities that sign the client certificates of API servers; other clients are then turned away (docs/guard.md)"},
		&cli.StringFlag{Name: "trust-records", Sources: cli.EnvVars("TRUST_RECORDS"), Category: categoryGuard,
			Value: operator.TrustAny,
			Usage: "`Any`, or Witnessed: the API server asks about each write of a release record, and the record is enforced if its writer may do what it declares (docs/security.md)"},
		&cli.StringSliceFlag{Name: "trust-never-writer", Sources: cli.EnvVars("TRUST_NEVER_WRITER"), Category: categoryGuard,
			Usage: "`WRITER` whose writes make no record trusted, as User:NAME, Group:NAME or ServiceAccount:NAMESPACE/NAME; may be repeated"},
		&cli.StringFlag{Name: "guard-owner", Sources: cli.EnvVars("GUARD_OWNER"), Category: categoryGuard,
			Usage: "`NAME` of a ClusterRole with which Kubernetes deletes the ValidatingWebhookConfiguration"},
	}
}

func guardOptions(cmd *cli.Command) operator.GuardOptions {
	return operator.GuardOptions{
		Address: cmd.String("guard-address"), Service: cmd.String("guard-service"), URL: cmd.String("guard-url"),
		Secret: cmd.String("guard-secret"), CertManager: cmd.Bool("guard-cert-manager"), Owner: cmd.String("guard-owner"),
		ClientCA: cmd.String("guard-client-ca"), LeaderService: cmd.String("guard-leader-service"),
		PodIP: cmd.String("pod-ip"),
	}
}
