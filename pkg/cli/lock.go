package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/release"
)

// changeFlags are the common flags of the commands that change a HelmRelease.
func changeFlags(more ...cli.Flag) []cli.Flag {
	return slices.Concat(clusterFlags(namespaceOfRelease), []cli.Flag{
		helmReleaseNamespaceFlag(),
		&cli.StringFlag{Name: "name", Category: categoryWhat,
			Usage: "`NAME` of the HelmRelease; the one that names the release without it, or a new one called like the release"},
		&cli.BoolFlag{Name: "dry-run", Category: categoryOutput,
			Usage: "have the API server check the change without storing it"},
		command.OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Category: categoryOutput,
			Usage: "print the HelmRelease as `FORMAT`: yaml, json or name"}, "yaml", "json", "name"),
	}, more)
}

func waitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "wait", Category: categoryWhat,
			Usage: "wait until the operator has done it, and print what it is waiting for"},
		&cli.DurationFlag{Name: "timeout", Value: 2 * time.Minute, Category: categoryWhat,
			Usage: "how long --wait waits; 0 for ever"},
	}
}

func (a *app) lockCommand() *cli.Command {
	return &cli.Command{
		Name: "lock", Category: categoryChange, Usage: "have the operator lock releases", ArgsUsage: "RELEASE...",
		Description: "Creates a HelmRelease for each release, or changes the one that there is. What no flag names stays as it is, and a\n" +
			"second run changes nothing. A release that does not exist yet is locked when it appears;\n" +
			"one whose name or namespace seems to be misspelt is refused, unless --may-not-exist is given.\n\n" +
			"--all and --selector write a HelmReleasePolicy instead, by which the operator locks all releases that fit, now and\n" +
			"later. policy preview shows beforehand what that would do. In mode Enforce such a policy needs\n" +
			"--accept-records-of-anyone, or a serviceAccountName, unless the operator runs with --impersonate.\n\n" +
			"--ignore adds paths to spec.ignore, and --unignore takes paths back. Rules with managers or a target are left as\n" +
			"they are: kubectl edit changes those.",
		DisableSliceFlagSeparator: true,
		Flags: changeFlags(append(append(waitFlags(), allNamespacesFlag(),
			allowEmptyFlag(),
			&cli.BoolFlag{Name: "all", Category: categoryWhat,
				Usage: "write a policy for all releases of the namespace, or of all namespaces with -A"},
			selectorFlag("write a policy for the releases whose labels, which helm install --labels sets, match `SELECTOR`, such as team=web,tier!=db")),
			command.OneOf(&cli.StringFlag{Name: "mode", Category: categoryWhat,
				Usage: "`MODE`: Enforce reverts drift, Detect only reports it"}, string(v1alpha1.ModeEnforce), string(v1alpha1.ModeDetect)),
			command.OneOf(&cli.StringFlag{Name: "scope", Category: categoryWhat,
				Usage: "`SCOPE`: Declared protects the fields of the manifest, Strict also removes what others added"}, string(v1alpha1.ScopeDeclared), string(v1alpha1.ScopeStrict)),
			command.OneOf(&cli.StringFlag{Name: "guard", Category: categoryWhat,
				Usage: "`GUARD`: Deny has the API server refuse changes, Warn has it warn about them, Off does neither"},
				string(v1alpha1.GuardOff), string(v1alpha1.GuardWarn), string(v1alpha1.GuardDeny)),
			&cli.StringSliceFlag{Name: "ignore", Category: categoryWhat,
				Usage: "leave the fields at `PATH` alone, a JSON pointer such as /spec/replicas, with * for any one segment; added to spec.ignore; may be repeated"},
			&cli.StringSliceFlag{Name: "unignore", Category: categoryWhat,
				Usage: "protect the fields at `PATH` again, which --ignore left alone; may be repeated"},
			&cli.BoolFlag{Name: acceptFlag, Category: categoryWhat,
				Usage: "with --all or --selector, accept that all who may write a release record there decide what the operator writes with its own rights"},
			&cli.BoolFlag{Name: "must-exist", Category: categoryWhat,
				Usage: "fail when the release does not exist yet"},
			&cli.BoolFlag{Name: mayNotExistName, Category: categoryWhat,
				Usage: "accept a release that does not exist yet, or a path of --ignore that is no field, though it looks like a misspelt one"})...),
		Action: a.lock,
	}
}

func (a *app) lock(ctx context.Context, cmd *cli.Command) error {
	if err := checkPaths(ctx, cmd); err != nil {
		return err
	}
	if err := checkSelection(ctx, cmd); err != nil {
		return err
	}
	if !cmd.Args().Present() {
		return a.lockMany(ctx, cmd)
	}
	if cmd.Bool("must-exist") && cmd.Bool(mayNotExistName) {
		return command.UsageError(ctx, cmd, errors.New("--must-exist and --may-not-exist exclude each other"), true)
	}
	if cmd.Bool(acceptFlag) {
		return command.UsageError(ctx, cmd, fmt.Errorf("--%s is for a policy, which --all and --selector write", acceptFlag), true)
	}
	c, err := a.connect(ctx, cmd)
	if err != nil {
		return err
	}
	keys, err := c.keys(cmd, func(name string) ([]release.Key, error) { return c.called(ctx, name) })
	if err != nil {
		return err
	}
	store := c.helmReleases(cmd.String("helmrelease-namespace"), cmd.Bool("dry-run"))
	var done []changed
	failed := each(ctx, a, keys, func(key release.Key) error {
		state, err := a.releaseState(ctx, cmd, c, key)
		if err != nil {
			return err
		}
		var (
			hr     *v1alpha1.HelmRelease
			action string
		)
		// A read HelmRelease can be outdated when it is written: the operator writes to HelmReleases, too.
		err = retry.OnError(retry.DefaultRetry, outdated, func() (err error) {
			hr, action, err = a.ensureLock(ctx, store, key, cmd)
			return err
		})
		if err != nil {
			return err
		}
		done = append(done, changed{hr, fmt.Sprintf("HelmRelease %s/%s %s: release %s, %s", hr.Namespace, hr.Name, action,
			key, state)})
		return nil
	})
	if err := a.finish(ctx, cmd, store, done, isLocked); err != nil {
		return err
	}
	return failed
}

func outdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// ensureLock creates or changes the HelmRelease of a release, and reports which.
func (a *app) ensureLock(
	ctx context.Context, store *helmReleases, key release.Key, cmd *cli.Command,
) (*v1alpha1.HelmRelease, string, error) {
	all, err := store.list(ctx, nil)
	if err != nil {
		return nil, "", err
	}
	name := cmd.String("name")
	switch hr, err := lockOf(all, key, name); {
	case err != nil:
		return nil, "", err
	case hr != nil:
		return a.changeLock(ctx, store, hr, cmd)
	}
	hr := &v1alpha1.HelmRelease{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: store.namespace, Name: freeName(all, key, name)},
		Spec: v1alpha1.HelmReleaseSpec{
			Release: v1alpha1.ReleaseReference{Namespace: key.Namespace, Name: key.Name},
			Protection: v1alpha1.Protection{
				Mode: v1alpha1.Mode(cmd.String("mode")), Scope: v1alpha1.Scope(cmd.String("scope")),
				Guard: v1alpha1.Guard(cmd.String("guard")),
			},
		},
	}
	if paths := cmd.StringSlice("ignore"); len(paths) > 0 {
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: paths}}
	}
	created, err := store.create(ctx, hr)
	return created, "created", err
}

// lockOf returns the HelmRelease of a release, that of the name if one is given; nil when one can be created.
func lockOf(all []*v1alpha1.HelmRelease, key release.Key, name string) (*v1alpha1.HelmRelease, error) {
	var other *v1alpha1.HelmRelease
	for _, hr := range all {
		switch {
		case keyOf(hr) == key && (name == "" || hr.Name == name):
			return hr, nil
		case hr.Name == name:
			return nil, command.Hinted(fmt.Errorf("HelmRelease %s/%s is for release %s, and that cannot be changed",
				hr.Namespace, hr.Name, keyOf(hr)),
				"choose another --name, or leave it out")
		case keyOf(hr) == key:
			other = hr // the one of the name may come yet
		}
	}
	if other != nil {
		return nil, command.Hinted(fmt.Errorf("release %s has a HelmRelease already: %s/%s", key, other.Namespace, other.Name),
			"leave --name out to change that one")
	}
	return nil, nil
}

// freeName returns a name for a new HelmRelease: the release's, or with its namespace before it if that one is taken.
func freeName(all []*v1alpha1.HelmRelease, key release.Key, name string) string {
	if name != "" {
		return name
	}
	if slices.ContainsFunc(all, func(hr *v1alpha1.HelmRelease) bool { return hr.Name == key.Name }) {
		return key.Namespace + "-" + key.Name
	}
	return key.Name
}

// changeLock sets the values of the flags in a HelmRelease.
func (a *app) changeLock(
	ctx context.Context, store *helmReleases, hr *v1alpha1.HelmRelease, cmd *cli.Command,
) (*v1alpha1.HelmRelease, string, error) {
	spec := map[string]any{}
	if mode := cmd.String("mode"); mode != "" && mode != string(hr.Spec.Mode) {
		spec["mode"] = mode
	}
	if scope := cmd.String("scope"); scope != "" && scope != string(hr.Spec.Scope) {
		spec["scope"] = scope
	}
	if guard := cmd.String("guard"); guard != "" && guard != string(hr.Spec.Guard) {
		spec["guard"] = guard
	}
	ignore := a.ignoreRules(hr.Spec.Ignore, fmt.Sprintf("HelmRelease %s/%s", hr.Namespace, hr.Name), cmd)
	if !reflect.DeepEqual(ignore, hr.Spec.Ignore) {
		spec["ignore"] = ignore
	}
	if len(spec) == 0 {
		return hr, "unchanged", nil
	}
	if owner := v1alpha1.PolicyOf(hr); owner != nil {
		return nil, "", command.Hinted(fmt.Errorf("HelmRelease %s/%s is made by HelmReleasePolicy %s, which would take the change back",
			hr.Namespace, hr.Name, owner.Name),
			"change the template of the policy, or exclude the release there and lock it by itself")
	}
	changed, err := store.patch(ctx, hr, nil, spec)
	return changed, "changed", err
}
