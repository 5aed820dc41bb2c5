package period

import (
	"strings"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// shared has each list of texts once: the changes of a quarter name the same objects, fields and managers.
type shared map[string][]string

func (s shared) list(all []string) []string {
	if len(all) == 0 {
		return nil
	}
	key := strings.Join(all, "\x00")
	if known, ok := s[key]; ok {
		return known
	}
	s[key] = all
	return all
}

func (s shared) text(one string) string {
	if one == "" {
		return ""
	}
	return s.list([]string{one})[0]
}

func (s shared) change(at time.Time, r *v1alpha1.DriftRecord) Change {
	c := Change{Time: at, Action: s.text(string(r.Action)), Object: s.text(r.Object.String()),
		Operation: s.text(string(r.Operation)), Paths: s.list(r.Paths), MorePaths: r.MorePaths,
		Manager: s.text(r.FieldManager), Subresource: s.text(r.Subresource), User: s.text(r.User),
		Groups: s.list(r.UserGroups), PossibleUsers: s.list(r.PossibleUsers), Count: r.Count}
	if r.ChangeTime != nil {
		changed := r.ChangeTime.UTC()
		c.Changed = &changed
	}
	if r.Duration != nil {
		c.Lived, c.Since = s.text(r.Duration.Duration.String()), s.text(string(r.Since))
	}
	return c
}
