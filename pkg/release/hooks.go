package release

import (
	"encoding/json"

	helmrelease "helm.sh/helm/v3/pkg/release"
)

// firstHooks is the state of a release's hooks that run before Helm touches objects, for locking.
type firstHooks struct {
	// stopped is set when a hook began and is not known to have succeeded.
	stopped bool
	// ahead are the statuses with a hook that has not begun.
	ahead map[Status]bool
	names Hooks
}

// Hooks are the names of the hooks of a revision. The zero value has none.
type Hooks struct {
	unread bool
	names  map[hookName]struct{}
}

// hookName is Helm's name of a hook; only its manifest has the API group and the namespace.
type hookName struct{ kind, name string }

// Has reports whether the revision may have a hook of a kind and name, in whichever API group and namespace.
func (h Hooks) Has(kind, name string) bool {
	_, found := h.names[hookName{kind, name}]
	return found || h.unread
}

// maxHooksText bounds the text of the hooks. Longer hooks are not read.
const maxHooksText = 512 << 10

// UnmarshalJSON accepts any value: one that Helm could not read is ignored.
func (f *firstHooks) UnmarshalJSON(text []byte) error {
	var hooks []struct {
		Kind    string                    `json:"kind"`
		Name    string                    `json:"name"`
		Events  []helmrelease.HookEvent   `json:"events"`
		LastRun helmrelease.HookExecution `json:"last_run"`
	}
	if len(text) > maxHooksText || json.Unmarshal(text, &hooks) != nil {
		f.names.unread = true
		return nil //nolint:nilerr // see above
	}
	f.ahead, f.names.names = map[Status]bool{}, make(map[hookName]struct{}, len(hooks))
	for _, hook := range hooks {
		f.names.names[hookName{hook.Kind, hook.Name}] = struct{}{}
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

// stand reports whether Helm has hooks to run before it reaches the objects of a revision in a status. While Helm
// works, its record does not show whether the last hook has succeeded.
func (f firstHooks) stand(status Status) bool { return f.stopped || f.ahead[status] }
