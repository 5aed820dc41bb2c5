package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/release"
)

// Categories of commands in the help text.
const (
	categoryLook   = "Look"
	categoryChange = "Change"
	categorySetUp  = "Set up"
)

// Categories of the commands' flags.
const (
	categoryCluster = "Cluster"
	categoryOutput  = "Output"
	categoryWhat    = "What"
)

// Formats of output.
const (
	formatTable = "table"
	formatWide  = "wide"
	formatName  = "name"
	formatText  = "text"
	formatJSON  = "json"
	formatYAML  = "yaml"
	formatPatch = "patch"
)

// Formats of a report.
const (
	formatMarkdown = "markdown"
	formatHTML     = "html"
	formatJUnit    = "junit"
)

const formatCSV = "csv"

// formatValues is the format of a file for helm upgrade -f.
const formatValues = "values"

const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

func colorFlag() cli.Flag {
	return command.OneOf(&cli.StringFlag{Name: "color", Value: colorAuto, Category: categoryOutput,
		Usage: "`WHEN` to use colours: auto (on a terminal, unless NO_COLOR is set), always or never"},
		colorAuto, colorAlways, colorNever)
}

// yesFlag is the flag that answers the question of action.confirm.
func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Category: categoryWhat,
		Usage: "do not ask; needed where there is no terminal to ask at"}
}

// clusterFlags are the flags for cluster and namespace.
func clusterFlags(namespaceUsage string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Sources: cli.EnvVars("HELM_NAMESPACE"),
			Category: categoryCluster, Usage: namespaceUsage},
		&cli.StringFlag{Name: "kubeconfig", Category: categoryCluster,
			Usage: "kubeconfig `FILE`; KUBECONFIG or ~/.kube/config without it"},
		&cli.StringFlag{Name: "context", Aliases: []string{"kube-context"}, Sources: cli.EnvVars("HELM_KUBECONTEXT"),
			Category: categoryCluster, OnlyOnce: true,
			Usage: "`NAME` of the kubeconfig's context; the current one without it"},
		&cli.StringFlag{Name: "as", Sources: cli.EnvVars("HELM_KUBEASUSER"), Category: categoryCluster,
			Usage: "`USER` or ServiceAccount to impersonate, as for kubectl"},
		&cli.StringSliceFlag{Name: "as-group", Sources: cli.EnvVars("HELM_KUBEASGROUPS"), Category: categoryCluster,
			Usage: "`GROUP` to impersonate, with --as; repeat it for more"},
		&cli.DurationFlag{Name: "request-timeout", Category: categoryCluster, HideDefault: true,
			Usage: "`DURATION` of one request to the API server, for example 10s; 30s without it, and watches without limit"},
		&cli.StringFlag{Name: "release-storage", Value: release.Secrets.String(), Sources: cli.EnvVars("HELM_DRIVER"),
			Category: categoryCluster,
			Usage:    "where Helm keeps its `RECORDS`: secret, configmap, or secret,configmap"},
	}
}

const namespaceOfRelease = "`NAMESPACE` of the release; that of the kubeconfig's context without it"

func helmReleaseNamespaceFlag() cli.Flag {
	return &cli.StringFlag{Name: "helmrelease-namespace", Value: v1alpha1.DefaultNamespace,
		Sources:  cli.EnvVars("HELM_LOCKER_NAMESPACE"),
		Category: categoryCluster, Usage: "`NAMESPACE` of the HelmReleases, which the operator manages"}
}

func allNamespacesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "all-namespaces", Aliases: []string{"A"}, Category: categoryCluster,
		Usage: "releases in all namespaces"}
}

// Names of the flags that select by labels.
const (
	selectorName            = "selector"
	helmReleaseSelectorName = "helmrelease-selector"
)

// selectorFlag selects releases by the labels of their records, as helm list --selector; what is the object of the
// command.
func selectorFlag(what string) cli.Flag {
	return &cli.StringFlag{Name: selectorName, Aliases: []string{"l"}, Category: categoryWhat,
		Usage: what + " whose labels, which helm install --labels sets, match `SELECTOR`, such as team=web,tier!=db"}
}

// lockSelectFlags are the flags for selecting releases by their HelmReleases.
func lockSelectFlags() []cli.Flag {
	return []cli.Flag{
		allNamespacesFlag(),
		&cli.BoolFlag{Name: "all", Category: categoryWhat,
			Usage: "all releases of the namespace, or of all namespaces with -A, that HelmReleases name"},
		allowEmptyFlag(),
		selectorFlag("the releases that HelmReleases name"),
		&cli.StringFlag{Name: helmReleaseSelectorName, Category: categoryWhat,
			Usage: "the releases whose HelmReleases have labels that match `SELECTOR`"},
	}
}

const allowEmptyName = "allow-empty"

func allowEmptyFlag() cli.Flag {
	return &cli.BoolFlag{Name: allowEmptyName, Category: categoryWhat,
		Usage: "exit code 0 when nothing is selected, instead of 5"}
}

// mayNotExistName is the flag that accepts names of releases and fields that do not exist and resemble others.
const mayNotExistName = "may-not-exist"

// acceptFlag is the flag for spec.acceptRecordsOfAnyone.
const acceptFlag = "accept-records-of-anyone"

func fileFlag() cli.Flag {
	return &cli.StringFlag{Name: "filename", Aliases: []string{"f"}, Category: categoryWhat, TakesFile: true,
		Usage: "read the release from a `FILE` (- for standard input) instead of the cluster: records, which are Secrets or ConfigMaps, as " +
			"kubectl prints them, or the payload of one, encoded or not"}
}

func waitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "wait", Category: categoryWhat,
			Usage: "wait until the operator has done it, and print what it is waiting for"},
		&cli.DurationFlag{Name: "timeout", Value: 2 * time.Minute, Category: categoryWhat,
			Usage: "how long --wait waits; 0 for ever"},
	}
}

// positive validates numbers that count from 1.
func positive(n int) error {
	if n < 1 {
		return fmt.Errorf("%d is not a number from 1 on", n)
	}
	return nil
}

// askedFlags are the flags of a command that asks before drift is reverted.
func askedFlags() []cli.Flag { return append(append(lockSelectFlags(), waitFlags()...), yesFlag()) }

// outputFlag selects the format of the output. The first one is the default.
func outputFlag(usage string, formats ...string) cli.Flag {
	return command.OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: formats[0], Category: categoryOutput,
		Usage: "`FORMAT`: " + usage}, formats...)
}
