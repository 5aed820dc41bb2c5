package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/urfave/cli/v3"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
)

const (
	unownedName = "unowned"
	exceptName  = "except"
)

// unownedFlags are the flags for objects of no release.
func unownedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: unownedName, Category: categoryWhat,
			Usage: "instead of drift: list the objects that no release, no owner reference and no controller of Kubernetes accounts for"},
		&cli.StringFlag{Name: exceptName, Category: categoryWhat, TakesFile: true,
			Usage: "with --unowned: leave out the objects in this YAML `FILE`, a list of kind, namespace, name (patterns with * and ?) and reason"},
	}
}

// exception is an entry of the file of --except. An empty pattern matches everything.
type exception struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
}

func readExceptions(file string) ([]exception, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []exception
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return nil, command.Hinted(fmt.Errorf("%s: %w", file, err),
			`it is a list, as in: - {kind: Secret, namespace: "team-*", name: "tls-*", reason: cert-manager}`)
	}
	for i, e := range all {
		for _, pattern := range []string{e.Kind, e.Namespace, e.Name} {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("%s: entry %d: pattern %q: %w", file, i+1, pattern, err)
			}
		}
		if e.Kind+e.Namespace+e.Name == "" {
			return nil, fmt.Errorf("%s: entry %d names no kind, namespace or name", file, i+1)
		}
	}
	return all, nil
}

// matches reports whether an entry leaves an object out. Its patterns are valid.
func (e exception) matches(id manifest.ID) bool {
	for pattern, value := range map[string]string{e.Kind: id.Kind, e.Namespace: id.Namespace, e.Name: id.Name} {
		if matched, err := path.Match(pattern, value); pattern != "" && (err != nil || !matched) {
			return false
		}
	}
	return true
}

// checkUnowned refuses flags that are about drift beside --unowned.
func checkUnowned(a *action) error {
	if !a.cmd.Bool(unownedName) {
		if a.cmd.IsSet(exceptName) {
			return a.misused(errors.New("--except needs --unowned"))
		}
		return nil
	}
	for _, name := range []string{selectorName, baselineName, writeBaselineName, "strict", "no-ignore"} {
		if a.cmd.IsSet(name) {
			return a.misused(fmt.Errorf("--unowned and --%s exclude each other", name))
		}
	}
	format := a.cmd.String("output")
	switch {
	case a.cmd.Args().Present():
		return a.misused(errors.New("--unowned is about namespaces, and takes no RELEASE"))
	case format != formatMarkdown && format != formatJSON:
		return a.misused(fmt.Errorf("--unowned has no output %q, but %s and %s", format, formatMarkdown,
			formatJSON))
	}
	return nil
}

// reportUnowned is report with --unowned.
func reportUnowned(ctx context.Context, a *action) error {
	exceptions, err := readExceptions(a.cmd.String(exceptName))
	if err != nil {
		return err
	}
	all, err := readContexts(ctx, a, func(a *action) (*inspect.Inventory, error) {
		c, namespace, err := reported(ctx, a)
		if err != nil {
			return nil, err
		}
		return findUnowned(ctx, a, c, namespace, exceptions)
	})
	if err != nil {
		return err
	}
	text, err := unownedText(all, a.cmd.String("output"))
	if err != nil {
		return err
	}
	if err := printReport(a, text, unownedSummary(all)); err != nil {
		return err
	}
	for _, l := range all {
		for _, failure := range failuresOf(l.read) {
			a.noteIn(l.Name, plain.Line(fmt.Sprintf("cannot list %s: %v", failure.ID.Name, failure.Err))+"\n")
		}
	}
	return exitOf(a, all)
}

// findUnowned returns the objects of no release in a namespace, or in all when it is empty, and the error for the exit
// code.
func findUnowned(
	ctx context.Context, a *action, c *connection, namespace string, exceptions []exception,
) (*inspect.Inventory, error) {
	ofReleases, unread, err := accounted(ctx, a, c)
	if err != nil {
		return nil, err
	}
	found, err := c.Unowned(ctx, namespace, func(id manifest.ID) bool {
		for _, e := range exceptions {
			if e.matches(id) {
				return true
			}
		}
		return ofReleases(id)
	})
	if err != nil {
		return nil, err
	}
	incomplete := slices.ContainsFunc(unread, func(key release.Key) bool {
		return namespace == "" || key.Namespace == namespace
	})
	switch {
	case found.Objects == 0 && len(found.Failures) == 0:
		err = a.empty(ctx, c, fmt.Errorf("there is no object%s", inNamespace(namespace)), namespace)
	case len(found.Failures) > 0 || incomplete:
		err = &command.ExitError{Code: command.ExitFailed}
	case len(found.Unowned) > 0:
		err = &command.ExitError{Code: command.ExitFound}
	}
	return found, err
}

// accounted returns a function that reports whether a release of the cluster declares an object, or creates it as a
// hook. It counts the current and the newest revision of each release. unread are the releases that cannot be read,
// whose objects seem to have no owner; they are printed.
func accounted(
	ctx context.Context, a *action, c *connection,
) (by func(manifest.ID) bool, unread []release.Key, err error) {
	all, err := c.allCandidates(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	declared, hooks := map[manifest.ID]bool{}, map[manifest.ID]bool{}
	for _, of := range all {
		ids, created, err := c.accountedBy(ctx, of)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			a.note("note: objects of release %s seem to have no owner: %v", of.key, err)
			unread = append(unread, of.key)
		}
		for _, id := range ids {
			declared[id] = true
		}
		for _, hook := range created {
			hooks[manifest.ID{Kind: hook.Kind, Namespace: of.key.Namespace, Name: hook.Name}] = true
		}
	}
	return func(id manifest.ID) bool {
		return declared[id] || hooks[manifest.ID{Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}]
	}, unread, nil
}

// accountedBy returns the objects and hooks of the current and of the newest revision of a release.
func (c *connection) accountedBy(
	ctx context.Context, of candidate,
) (ids []manifest.ID, hooks []*whole.Hook, err error) {
	if of.err != nil {
		return nil, nil, of.err
	}
	newest, _ := release.Newest(of.records)
	current, _ := inspect.Current(of.records)
	records := []release.Record{newest}
	if !current.Same(newest) {
		records = append(records, current)
	}
	for _, record := range records {
		if record.Status == release.StatusUninstalled {
			continue
		}
		details, err := c.Read(ctx, record)
		if err != nil {
			return ids, hooks, err
		}
		names, err := inspect.Names(details, c.Scope())
		if err != nil {
			return ids, hooks, err
		}
		ids = append(ids, names...)
		for i := range details.Hooks {
			hooks = append(hooks, &details.Hooks[i])
		}
	}
	return ids, hooks, nil
}
