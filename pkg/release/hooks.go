package release

import (
	"encoding/json"

	helmrelease "helm.sh/helm/v3/pkg/release"
)

// firstHooks is what locking needs of the hooks of a release: of those that Helm runs before it touches objects.
type firstHooks struct {
	// stopped is set when one of them began and is not known to have succeeded.
	stopped bool
	// ahead are the statuses during which one runs that has not begun.
	ahead map[Status]bool
}

// maxHooksText bounds the text of the hooks that is looked at. Hooks that have more say nothing.
const maxHooksText = 512 << 10

// UnmarshalJSON takes any value: what Helm could not read either says nothing.
func (f *firstHooks) UnmarshalJSON(text []byte) error {
	var hooks []struct {
		Events  []helmrelease.HookEvent   `json:"events"`
		LastRun helmrelease.HookExecution `json:"last_run"`
	}
	if len(text) > maxHooksText || json.Unmarshal(text, &hooks) != nil {
		return nil //nolint:nilerr // see above
	}
	f.ahead = map[Status]bool{}
	for _, hook := range hooks {
		for _, event := range hook.Events {
			status, first := firstIn[event]
			switch phase := hook.LastRun.Phase; {
			case !first || phase == helmrelease.HookPhaseSucceeded:
			case phase == "":
				f.ahead[status] = true
			default:
				f.stopped = true
			}
		}
	}
	return nil
}

// firstIn has the events before Helm touches objects, with the status of the release then.
var firstIn = map[helmrelease.HookEvent]Status{
	helmrelease.HookPreInstall:  StatusPendingInstall,
	helmrelease.HookPreUpgrade:  StatusPendingUpgrade,
	helmrelease.HookPreRollback: StatusPendingRollback,
}

// stand reports whether hooks stand between Helm and the objects of a revision with a status. While Helm works its
// record does not show that the last one has succeeded.
func (f firstHooks) stand(status Status) bool { return f.stopped || f.ahead[status] }
