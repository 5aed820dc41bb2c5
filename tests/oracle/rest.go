package oracle

import (
	"cmp"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// lock is a HelmRelease; its object is nil when it is deleted.
type lock struct {
	object   object
	key      releaseKey
	account  string
	enforced bool
	until    time.Time // when it was enforced last, if it is not any more
	changed  time.Time // when its account became another one
	unasked  bool      // a policy that accepts no records of anyone has it enforced with the operator's rights
}

// see takes in an event of a HelmRelease or a policy.
func (j *judge) see(e *Event) {
	old, o := cmp.Or(j.locks[e.Key], &lock{}), e.Value
	if strings.HasPrefix(e.Key, policies) && o.at("spec", "acceptRecordsOfAnyone") == true {
		j.accepted[e.Key] = farAway
	} else if e.At.Before(j.accepted[e.Key]) {
		j.accepted[e.Key] = e.At
	}
	if !strings.HasPrefix(e.Key, "/registry/helm.cattle.io/helmreleases/") {
		return
	}
	now := &lock{object: o, key: releaseKey{o.text("spec", "release", "namespace"), o.text("spec", "release", "name")},
		account: o.text("spec", "serviceAccountName"), until: old.until, changed: old.changed,
		enforced: o != nil && o.text("spec", "mode") != "Detect" && o.at("spec", "suspend") != true}
	if old.enforced && !now.enforced {
		now.until = e.At
	}
	now.key = cmp.Or(now.key, old.key)
	if old.object != nil && (o == nil || now.account != old.account) {
		now.changed = e.At
	}
	by := o.text("metadata", "labels", "helmreleases.cattle.io/policy")
	if own := func(l *lock) bool { return l.enforced && l.account == "" }; own(old) {
		now.unasked = old.unasked && own(now)
	} else if own(now) && by != "" && j.objects[e.Key].ours() {
		now.unasked = e.At.Sub(j.accepted[policies+o.text("metadata", "namespace")+"/"+by]) > modeTime
	}
	if trust := o.text("status", "trust", "state"); trust != "" && trust != "Any" {
		now.unasked = false // the operator enforces trusted records only
	}
	j.locks[e.Key] = now
}

// condition returns the status of a condition.
func (l *lock) condition(kind string) string {
	for _, item := range l.object.items("status", "conditions") {
		if c := object(as[map[string]any](item)); c["type"] == kind {
			return c.text("status")
		}
	}
	return ""
}

// rested judges field ownership when an operator's last word on an object has lasted.
func (j *judge) rested(l *live, until time.Time) {
	if !l.ours() || l.record == nil {
		return
	}
	until = slices.MinFunc([]time.Time{until, j.alive[l.author.operator()]}, time.Time.Compare)
	declared, lasted := l.record.declares(l.id), until.Sub(l.event.At).Round(time.Second)
	if until.Before(j.limit(l.event.At, restTime)) || declared == nil || !sameVersion(declared, l.value()) {
		return
	}
	only := l.reverted
	if l.created {
		only = nil
	}
	j.report.note("field ownership judged after a write")
	if wrong := unlikeHelm(candidate{l.record, declared}, l.value(), only); len(wrong) > 0 {
		j.report.fail(ruleOwnership, l.id, "field ownership is unlike Helm's for %s after %s: %s", lasted, l.author,
			strings.Join(wrong[:min(5, len(wrong))], ", "))
	}
}

// due judges the debts of operators at a time.
func (j *judge) due(now time.Time) {
	for key, d := range j.debts {
		end := j.limit(d.author.Done, proofTime)
		if now.Before(end) {
			continue
		}
		delete(j.debts, key)
		o, wanted := j.objects[key], j.declaredNow(d.of.id)
		switch {
		case j.alive[d.author.operator()].Before(end):
		case d.deleted && o == nil && wanted:
			j.report.fail(ruleDeletion, d.of.id, "a release that came to declare it did not get it back after %s", d.author)
		case !d.deleted && o != nil && !wanted && o.value().uid() == d.of.value().uid():
			j.report.fail(ruleStale, d.of.id, "Helm had deleted it, and it was not taken back after %s", d.author)
		}
	}
}

// ends judges the operators that made their last request before a time.
func (j *judge) ends(before time.Time) {
	for len(j.ending) > 0 && j.alive[j.ending[0]].Before(before) {
		for _, l := range j.locks {
			if l.object.text("metadata", "namespace") == j.ending[0] {
				j.settled(l, j.alive[j.ending[0]])
			}
		}
		j.ending = j.ending[1:]
	}
}

// settled judges whether the objects of a release without reported drift equal its manifest.
func (j *judge) settled(l *lock, at time.Time) {
	var m moment
	for _, m = range j.releases.within(l.key, math.MaxInt64, math.MaxInt64) {
	}
	newest := m.newest
	if !l.enforced || at.Sub(m.at) < restTime || l.condition("Locked") != "True" || l.condition("Drifted") == "True" ||
		l.object.at("metadata", "generation") != l.object.at("status", "observedGeneration") || newest == nil ||
		newest.status != "deployed" || l.object.at("status", "revision") != float64(newest.version) {
		return
	}
	if l.object.at("spec", "ignore") != nil || l.object.items("status", "exceptions") != nil {
		j.report.note("not judged at the end: the HelmRelease has exceptions")
		return
	}
	for _, declared := range newest.objects {
		id, o := declared.identity(), (*live)(nil)
		for _, other := range j.objects {
			if other.id.nameless() == id.nameless() && newest.declares(other.id) != nil {
				o = other
			}
		}
		j.report.settled++
		if o == nil && id.kind != "Job" && id.kind != "Pod" {
			j.report.fail(ruleDrift, id, "it is missing at the end, and %s is Locked and not Drifted", l.key)
		}
		if o == nil || !sameVersion(declared, o.value()) || at.Sub(o.event.At) < restTime {
			continue
		}
		for path, leaf := range j.changed(nil, o, candidate{newest, declared}) {
			j.report.fail(ruleDrift, o.id, "%s is %s at the end, and %s, which is Locked and not Drifted, declares %s", path,
				show(o, leaf.live), newest, show(o, leaf.declared))
		}
	}
}

// request judges a request by itself.
func (j *judge) request(r *Request) {
	j.add(r)
	id := identity{kind: r.ObjectRef.Resource, namespace: r.ObjectRef.Namespace, name: r.ObjectRef.Name}
	if message := r.ResponseStatus.Message; r.helms() && r.ResponseStatus.Code == 403 &&
		strings.Contains(message, "admission webhook") && strings.Contains(message, guardWebhook) {
		j.report.fail(ruleHelm, id, "the guard refused Helm: %s: %s", r, message)
	}
	if !r.ours() || r.Stage != "ResponseComplete" {
		return
	}
	j.report.requests++
	if r.Verb == "deletecollection" {
		j.report.fail(ruleDeletion, id, "a whole collection was deleted: %s", r)
	}
	if !plain(r.RequestURI) {
		j.report.fail(rulePath, id, "neither a plain resource, nor discovery, nor health: %s", r)
	}
	if !ofOne(r) {
		j.report.fail(ruleSelector, id, "it asks for more than the records of a release: %s", r)
	}
}

// goodPath matches the paths allowed to an operator: health, discovery, and resources. Subresources are the status of
// our own kinds, and those that alone write a declared field. No segment is more than a name.
var goodPath = regexp.MustCompile(`^(?:/(?:version|healthz|livez|readyz|openapi/v[23](?:/[\w./-]+)?)` +
	`|/(?:api|apis)|/api/v1|/apis/[\w.-]+(?:/\w+)?` +
	`|/(?:api/v1|apis/[\w.-]+/\w+)(?:/namespaces/\w[\w.-]*)?/[a-z0-9-]+(?:/[\w.:-]*\w)?` +
	`|/api/v1/namespaces/\w[\w.-]*/(?:finalize|pods/\w[\w.-]*/resize)` +
	`|/apis/(?:teams\.)?helm\.cattle\.io/\w+/namespaces/\w[\w.-]*/\w+/\w[\w.-]*/status)/?$`)

// plain reports whether an operator may ask for a path.
func plain(uri string) bool {
	path, _, _ := strings.Cut(uri, "?")
	_, rest, _ := strings.Cut(path, "/v1/")
	return goodPath.MatchString(path) && !strings.HasPrefix(rest, "proxy/") && !strings.HasPrefix(rest, "watch/")
}

// ofOne reports whether a selector of records names one release at most, without an injected part.
func ofOne(r *Request) bool {
	u, err := url.ParseRequestURI(r.RequestURI)
	if err != nil || r.ObjectRef.Resource != "secrets" && r.ObjectRef.Resource != "configmaps" {
		return true
	}
	selector := "," + u.Query().Get("labelSelector")
	names := strings.Count(selector, ",name=")
	return names == 0 || names == 1 && !strings.Contains(selector, ",status=")
}

// asked reports whether a HelmRelease requested the objects of a revision, now or a moment ago.
func (j *judge) asked(c candidate, at time.Time) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(j.locks)), func(l *lock) bool {
		return l.key == c.record.key && (l.enforced || at.Sub(l.until) < modeTime)
	})
}

// rights judges the identity of an operator's write: the account named by a HelmRelease, and its own only where a
// user's HelmRelease, or the acceptance of a policy, asks for that. The API server judges an account.
func (j *judge) rights(r *Request, id identity) {
	as := r.ImpersonatedUser.Username
	own := as == "" && !slices.ContainsFunc(j.report.exceptions, func(n exception) bool {
		return n.Impersonates == r.operator() && n.Impersonates != ""
	})
	keys := j.releases.of(id)
	for _, l := range j.locks {
		account := accountPrefix + l.key.namespace + ":" + cmp.Or(l.account, as[strings.LastIndex(as, ":")+1:])
		if slices.Contains(keys, l.key) && (r.Received.Sub(l.changed) < modeTime || l.object != nil &&
			(as == account || own && l.account == "" && !l.unasked)) {
			return
		}
	}
	if len(keys) > 0 {
		j.report.fail(ruleRights, id, "no HelmRelease asks for the rights of %q: %s", as, r)
	}
}
