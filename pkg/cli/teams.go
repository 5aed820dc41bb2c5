package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	teams "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

// answerTime bounds the wait for the answer to a pause.
const answerTime = 15 * time.Second

// teamPause is a change of the ReleaseLocks of a user who may not read HelmReleases.
type teamPause struct {
	*action
	cluster *connection
	change  change
	user    string
}

// changeReleaseLocks pauses or resumes the releases named by the arguments by their ReleaseLocks. refused is the API
// server's answer to the list of HelmReleases; it is returned where there is no ReleaseLock for this user.
func changeReleaseLocks(ctx context.Context, a *action, ch change, refused error) error {
	if !a.cmd.Args().Present() || a.cmd.Bool("all-namespaces") {
		return refused
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	keys, err := c.keys(func(string) ([]release.Key, error) { return nil, refused })
	if err != nil {
		return err
	}
	if ch.pauses && ch.until == nil {
		return a.misused(errors.New("a pause by a ReleaseLock has an end: set --for or --until"))
	}
	if ch.pauses && a.cmd.String("reason") == "" {
		return a.misused(errors.New("a pause by a ReleaseLock has a reason: set --reason"))
	}
	t := teamPause{action: a, cluster: c, change: ch}
	if t.user, err = c.User(ctx); err != nil && ch.pauses {
		return err
	}
	return each(ctx, a, keys, func(key release.Key) error { return t.apply(ctx, key, refused) })
}

// apply changes one ReleaseLock, and prints the answer of the process for teams.
func (t teamPause) apply(ctx context.Context, key release.Key, refused error) error {
	client := t.cluster.Dynamic.Resource(teams.SchemeGroupVersion.WithResource(teams.ResourceName)).
		Namespace(key.Namespace)
	rl, err := get[teams.ReleaseLock](ctx, client, key.Name)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return command.Hinted(refused, "the platform team can give you a ReleaseLock in namespace "+key.Namespace+
			" (docs/teams.md)")
	case err != nil:
		return fmt.Errorf("get ReleaseLock %s: %w", key, err)
	}
	if t.change.resumes {
		after := &v1alpha1.HelmRelease{}
		after.Spec.Release = v1alpha1.ReleaseKey{Namespace: key.Namespace, Name: key.Name}
		after.Spec.Mode = rl.Status.Mode
		if _, err := confirmReverts(ctx, t.action, t.cluster, []*v1alpha1.HelmRelease{after}); err != nil {
			return err
		}
	}
	patch, options, err := t.patch()
	if err != nil {
		return err
	}
	if _, err := client.Patch(ctx, key.Name, types.MergePatchType, patch, options); err != nil {
		return fmt.Errorf("patch ReleaseLock %s: %w", key, err)
	}
	if t.cmd.Bool("dry-run") {
		_, err := fmt.Fprintf(t.out, "ReleaseLock %s changed (dry run)\n", key)
		return err
	}
	return t.answer(ctx, client, key)
}

// patch returns the patch of a ReleaseLock.
func (t teamPause) patch() (patch []byte, options metav1.PatchOptions, err error) {
	spec := map[string]any{"pausedUntil": nil, "reason": nil, "by": nil}
	if t.change.pauses {
		spec = map[string]any{"pausedUntil": t.change.until.Format(time.RFC3339), "reason": t.cmd.String("reason"),
			"by": t.user}
	}
	if t.cmd.Bool("dry-run") {
		options.DryRun = []string{metav1.DryRunAll}
	}
	if patch, err = json.Marshal(map[string]any{"spec": spec}); err != nil {
		return nil, options, fmt.Errorf("encode the pause: %w", err)
	}
	return patch, options, nil
}

// answer waits until a ReleaseLock has the answer to the change, and prints it.
func (t teamPause) answer(ctx context.Context, client dynamic.ResourceInterface, key release.Key) error {
	waiting, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var pause *teams.PauseStatus
	err := until(waiting, client, called(key.Name), func(event watch.EventType, rl *teams.ReleaseLock) (bool, error) {
		if event == watch.Deleted {
			return false, nil
		}
		pause = rl.Status.Pause
		return t.answered(pause), nil
	})
	switch {
	case err != nil && ctx.Err() == nil && waiting.Err() != nil:
		return command.Hinted(fmt.Errorf("ReleaseLock %s has no answer after %s", key, answerTime),
			"the process for teams may be down: the pause begins when it is back")
	case err != nil:
		return fmt.Errorf("watch ReleaseLock %s: %w", key, err)
	case pause == nil:
		_, err = fmt.Fprintf(t.out, "release %s resumed\n", key)
	case pause.Until == nil:
		return fmt.Errorf("release %s is not paused: %s", key, plain.Line(pause.Message))
	default:
		text := fmt.Sprintf("release %s is paused until %s", key, pause.Until.UTC().Format(time.RFC3339))
		if pause.Message != "" {
			text += ": " + plain.Line(pause.Message)
		}
		_, err = fmt.Fprintln(t.out, text)
	}
	return err
}

// answered reports whether the pause in a status is the answer to the change.
func (t teamPause) answered(pause *teams.PauseStatus) bool {
	if t.change.resumes {
		return pause == nil
	}
	return pause != nil && pause.Requested.Time.Equal(*t.change.until)
}
