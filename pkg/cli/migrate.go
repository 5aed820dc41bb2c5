package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/migrate"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

func migrateCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "migrate", Category: categoryChange,
		Usage: "take off what an older operator wrote on the objects of releases", ArgsUsage: "[RELEASE...]",
		Description: "The older operator marked every object that it locked with labels and annotations (objectset.rio.cattle.io/...), and\n" +
			"owns the fields that it restored. This removes its marks and makes those fields Helm's, for the releases that are named,\n" +
			"or for all that HelmReleases name. It writes no content, leaves alone what other programs marked in the same way, and can be\n" +
			"repeated. Run it when this operator has taken over; docs/migration.md tells the whole way. --dry-run shows what would go.",
		Flags: append(clusterFlags(
			"`NAMESPACE` of the releases; for named ones that of the kubeconfig's context without it",
		), helmReleaseNamespaceFlag(), allowEmptyFlag(),
			&cli.BoolFlag{Name: "all-namespaces", Aliases: []string{"A"}, Category: categoryCluster,
				Usage: "all releases that HelmReleases of any namespace name"},
			&cli.BoolFlag{Name: "dry-run", Category: categoryOutput,
				Usage: "show what would go, and have the API server check it without storing it"},
			&cli.BoolFlag{Name: "objectset-metadata", Category: categoryWhat,
				Usage: "also what an operator with --objectset-metadata wrote, for one that no longer has that flag"},
			yesFlag()),
		Action: a.does(runMigrate),
	}
}

// migration is a release to clean up.
type migration struct {
	plan *migrate.Plan
	// taken is set unless a HelmRelease shows that no operator of this kind manages the release yet.
	taken bool
}

func runMigrate(ctx context.Context, a *action) error {
	names := a.cmd.Args().Slice()
	if len(names) > 0 && a.cmd.Bool("all-namespaces") {
		return a.misused(errors.New("name releases or say --all-namespaces, not both"))
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	keys, fresh, err := migrationKeys(ctx, a, c, names)
	if err != nil {
		return err
	}
	dryRun := a.cmd.Bool("dry-run")
	var todo []migration
	marked, failed := 0, false
	for _, key := range keys {
		plan, err := migrate.NewPlan(ctx, c.Cluster, key, a.cmd.Bool("objectset-metadata"))
		if err != nil {
			var missing *inspect.NotFoundError
			switch {
			case ctx.Err() != nil:
				return err
			case errors.As(err, &missing) && len(names) == 0:
				a.note("note: release %s is left out: it does not exist", key) // a lock may be there first
			case missing != nil && len(keys) == 1:
				return err
			default:
				fmt.Fprintln(a.errOut, explain(a.name, err))
				failed = true
			}
			continue
		}
		m := migration{plan: plan, taken: !fresh[key]}
		failed = showPlan(a, m) || failed
		if len(plan.Marked) > 0 {
			todo = append(todo, m)
			marked += len(plan.Marked)
		}
	}
	if marked > 0 && !dryRun && !a.cmd.Bool("yes") {
		switch agreed, err := a.confirm(fmt.Sprintf("Take this off %s?", plain.Count(marked, "object"))); {
		case err != nil:
			return err
		case !agreed:
			return errors.New("nothing was changed")
		}
	}
	return carryOut(ctx, a, c, todo, failed)
}

// migrationKeys returns the releases selected by arguments and flags. fresh are those that the older operator still
// manages.
func migrationKeys(
	ctx context.Context, a *action, c *connection, names []string,
) (keys []release.Key, fresh map[release.Key]bool, err error) {
	namespace := a.cmd.String("helmrelease-namespace")
	if a.cmd.Bool("all-namespaces") {
		namespace = ""
	}
	locks, err := c.helmReleases(namespace, false).list(ctx, nil)
	if err != nil && len(names) > 0 && (apierrors.IsForbidden(err) || isKindMissing(err)) {
		err = nil // releases that are named need no lock
	}
	if err != nil {
		return nil, nil, err
	}
	fresh = map[release.Key]bool{}
	for _, name := range names {
		key, err := c.key(name)
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, key)
	}
	only := a.onlyIn(c, a.cmd.String("namespace"))
	for _, hr := range locks {
		key := keyOf(hr)
		if len(names) == 0 && (only == "" || key.Namespace == only) {
			keys = append(keys, key)
		}
		fresh[key] = fresh[key] || slices.Contains(hr.Finalizers, v1alpha1.LegacyFinalizer)
	}
	slices.SortFunc(keys, func(x, y release.Key) int { return strings.Compare(x.String(), y.String()) })
	if keys = slices.Compact(keys); len(keys) == 0 {
		reason := fmt.Errorf("there is nothing to migrate: no HelmRelease%s names a release%s", inNamespace(namespace),
			inNamespace(only))
		return nil, nil, a.empty(ctx, c, reason, namespace, only)
	}
	return keys, fresh, nil
}

// showPlan prints the planned removals of a release, and reports whether an object could not be read.
func showPlan(a *action, m migration) bool {
	p := m.plan
	fmt.Fprintln(a.out, plain.Line(fmt.Sprintf("release %s, revision %d: %d of %s marked by the older operator",
		p.Key, p.Revision, len(p.Marked), plain.Count(p.Declared, "object"))))
	for _, o := range p.Unseen {
		complain(a, o)
	}
	for _, o := range p.Marked {
		fmt.Fprintln(a.out, "  "+plain.Line(o.ID.String()))
		for _, name := range o.Legacy.Labels {
			fmt.Fprintln(a.out, "    label "+plain.Line(name))
		}
		for _, name := range o.Legacy.Annotations {
			fmt.Fprintln(a.out, "    annotation "+plain.Line(name))
		}
		if o.Legacy.HandsOver {
			fmt.Fprintln(a.out, "    "+plain.Line("fields of manager "+strings.Join(o.Legacy.Managers, ", ")+
				" become Helm's"))
		}
	}
	if p.Kept > 0 {
		a.note("note: release %s: --objectset-metadata of the operator keeps its labels and annotations on %s; migrate "+
			"--objectset-metadata takes them off", p.Key, plain.Count(p.Kept, "object"))
	}
	return len(p.Unseen) > 0
}

func complain(a *action, o *migrate.Object) {
	a.note("  cannot clean %s: %v", o.ID, o.Err)
	for _, hint := range hintsFor(a.name, o.Err) {
		a.note("    %s", hint)
	}
}

// carry executes the shown plan.
func carryOut(ctx context.Context, a *action, c *connection, todo []migration, failed bool) error {
	done, dryRun := 0, a.cmd.Bool("dry-run")
	for _, m := range todo {
		if !m.taken && !dryRun {
			fmt.Fprintln(a.errOut, explain(a.name,
				command.Hinted(fmt.Errorf(
					"release %s is left as it is: its HelmRelease still has the older operator's finalizer", m.plan.Key,
				),
					"stop that operator, which would mark everything again, and start this one, which takes the finalizer off; then migrate")))
			failed = true
			continue
		}
		err := m.plan.Carry(ctx, c.Cluster, dryRun)
		for _, o := range m.plan.Marked {
			if o.Done {
				done++
			}
			if o.Err != nil {
				complain(a, o)
				failed = true
			}
		}
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			err = command.Hinted(err, "run this again when helm status says deployed")
			fmt.Fprintln(a.errOut, explain(a.name, err))
			failed = true
			continue
		}
	}
	switch {
	case dryRun:
		fmt.Fprintf(a.out, "nothing was written (dry run); %s would be cleaned\n", plain.Count(done, "object"))
	default:
		fmt.Fprintf(a.out, "%s cleaned\n", plain.Count(done, "object"))
	}
	if failed {
		return &command.ExitError{Code: command.ExitFailed}
	}
	return nil
}
