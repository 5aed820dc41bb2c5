package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/release"
)

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

func parseSelector(cmd *cli.Command, flag string) (labels.Selector, error) {
	selector, err := labels.Parse(cmd.String(flag))
	if err != nil {
		return nil, command.Hinted(fmt.Errorf("--%s: %w", flag, err), "write it like team=web,tier!=db")
	}
	return selector, nil
}

// checkSelection rejects a command line without a release, and one with both names and a selection. As with kubectl, -A
// only determines the namespaces, so that two letters cannot change everything.
func checkSelection(ctx context.Context, cmd *cli.Command) error {
	selects := cmd.Bool("all") || cmd.String(selectorName) != "" || cmd.String(helmReleaseSelectorName) != ""
	var err error
	switch names := cmd.Args().Slice(); {
	case len(names) == 0 && !selects && cmd.Bool("all-namespaces"):
		err = errors.New("--all-namespaces needs the name of a release, --selector or --all")
	case len(names) == 0 && !selects:
		err = errors.New("the name of a release is missing")
	case len(names) > 0 && selects:
		err = errors.New("names of releases, and --selector or --all, exclude each other")
	case cmd.String("name") != "" && !(selects && writesPolicies(cmd)) && (len(names) != 1 || cmd.Bool("all-namespaces")):
		err = errors.New("--name needs the name of one release")
	case cmd.Bool("all-namespaces"):
		if i := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, "/") }); i >= 0 {
			err = errTwoScopes(names[i])
		}
	}
	if err != nil {
		return command.UsageError(ctx, cmd, err, true)
	}
	return nil
}

// writesPolicies reports whether a command takes a selection for that of a policy: lock creates it, and unlock takes it
// back.
func writesPolicies(cmd *cli.Command) bool {
	return cmd.Name == "lock" || cmd.Name == "unlock" && cmd.String(helmReleaseSelectorName) == ""
}

// keys returns the releases named by the arguments of a command, each once. With --all-namespaces a name stands for
// all results of existing.
func (c *connection) keys(cmd *cli.Command, existing func(name string) ([]release.Key, error)) ([]release.Key, error) {
	var keys []release.Key
	for _, arg := range cmd.Args().Slice() {
		if isField(arg) {
			continue
		}
		key, err := c.key(arg)
		if err != nil {
			return nil, err
		}
		found := []release.Key{key}
		if cmd.Bool("all-namespaces") {
			if found, err = existing(key.Name); err != nil {
				return nil, err
			}
		}
		for _, key := range found {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// called returns the releases of a name in all namespaces, or an error when there are none.
func (c *connection) called(ctx context.Context, name string) ([]release.Key, error) {
	records, err := c.Records(ctx, "", name)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		records, err := c.Records(ctx, "", "")
		if err != nil {
			return nil, err
		}
		return nil, noneCalled(name, records)
	}
	return keysOf(records), nil
}

// keysOf returns the releases of records, each once, in order.
func keysOf(records []release.Record) []release.Key {
	keys := make([]release.Key, len(records))
	for i, record := range records {
		keys[i] = record.Key
	}
	slices.SortFunc(keys, compareKeys)
	return slices.Compact(keys)
}

// noneCalled is the error for a name that no release has; records are all.
func noneCalled(name string, records []release.Record) error {
	keys := map[release.Key]bool{}
	for _, record := range records {
		keys[record.Key] = true
	}
	return unknownName(fmt.Errorf("there is no release %q in any namespace", name), release.Key{Name: name}, keys)
}

// unknownName returns the error for a name that selects nothing, with those of keys that may have been meant.
func unknownName(err error, missing release.Key, keys map[release.Key]bool) error {
	if similar := inspect.Similar(missing, keys); len(similar) > 0 {
		err = command.Hinted(err, didYouMean(missing, similar))
	}
	return &command.ExitError{Code: command.ExitEmpty, Err: err}
}

func compareKeys(x, y release.Key) int {
	return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
}

// target is a release to be changed by a command.
type target struct {
	key release.Key
	// locks are the HelmReleases of the release: any number for a named release, and one for a selected one.
	locks []*v1alpha1.HelmRelease
	// similar are releases with a HelmRelease and nearly this name, or this name in another namespace; only without
	// locks.
	similar []release.Key
	// others are HelmReleases of the release with other names than that of --name.
	others []string
}

// choose returns the releases selected by arguments and flags, with their HelmReleases. There may be none.
func (a *app) choose(ctx context.Context, cmd *cli.Command) (*helmReleases, []target, error) {
	if err := checkSelection(ctx, cmd); err != nil {
		return nil, nil, err
	}
	c, err := a.connect(ctx, cmd)
	if err != nil {
		return nil, nil, err
	}
	store := c.helmReleases(cmd.String("helmrelease-namespace"), cmd.Bool("dry-run"))
	all, err := store.list(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	if cmd.Args().Present() {
		targets, err := c.named(cmd, store, all)
		return store, targets, err
	}
	targets, err := c.selected(ctx, cmd, all)
	return store, targets, err
}

// named returns the releases named by the arguments, with their HelmReleases among all.
func (c *connection) named(cmd *cli.Command, store *helmReleases, all []*v1alpha1.HelmRelease) ([]target, error) {
	locked := map[release.Key]bool{}
	for _, hr := range all {
		locked[keyOf(hr)] = true
	}
	keys, err := c.keys(cmd, func(name string) (found []release.Key, _ error) {
		for _, hr := range all {
			if hr.Spec.Release.Name == name {
				found = append(found, keyOf(hr))
			}
		}
		if len(found) == 0 {
			err := fmt.Errorf("no HelmRelease in namespace %s names a release %q", store.namespace, name)
			return nil, unknownName(err, release.Key{Name: name}, locked)
		}
		return found, nil
	})
	var targets []target
	for _, key := range keys {
		t := target{key: key}
		for _, hr := range all {
			switch name := cmd.String("name"); {
			case keyOf(hr) != key:
			case name == "" || hr.Name == name:
				t.locks = append(t.locks, hr)
			default:
				t.others = append(t.others, hr.Name)
			}
		}
		if !locked[key] {
			t.similar = inspect.Similar(key, locked)
		}
		targets = append(targets, t)
	}
	return targets, err
}

// each calls do for each of several things. An error belongs to its thing: it is printed, and the others go on.
func each[T any](ctx context.Context, a *app, things []T, do func(T) error) error {
	failed := false
	for _, thing := range things {
		err := do(thing)
		if err != nil && (ctx.Err() != nil || len(things) == 1) {
			return err
		}
		if err != nil {
			fmt.Fprintln(a.errOut, explain(a.name, err))
			failed = true
		}
	}
	if failed {
		return &command.ExitError{Code: command.ExitFailed}
	}
	return nil
}
