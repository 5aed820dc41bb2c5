package cli

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
)

// completionPatience is how long a person at a prompt is made to wait for names.
const completionPatience = 3 * time.Second

// plainName matches names that are safe to offer to a shell.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// namer returns candidates for the argument of a command.
type namer func(ctx context.Context, a *action, c *connection) ([]string, error)

// completeWith returns the completion of a command with names as arguments, at most most (0 for any number, less for
// none), and of its flags and their values. Errors yield no names: they cannot be printed while a user types.
func completeWith(a *action, names namer, most int) cli.ShellCompleteFunc {
	return func(ctx context.Context, cmd *cli.Command) {
		a := a.with(cmd)
		wanted := names
		given := cmd.Args().Slice()
		switch {
		case len(given) > 0 && strings.HasPrefix(given[len(given)-1], "-"):
			if wanted = completeFlag(a, given[len(given)-1]); wanted == nil {
				return
			}
			given = nil
		case most < 0 || most > 0 && len(given) >= most:
			return
		}
		ctx, cancel := context.WithTimeout(ctx, completionPatience)
		defer cancel()
		var found []string
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			c, err := a.connect(ctx)
			if err != nil {
				return
			}
			// While completing, the library has not read the environment.
			if namespace := a.env("HELM_NAMESPACE"); cmd.String("namespace") == "" && namespace != "" {
				c.namespace = namespace
			}
			if all, err := wanted(ctx, a, c); err == nil {
				found = all
			}
		}()
		select {
		case <-asked:
		case <-ctx.Done(): // a cluster that does not answer; the program ends now
			return
		}
		unique := map[string]bool{}
		for _, name := range found {
			unique[name] = plainName.MatchString(name) && !slices.Contains(given, name)
		}
		for _, name := range slices.Sorted(maps.Keys(unique)) {
			if unique[name] {
				fmt.Fprintln(a.out, name)
			}
		}
	}
}

// completeFlag prints the continuations of a flag, or of the beginning of one. For values in the cluster it returns
// their namer instead.
func completeFlag(a *action, last string) namer {
	for _, flag := range a.cmd.Flags {
		if !slices.Contains(flag.Names(), strings.TrimLeft(last, "-")) {
			continue
		}
		if limited, ok := flag.(*command.Choice); ok {
			for _, value := range limited.Values {
				fmt.Fprintln(a.out, value)
			}
			return nil
		}
		switch flag.Names()[0] {
		case "namespace", "helmrelease-namespace":
			return namespaceNames
		case "policy":
			return policyNames
		case "context", contextsName:
			for _, name := range contextNames(a.cmd) {
				fmt.Fprintln(a.out, name)
			}
			return nil
		}
		if _, isBool := flag.(*cli.BoolFlag); !isBool {
			return nil // a file, which the shell completes, or what only the user knows
		}
	}
	for _, flag := range a.cmd.Flags {
		_, usage := command.Placeholder(flag)
		for _, name := range flag.Names() {
			if written := dashed(name); strings.HasPrefix(written, last) {
				fmt.Fprintf(a.out, "%s:%s\n", written, usage)
			}
		}
	}
	return nil
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// contextNames returns the contexts of the kubeconfig.
func contextNames(cmd *cli.Command) []string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = cmd.String("kubeconfig")
	config, err := rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

func namespaceNames(ctx context.Context, _ *action, c *connection) ([]string, error) {
	resource := corev1.SchemeGroupVersion.WithResource("namespaces")
	list, err := c.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].GetName()
	}
	return names, nil
}

// releaseNames returns the names of all releases of the namespace, locked or not.
func releaseNames(ctx context.Context, a *action, c *connection) ([]string, error) {
	namespace := c.namespace
	if a.cmd.Bool("all-namespaces") {
		namespace = ""
	}
	records, err := c.Records(ctx, namespace, "")
	names := make([]string, len(records))
	for i, record := range records {
		names[i] = record.Key.Name
	}
	return names, err
}

// lockedNames returns the names of the namespace's releases with a HelmRelease.
func lockedNames(ctx context.Context, a *action, c *connection) ([]string, error) {
	return namesOf(ctx, a, c, func(hr *v1alpha1.HelmRelease) []string {
		if hr.Spec.Release.Namespace != c.namespace && !a.cmd.Bool("all-namespaces") {
			return nil
		}
		return []string{hr.Spec.Release.Name}
	})
}

// statusNames returns the names of HelmReleases, and of their releases.
func statusNames(ctx context.Context, a *action, c *connection) ([]string, error) {
	only := a.cmd.String("namespace")
	return namesOf(ctx, a, c, func(hr *v1alpha1.HelmRelease) []string {
		if only != "" && hr.Spec.Release.Namespace != only {
			return nil
		}
		return []string{hr.Name, hr.Spec.Release.Name}
	})
}

// completionNamespace returns the namespace of the HelmReleases. During completion, the library has not read the
// environment.
func completionNamespace(a *action) string {
	namespace := a.cmd.String("helmrelease-namespace")
	if set := a.env("HELM_LOCKER_NAMESPACE"); set != "" && namespace == v1alpha1.DefaultNamespace {
		return set
	}
	return namespace
}

func namesOf(
	ctx context.Context, a *action, c *connection, names func(*v1alpha1.HelmRelease) []string,
) ([]string, error) {
	namespace := completionNamespace(a)
	if a.cmd.Name == "status" && a.cmd.Bool("all-namespaces") || a.cmd.Name == "migrate" && a.cmd.Bool("all-namespaces") {
		namespace = ""
	}
	locks, err := c.helmReleases(namespace, false).list(ctx, nil)
	var all []string
	for _, hr := range locks {
		all = append(all, names(hr)...)
	}
	return all, err
}

// packageCall is the line of the bash script that needs the package bash-completion. Its variables are set already, and
// the package only joins words at = and :, which no name or flag has before its value.
const packageCall = `_get_comp_words_by_ref "$@" cur prev words cword`

// withoutPackage returns the command that prints the script for bash so that it works without that package, too.
func withoutPackage(printScript cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		root := cmd.Root()
		out, script := root.Writer, &strings.Builder{}
		root.Writer = script
		err := printScript(ctx, cmd)
		root.Writer = out
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(out, strings.Replace(script.String(), "else\n    "+packageCall,
			"elif declare -F _get_comp_words_by_ref >/dev/null 2>&1; then\n    "+packageCall, 1))
		return err
	}
}

// policyArguments returns the verb, and then the names of policies.
func policyArguments(ctx context.Context, a *action, c *connection) ([]string, error) {
	if a.cmd.Args().Len() == 0 {
		return []string{previewVerb}, nil
	}
	return policyNames(ctx, a, c)
}

// policyNames returns the names of policies.
func policyNames(ctx context.Context, a *action, c *connection) ([]string, error) {
	list, err := c.helmReleases(completionNamespace(a), false).policies().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names, nil
}
