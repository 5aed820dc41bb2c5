package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/release"
)

// changeFlags are the common flags of the commands that change a HelmRelease.
func changeFlags(a *action, more ...cli.Flag) []cli.Flag {
	return slices.Concat(clusterFlags(namespaceOfRelease), []cli.Flag{
		helmReleaseNamespaceFlag(),
		&cli.StringFlag{Name: "name", Category: categoryWhat,
			Usage: "`NAME` of the HelmRelease; the one that names the release without it, or a new one called like the release"},
		&cli.BoolFlag{Name: "dry-run", Category: categoryOutput,
			Usage: "have the API server check the change without storing it"},
		command.OneOf(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Category: categoryOutput,
			Usage: "print the HelmRelease as `FORMAT`: yaml, json or name"}, "yaml", "json", "name"),
		a.quietFlag(),
	}, more)
}

func lockCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "lock", Category: categoryChange, Usage: "have the operator lock releases", ArgsUsage: "RELEASE...",
		Description: "Creates a HelmRelease for each release, or changes the one that there is. What no flag names stays as it is, and a\n" +
			"second run changes nothing. A release that does not exist yet is locked when it appears;\n" +
			"one whose name or namespace seems to be misspelt is refused, unless --may-not-exist is given.\n\n" +
			"Before a lock begins to enforce, lock prints the drift that it reverts, as diff finds it, and asks. Without a terminal\n" +
			"it needs --yes: else it changes nothing, and exits with 2.\n\n" +
			"--all and --selector write a HelmReleasePolicy instead, by which the operator locks all releases that fit, now and\n" +
			"later. policy preview shows beforehand what that would do. In mode Enforce such a policy needs\n" +
			"--accept-records-of-anyone, or a serviceAccountName, unless the operator runs with --impersonate or --trust-records=Witnessed.\n\n" +
			"--ignore adds paths to spec.ignore, and --unignore takes paths back. Rules with managers or a target are left as\n" +
			"they are: kubectl edit changes those.",
		DisableSliceFlagSeparator: true,
		Flags: changeFlags(a, append(append(waitFlags(), allNamespacesFlag(),
			allowEmptyFlag(), yesFlag(),
			&cli.BoolFlag{Name: "all", Category: categoryWhat,
				Usage: "write a policy for all releases of the namespace, or of all namespaces with -A"},
			selectorFlag("write a policy for the releases")),
			command.OneOf(&cli.StringFlag{Name: "mode", Category: categoryWhat,
				Usage: "`MODE`: Enforce reverts drift, Detect only reports it"}, string(v1alpha1.ModeEnforce), string(v1alpha1.ModeDetect)),
			command.OneOf(&cli.StringFlag{Name: "scope", Category: categoryWhat,
				Usage: "`SCOPE`: Declared protects the fields of the manifest, Strict also removes what others added"}, string(v1alpha1.ScopeDeclared), string(v1alpha1.ScopeStrict)),
			command.OneOf(&cli.StringFlag{Name: "guard", Category: categoryWhat,
				Usage: "`GUARD`: Deny has the API server refuse changes, Warn has it warn about them, Observe names their users with the revert, Off does neither"},
				string(v1alpha1.GuardOff), string(v1alpha1.GuardObserve), string(v1alpha1.GuardWarn),
				string(v1alpha1.GuardDeny)),
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
		Action: a.does(runLock),
	}
}

func runLock(ctx context.Context, a *action) error {
	if err := checkPaths(a); err != nil {
		return err
	}
	if err := checkSelection(a); err != nil {
		return err
	}
	if !a.cmd.Args().Present() {
		return lockMany(ctx, a)
	}
	if a.cmd.Bool("must-exist") && a.cmd.Bool(mayNotExistName) {
		return a.misused(errors.New("--must-exist and --may-not-exist exclude each other"))
	}
	if a.cmd.Bool(acceptFlag) {
		return a.misused(fmt.Errorf("--%s is for a policy, which --all and --selector write", acceptFlag))
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	keys, err := c.keys(func(name string) ([]release.Key, error) { return c.namedAnywhere(ctx, name) })
	if err != nil {
		return err
	}
	store := c.helmReleases(a.cmd.String("helmrelease-namespace"), a.cmd.Bool("dry-run"))
	states, failed, err := statesToLock(ctx, a, store, keys)
	if err != nil {
		return err
	}
	var done []changed
	written := each(ctx, a, states, func(of lockState) error {
		var (
			hr     *v1alpha1.HelmRelease
			action string
		)
		// A read HelmRelease can be outdated when it is written: the operator writes to HelmReleases, too.
		err := retry.OnError(retry.DefaultRetry, outdated, func() (err error) {
			hr, action, err = ensureLock(ctx, store, of, a)
			return err
		})
		if err != nil {
			return err
		}
		done = append(done, changed{hr: hr, text: fmt.Sprintf("HelmRelease %s/%s %s: release %s, %s", hr.Namespace, hr.Name, action,
			of.key, of.text)})
		return nil
	})
	if err := finish(ctx, a, store, done, isLocked); err != nil {
		return err
	}
	return cmp.Or(failed, written)
}

// lockState is a release to be locked, with a description.
type lockState struct {
	key  release.Key
	text string
	// accepted is the record whose drift was confirmed; empty for none.
	accepted string
}

// lockStates returns the releases that can be locked, after a question about those with drift. An error of one of
// several releases is failed.
func statesToLock(
	ctx context.Context, a *action, store *helmReleases, keys []release.Key,
) (states []lockState, failed, err error) {
	var begun []*v1alpha1.HelmRelease
	failed = each(ctx, a, keys, func(key release.Key) error {
		text, err := releaseState(ctx, a, store.cluster, key)
		if err != nil {
			return err
		}
		before, after, err := plannedLock(ctx, store, key, a)
		if err != nil {
			return err
		}
		if before != nil {
			noteUnignored(a, before.Spec.Ignore, fmt.Sprintf("HelmRelease %s/%s", before.Namespace, before.Name))
		}
		if beginsToRevert(before, after, a.now()) {
			begun = append(begun, after)
		}
		states = append(states, lockState{key: key, text: text})
		return nil
	})
	confirmed, err := confirmReverts(ctx, a, store.cluster, begun)
	for i := range states {
		states[i].accepted = acceptedBy(confirmed, states[i].key)
	}
	return states, failed, err
}

func outdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// ensureLock creates or changes the HelmRelease of a release, and reports which. The record whose drift was confirmed
// is accepted, unless the operator enforces the records of any writer.
func ensureLock(
	ctx context.Context, store *helmReleases, of lockState, a *action,
) (*v1alpha1.HelmRelease, string, error) {
	before, after, err := plannedLock(ctx, store, of.key, a)
	if err != nil {
		return nil, "", err
	}
	if of.accepted != "" {
		all, err := store.list(ctx, trustsAny)
		if err != nil {
			return nil, "", err
		}
		if len(all) == 0 {
			after.Spec.AcceptedRecord = of.accepted
		}
	}
	if before == nil {
		created, err := store.create(ctx, after)
		return created, "created", err
	}
	spec := changedSpec(&before.Spec.Protection, &after.Spec.Protection)
	if after.Spec.AcceptedRecord != before.Spec.AcceptedRecord {
		spec["acceptedRecord"] = after.Spec.AcceptedRecord
	}
	if len(spec) == 0 {
		return before, "unchanged", nil
	}
	changed, err := store.patch(ctx, before, nil, spec)
	return changed, "changed", err
}

// plannedLock returns the HelmRelease of a release, nil for none, and the one that the flags ask for.
func plannedLock(
	ctx context.Context, store *helmReleases, key release.Key, a *action,
) (before, after *v1alpha1.HelmRelease, err error) {
	all, err := store.list(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	name := a.cmd.String("name")
	if before, err = lockOf(all, key, name); err != nil {
		return nil, nil, err
	}
	if before != nil {
		after = before.DeepCopy()
	} else {
		after = &v1alpha1.HelmRelease{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.Kind},
			ObjectMeta: metav1.ObjectMeta{Namespace: store.namespace, Name: freeName(all, key, name)},
			Spec: v1alpha1.HelmReleaseSpec{
				Release: v1alpha1.ReleaseReference{Namespace: key.Namespace, Name: key.Name},
			},
		}
	}
	setProtection(&after.Spec.Protection, a)
	after.Spec.Ignore = ignoreRules(after.Spec.Ignore, a)
	if before == nil || len(changedSpec(&before.Spec.Protection, &after.Spec.Protection)) == 0 {
		return before, after, nil
	}
	if owner := v1alpha1.PolicyOf(before); owner != nil {
		return nil, nil, command.Hinted(fmt.Errorf("HelmRelease %s/%s is made by HelmReleasePolicy %s, which would take the change back",
			before.Namespace, before.Name, owner.Name),
			"change the template of the policy, or exclude the release there and lock it by itself")
	}
	return before, after, nil
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

// changedSpec returns the fields of a spec that the flags of lock change.
func changedSpec(before, after *v1alpha1.Protection) map[string]any {
	spec := map[string]any{}
	if after.Mode != before.Mode {
		spec["mode"] = after.Mode
	}
	if after.Scope != before.Scope {
		spec["scope"] = after.Scope
	}
	if after.Guard != before.Guard {
		spec["guard"] = after.Guard
	}
	if !reflect.DeepEqual(after.Ignore, before.Ignore) {
		spec["ignore"] = after.Ignore
	}
	return spec
}
