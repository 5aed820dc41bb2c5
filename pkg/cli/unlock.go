package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
)

func unlockCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "unlock", Category: categoryChange, Usage: "have the operator let go of releases", ArgsUsage: "RELEASE...",
		Description: "Deletes the HelmReleases that name the releases. The releases and their objects stay as they are.\n\n" +
			"--all and --selector also delete the HelmReleasePolicy that lock writes with the same flags. A HelmRelease of another\n" +
			"policy is an error: that policy makes it again.",
		Flags: changeFlags(a, lockSelectFlags()...), Action: a.does(runUnlock),
	}
}

func runUnlock(ctx context.Context, a *action) error {
	store, targets, err := choose(ctx, a)
	if err != nil {
		return err
	}
	policies, err := store.takenBack(ctx)
	if err != nil {
		return err
	}
	if len(targets)+len(policies) == 0 {
		return nothingChosen(ctx, a, store)
	}
	var done []changed
	// The policies go first: they make deleted HelmReleases again.
	deleted := map[types.UID]bool{}
	failed := each(ctx, a, policies, func(p *v1alpha1.HelmReleasePolicy) error {
		if err := store.deletePolicy(ctx, p); err != nil {
			return err
		}
		deleted[p.UID] = true
		done = append(done, changed{policy: p, text: fmt.Sprintf("HelmReleasePolicy %s/%s deleted: %s", p.Namespace,
			p.Name, matchText(p.Spec.Match))})
		return nil
	})
	unlocked := each(ctx, a, targets, func(t target) error {
		if len(t.locks) == 0 {
			return notUnlocked(ctx, a, store, t)
		}
		for _, hr := range t.locks {
			if owner := v1alpha1.PolicyOf(hr); owner != nil && !deleted[owner.UID] {
				return locksAgain(a, hr, owner.Name)
			}
		}
		for _, hr := range t.locks {
			if err := store.delete(ctx, hr); err != nil {
				return err
			}
			done = append(done, changed{hr: hr, text: fmt.Sprintf("HelmRelease %s/%s deleted: release %s", hr.Namespace,
				hr.Name, t.key)})
		}
		return nil
	})
	if err := finish(ctx, a, store, done, nil); err != nil {
		return err
	}
	return cmp.Or(failed, unlocked)
}

// takenBack returns the policies that lock writes by the flags of cmd; none for names of releases.
func (h *helmReleases) takenBack(ctx context.Context) ([]*v1alpha1.HelmReleasePolicy, error) {
	if h.cluster.cmd.Args().Present() || !writesPolicies(h.cluster.cmd) {
		return nil, nil
	}
	wanted, err := policyOf(h.cluster)
	if err != nil {
		return nil, err
	}
	all, err := h.listPolicies(ctx)
	if apierrors.IsForbidden(err) {
		return nil, nil // their HelmReleases are not deleted, either
	}
	if err != nil {
		return nil, err
	}
	name := h.cluster.cmd.String("name")
	if name != "" {
		if err := missingPolicy(h.namespace, name, all); err != nil {
			return nil, err
		}
	}
	var found []*v1alpha1.HelmReleasePolicy
	for _, p := range all {
		switch same := selectsAs(p, wanted); {
		case p.Name == name && !same:
			return nil, errSelectsOthers(p)
		case same && (name == "" || p.Name == name):
			found = append(found, p)
		}
	}
	return found, nil
}

// locksAgain is the error for a HelmRelease of a policy that stays: deleting it unlocks nothing.
func locksAgain(a *action, hr *v1alpha1.HelmRelease, policy string) error {
	key := keyOf(hr)
	return command.Hinted(fmt.Errorf("release %s stays locked: HelmReleasePolicy %s makes HelmRelease %s/%s again", key, policy,
		hr.Namespace, hr.Name),
		fmt.Sprintf("exclude it in the policy: kubectl -n %s edit helmreleasepolicy %s", hr.Namespace, policy),
		fmt.Sprintf("or unlock it for a while: %s suspend %s -n %s", a.name, key.Name, key.Namespace))
}

// notUnlocked returns the error for a release without a HelmRelease, and prints a note if the release exists: it is
// unlocked already. Users without the right to read records cannot know that.
func notUnlocked(ctx context.Context, a *action, store *helmReleases, t target) error {
	reason := notLocked(a, t, store.namespace)
	if len(t.others) == 0 {
		_, err := store.cluster.Find(ctx, t.key, 0)
		if err == nil || apierrors.IsForbidden(err) && len(t.similar) == 0 {
			a.note("%v", reason)
			return nil
		}
		if len(t.similar) == 0 {
			reason = err
		}
	}
	return a.empty(ctx, store.cluster, reason, store.namespace, t.key.Namespace)
}
