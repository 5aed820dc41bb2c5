package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
)

func parseSelector(cmd *cli.Command, flag string) (labels.Selector, error) {
	selector, err := labels.Parse(cmd.String(flag))
	if err != nil {
		return nil, command.Hinted(fmt.Errorf("--%s: %w", flag, err), "write it like team=web,tier!=db")
	}
	return selector, nil
}

// checkSelection rejects a command line without a release, and one with both names and a selection. As with kubectl, -A
// only determines the namespaces, so that two letters cannot change everything.
func checkSelection(a *action) error {
	selects := a.cmd.Bool("all") || a.cmd.String(selectorName) != "" || a.cmd.String(helmReleaseSelectorName) != ""
	var err error
	switch names := a.cmd.Args().Slice(); {
	case len(names) == 0 && !selects && a.cmd.Bool("all-namespaces"):
		err = errors.New("--all-namespaces needs the name of a release, --selector or --all")
	case len(names) == 0 && !selects:
		err = errors.New("the name of a release is missing")
	case len(names) > 0 && selects:
		err = errors.New("names of releases, and --selector or --all, exclude each other")
	case a.cmd.String("name") != "" && !(selects && writesPolicies(a.cmd)) && (len(names) != 1 || a.cmd.Bool("all-namespaces")):
		err = errors.New("--name needs the name of one release")
	case a.cmd.Bool("all-namespaces"):
		if i := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, "/") }); i >= 0 {
			err = errTwoScopes(names[i])
		}
	}
	if err != nil {
		return a.misused(err)
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
func (c *connection) keys(existing func(name string) ([]release.Key, error)) ([]release.Key, error) {
	var keys []release.Key
	for _, arg := range c.cmd.Args().Slice() {
		if isField(arg) {
			continue
		}
		key, err := c.key(arg)
		if err != nil {
			return nil, err
		}
		found := []release.Key{key}
		if c.cmd.Bool("all-namespaces") {
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

// namedAnywhere returns the releases of a name in all namespaces, or an error when there are none.
func (c *connection) namedAnywhere(ctx context.Context, name string) ([]release.Key, error) {
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

func errTwoScopes(arg string) error {
	return fmt.Errorf("%s names a namespace, and --all-namespaces means all", arg)
}

// isField reports whether an argument names a field, as KIND/NAME:FIELD. No name of a release has a colon.
func isField(arg string) bool { return strings.Contains(arg, ":") }

// candidate is a release to compare.
type candidate struct {
	key     release.Key
	records []release.Record
	// labels are those of the newest record.
	labels labels.Set
	// err reports an invalid record; nil when all are valid.
	err error
	// details are the compared revision, if read already.
	details *whole.Release
}

// allCandidates returns the releases of a namespace, or of all when it is empty, in order.
func (c *connection) allCandidates(ctx context.Context, namespace string) ([]candidate, error) {
	records, err := c.Labelled(ctx, namespace)
	if err != nil {
		return nil, err
	}
	byKey := map[release.Key]*candidate{}
	for _, r := range records {
		key := r.Key
		if key.Name == "" {
			key.Name = r.ObjectName // which is none that Helm gives
		}
		if byKey[key] == nil {
			byKey[key] = &candidate{key: key}
		}
		of := byKey[key]
		of.err = cmp.Or(of.err, r.Err)
		of.records = append(of.records, r.Record)
		if newest, _ := release.Newest(of.records); newest.Same(r.Record) {
			of.labels = r.Labels
		}
	}
	var all []candidate
	for _, key := range slices.SortedFunc(maps.Keys(byKey), compareKeys) {
		all = append(all, *byKey[key])
	}
	return all, nil
}

// candidates returns the releases selected by arguments and flags, in order: the named ones, else those of a
// namespace, or of all when it is empty. A missing named one is an error.
func candidates(
	ctx context.Context, a *action, c *connection, namespace string,
) ([]candidate, error) {
	if a.cmd.Args().Present() {
		return c.namedCandidates(ctx)
	}
	selector, err := parseSelector(a.cmd, selectorName)
	if err != nil {
		return nil, err
	}
	all, err := c.allCandidates(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(of candidate) bool { return !selector.Matches(of.labels) }), nil
}

func (c *connection) namedCandidates(ctx context.Context) ([]candidate, error) {
	keys, err := c.keys(func(name string) ([]release.Key, error) { return c.namedAnywhere(ctx, name) })
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, key := range keys {
		records, err := c.Records(ctx, key.Namespace, key.Name)
		if err == nil && len(records) == 0 {
			if _, err = c.Find(ctx, key, 0); err == nil { // says what may have been meant
				err = fmt.Errorf("release %s was being installed; try again", key)
			}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, candidate{key: key, records: records})
	}
	return all, nil
}
