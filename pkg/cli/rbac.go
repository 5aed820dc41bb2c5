package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/permissions"
	"github.com/rancher/helm-locker/pkg/release"
)

func rbacCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "rbac", Category: categoryLook, Usage: "print the permissions that locking releases takes",
		ArgsUsage: "[[NAMESPACE/]RELEASE...]",
		Description: "Prints what an operator must be allowed to do to lock the releases, from their manifests: for the chart, as values of the\n" +
			"profile scoped (-o values), or as Roles and bindings for its ServiceAccount (-o yaml). They are less than cluster-admin, and come\n" +
			"on top of what the chart grants every operator. Without RELEASE it is about all releases of the namespace.\n\n" +
			"Kubernetes lets only those restore a Role who have all that it grants, and only those a binding who may bind its role. The\n" +
			"rules contain that, too, and notes on the standard error tell what it means: read them before you grant the rules.\n" +
			"Run it again when an upgrade brings new kinds, namespaces or roles; until then the HelmRelease says Forbidden, and what is missing.",
		Flags: append(clusterFlags(namespaceOfRelease),
			allNamespacesFlag(),
			&cli.BoolFlag{Name: "names", Category: categoryWhat,
				Usage: "limit reading, changing and deleting to the names of the objects; a new object of a later revision is not covered then"},
			outputFlag("yaml (objects for kubectl apply) or values (a file for helm upgrade -f)", formatYAML, formatValues),
			&cli.StringFlag{Name: "service-account", Value: command.Program, Category: categoryOutput,
				Validator: accountName,
				Usage:     "with -o yaml: `NAME` of the operator's ServiceAccount"},
			&cli.StringFlag{Name: "role", Value: command.Program + "-locked-releases", Category: categoryOutput,
				Usage: "with -o yaml: `NAME` of the roles and bindings"},
			helmReleaseNamespaceFlag()),
		Action: a.does(runRBAC),
	}
}

func runRBAC(ctx context.Context, a *action) error {
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	keys, err := rbacKeys(ctx, a, c)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		namespace := c.scopeOf()
		return cmp.Or(c.missing(ctx, namespace),
			unknownName(fmt.Errorf("there is no release%s", inNamespace(namespace)), release.Key{}, nil))
	}
	var objects []permissions.Object
	var namespaces []string
	for _, key := range keys {
		declared, err := c.Declared(ctx, key)
		if err != nil {
			return err
		}
		namespaces = append(namespaces, key.Namespace)
		if objects, err = addDeclared(a, objects, c, declared); err != nil {
			return err
		}
	}
	rules, notes := permissions.For(namespaces, objects,
		permissions.Options{Names: a.cmd.Bool("names"), Storages: c.Storages(), Resource: c.Resource})
	for _, note := range notes {
		a.note("note: %s", note)
	}
	return printRules(a, keys, rules)
}

// accountName rejects a text that is no name of a ServiceAccount, such as NAMESPACE:NAME.
func accountName(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("%q is no name of a ServiceAccount; --helmrelease-namespace is its namespace", name)
	}
	return nil
}

// rbacKeys returns the releases selected by arguments and flags, in order, each once.
func rbacKeys(ctx context.Context, a *action, c *connection) ([]release.Key, error) {
	var keys []release.Key
	all := a.cmd.Bool("all-namespaces")
	for _, arg := range a.cmd.Args().Slice() {
		if all && strings.Contains(arg, "/") {
			return nil, a.misused(errTwoScopes(arg))
		}
		key, err := c.key(arg)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if all || len(keys) == 0 {
		wanted := keys
		records, err := c.Records(ctx, c.scopeOf(), "")
		if err != nil {
			return nil, err
		}
		keys = slices.DeleteFunc(keysOf(records), func(key release.Key) bool {
			called := func(k release.Key) bool { return k.Name == key.Name }
			return len(wanted) > 0 && !slices.ContainsFunc(wanted, called)
		})
		for _, k := range wanted {
			if !slices.ContainsFunc(keys, func(found release.Key) bool { return found.Name == k.Name }) {
				return nil, noneCalled(k.Name, records)
			}
		}
	}
	slices.SortFunc(keys, compareKeys)
	return slices.Compact(keys), nil
}

// addDeclared adds the objects of one release, and prints those that the rules cannot cover.
func addDeclared(
	a *action, objects []permissions.Object, c *connection, d *inspect.Declared,
) ([]permissions.Object, error) {
	if d.Release.Status != release.StatusDeployed {
		a.note("note: revision %d of release %s is %s", d.Release.Revision, d.Release.Key, d.Release.Status)
	}
	for _, o := range d.Unknown {
		a.note(
			"note: not covered: the API server does not serve the kind of %s; run this again when its CustomResourceDefinition is there", o.ID,
		)
	}
	for i, o := range slices.Concat(d.Objects, d.Former) {
		resource, err := c.Resource(o.GVK)
		if err != nil {
			return nil, fmt.Errorf("%s of release %s: %w", o.ID, d.Release.Key, err)
		}
		objects = append(objects, permissions.Object{Object: o, Resource: resource, Former: i >= len(d.Objects)})
	}
	return objects, nil
}

func printRules(a *action, keys []release.Key, rules []permissions.Rule) error {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# What %s needs to lock %s.\n", command.Program, strings.Join(names, ", "))
	if a.cmd.String("output") == formatValues {
		text, err := encode(map[string]any{"rbac": map[string]any{"profile": "scoped", "rules": rules}}, formatYAML)
		if err != nil {
			return err
		}
		b.WriteString(text)
	} else {
		subject := permissions.Subject{Name: a.cmd.String("role"), Namespace: a.cmd.String("helmrelease-namespace"),
			ServiceAccount: a.cmd.String("service-account")}
		for _, object := range permissions.Grant(rules, subject) {
			text, err := encode(object, formatYAML)
			if err != nil {
				return err
			}
			b.WriteString("---\n" + text)
		}
	}
	return a.write(b.String())
}
