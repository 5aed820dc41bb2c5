package oracle

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// installed begins a story: revision 1 is deployed and locked, as Helm left it.
func installed(s *story) {
	s.shop(1, "pending-install", configMap("one"))
	s.write(helmUser, settings, settingsAs("one"))
	s.shop(1, "deployed", configMap("one"))
	s.lock(nil, nil)
}

// TestRules has a story for each way to break a promise, and for similar but permitted behaviour.
func TestRules(t *testing.T) {
	t.Parallel()
	tests := map[string]told{
		"a revert": {func(s *story) {
			s.put(settings, settingsAs("tampered", "kubectl/Update"))
			s.write(locker, settings, settingsAs("one"))
			s.rest()
		}, ""},
		"a revert to a revision that has been replaced": {func(s *story) {
			s.shop(2, "pending-upgrade", configMap("two"))
			s.write(helmUser, settings, settingsAs("two"))
			s.shop(1, "superseded", configMap("one"))
			s.shop(2, "deployed", configMap("two"))
			s.revert("")
		}, ruleStale},
		"a revert that Helm overtakes between check and write": {func(s *story) {
			s.put(settings, settingsAs("tampered"))
			s.shop(2, "pending-upgrade", configMap("two"))
			s.write(locker, settings, settingsAs("one"))
		}, ""},
		"what a revert did is mended by the newer record at once": {func(s *story) {
			s.put(settings, settingsAs("tampered"))
			s.shop(2, "pending-upgrade", configMap("two"))
			s.write(locker, settings, settingsAs("one"))
			s.write(locker, settings, settingsAs("two"))
		}, ""},
		"a later drift is answered by a revision that was never deployed": {func(s *story) {
			s.put(settings, settingsAs("tampered"))
			s.shop(2, "pending-upgrade", configMap("two"))
			s.write(locker, settings, settingsAs("one"))
			s.shop(2, "failed", configMap("two"))
			s.put(settings, settingsAs("tampered"))
			s.write(locker, settings, settingsAs("two"))
		}, ruleStale},
		"what failed in a hook, before Helm came to the object, is deployed": {func(s *story) {
			s.put(settings, settingsAs("two"))
			s.record(stored{"apps", 2, "pending-upgrade", "apps", "", configMap("two"), "none"})
			s.write(locker, settings, settingsAs("one"))
			s.record(stored{"apps", 2, "failed", "apps", "", configMap("two"), "Failed"})
			s.write(locker, settings, settingsAs("two"))
		}, ruleStale},
		"a revert is mended by what Helm began to write after a hook": {func(s *story) {
			s.put(settings, settingsAs("two"))
			s.record(stored{"apps", 2, "pending-upgrade", "apps", "", configMap("two"), "Running"})
			s.write(locker, settings, settingsAs("one"))
			s.record(stored{"apps", 2, "failed", "apps", "", configMap("two"), "Succeeded"})
			s.write(locker, settings, settingsAs("two"))
		}, ""},
		"what was reverted long ago is taken for overtaken": {func(s *story) {
			s.put(settings, settingsAs("two"))
			s.write(locker, settings, settingsAs("one"))
			s.check()
			s.wait(2 * proofTime)
			s.shop(2, "pending-upgrade", configMap("two"))
			s.shop(2, "failed", configMap("two"))
			s.write(locker, settings, settingsAs("two"))
		}, ruleStale},
		"the mend comes too late": {func(s *story) {
			s.put(settings, settingsAs("tampered"))
			s.shop(2, "pending-upgrade", configMap("two"))
			s.write(locker, settings, settingsAs("one"))
			s.shop(2, "failed", configMap("two"))
			s.check()
			s.wait(2 * mendTime)
			s.write(locker, settings, settingsAs("two"))
		}, ruleStale},
		"an object that Helm has deleted is created again": {func(s *story) {
			s.shop(2, "pending-upgrade", "")
			s.recreate()
		}, ruleStale},
		"an object that somebody has deleted is created again": {func(s *story) {
			s.recreate()
		}, ""},
		"Helm deletes it for the same release stored elsewhere": {func(s *story) {
			s.record(stored{"flux", 2, "pending-upgrade", "apps", "", configMap("two"), ""})
			s.recreate()
		}, ""}, // a native record exists: the other one may be forged
		"the lock is on the other key, and Helm deletes natively": {func(s *story) {
			s.record(stored{"flux", 1, "deployed", "apps", "", configMap("one"), ""})
			s.shop(2, "pending-upgrade", configMap("one"))
			s.recreate()
		}, ruleStale},
		"the lock is on the other key, and Helm has deleted natively": {func(s *story) {
			s.elsewhere()
			s.shop(2, "deployed", "")
			s.recreate()
		}, ruleStale},
		"the lock is on the other key, and the release was uninstalled natively": {func(s *story) {
			s.elsewhere()
			s.shop(1, "uninstalled", configMap("one"))
			s.recreate()
		}, ""},
		"the lock is on the other key, and a creation stays that Helm began to do without": {func(s *story) {
			s.elsewhere()
			s.put("/registry/secrets/apps/sh.helm.release.v1.shop.v1", nil)
			s.put(settings, nil)
			s.shop(1, "deployed", "")
			s.write(locker, settings, settingsAs("one"))
			s.check()
			s.wait(time.Minute)
			s.check()
		}, ruleStale},
		"Helm begins to work natively for the first time, between check and creation": {func(s *story) {
			s.elsewhere()
			manifest := strings.Replace(configMap("one"), "settings", "settings, namespace: apps", 1)
			s.record(stored{"flux", 1, "deployed", "fresh", "", manifest, ""})
			s.put(settings, nil)
			s.record(stored{"fresh", 1, "pending-install", "fresh", "", manifest, ""})
			s.write(locker, settings, settingsAs("one").annotated(releaseNamespace, "fresh"))
		}, ""},
		"an object that another release has taken over is reverted": {func(s *story) {
			s.record(stored{"heirs", 1, "deployed", "heirs", "",
				strings.Replace(configMap("two"), "settings", "settings, namespace: apps", 1), ""})
			s.put(settings, settingsAs("two").annotated(releaseNamespace, "heirs"))
			s.write(locker, settings, settingsAs("one"))
		}, ruleStale},
		"an object is reverted after the other release that had taken it over is uninstalled": {func(s *story) {
			manifest := strings.Replace(configMap("two"), "settings", "settings, namespace: apps", 1)
			s.record(stored{"heirs", 1, "deployed", "heirs", "", manifest, ""})
			s.put(settings, settingsAs("two").annotated(releaseNamespace, "heirs"))
			s.record(stored{"heirs", 1, "uninstalled", "heirs", "", manifest, ""})
			s.write(locker, settings, settingsAs("one"))
		}, ""},
		"a write that is not proven": {func(s *story) {
			s.revert("")
			s.wait(time.Minute)
			s.check()
		}, ruleProof},
		"a write is proven when the API server answers again": {func(s *story) {
			s.revert("")
			s.outage(time.Minute)
			s.check()
		}, ""},
		"a write is not proven after an outage": {func(s *story) {
			s.revert("")
			s.outage(time.Minute)
			s.wait(2 * proofTime)
			s.check()
		}, ruleProof},
		"a leftover is pruned": {func(s *story) {
			s.shop(2, "deployed", "")
			s.remove(locker, settings)
		}, ""},
		"an object that only a record stored elsewhere declares, beside a native one, is taken back": {func(s *story) {
			s.record(stored{"flux", 1, "deployed", "apps", "", configMap("one"), ""})
			s.shop(2, "deployed", "")
			s.remove(locker, settings)
		}, ""},
		"an object that is declared is deleted": {func(s *story) {
			s.remove(locker, settings)
		}, ruleDeletion},
		"an object that is declared at another version is deleted": {func(s *story) {
			s.shop(2, "deployed", strings.Replace(configMap("one"), "v1", "v2", 1))
			s.put(settings, settingsAs("other"))
			s.remove(locker, settings)
		}, ruleDeletion},
		"an object to be kept is deleted": {func(s *story) {
			s.shop(2, "deployed", "")
			s.put(settings, settingsAs("one").annotated(resourcePolicy, "keep"))
			s.remove(locker, settings)
		}, ruleDeletion},
		"an object of nobody is deleted": {func(s *story) {
			s.put("/registry/configmaps/apps/other", object{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": "other", "namespace": "apps", "uid": "other"}})
			s.remove(locker, "/registry/configmaps/apps/other")
		}, ruleDeletion},
		"an object is replaced, as its HelmRelease asks": {func(s *story) {
			s.lock(map[string]any{"replaceImmutable": true}, nil)
			s.remove(locker, settings)
		}, ""},
		"an object is deleted that another's release has": {func(s *story) {
			s.shop(2, "deployed", "")
			s.put(settings, settingsAs("one").annotated(releaseName, "other"))
			s.remove(locker, settings)
		}, ruleDeletion},
		"a write without drift": {func(s *story) {
			s.write(locker, settings, settingsAs("one").annotated("mark", "ours"))
		}, ruleNoDrift},
		"managed fields without need": {func(s *story) {
			s.write(locker, settings, settingsAs("one", "helm/Update", "kubectl/Update"))
		}, ruleNoDrift},
		"a release in Detect": {func(s *story) {
			s.lock(map[string]any{"mode": "Detect"}, nil)
			s.wait(time.Minute)
			s.revert("")
		}, ruleMode},
		"writes one after another": {func(s *story) {
			s.put(settings, settingsAs("tampered"))
			for i := range loopAfter + 1 {
				s.write(locker, settings, settingsAs("one").annotated("count", strconv.Itoa(i)))
			}
		}, ruleLoop},
		"a release that was suspended a moment ago": {func(s *story) {
			s.put(settings, settingsAs("tampered"))
			s.lock(map[string]any{"suspend": true}, nil)
			s.write(locker, settings, settingsAs("one"))
		}, ""},
		"the operator owns what it reverted": {func(s *story) {
			s.put(settings, settingsAs("tampered", "kubectl/Update"))
			s.write(locker, settings, settingsAs("one", "helm-locker/Update"))
			s.rest()
		}, ruleOwnership},
		"the operator hands it over in time": {func(s *story) {
			s.put(settings, settingsAs("tampered", "kubectl/Update"))
			s.write(locker, settings, settingsAs("one", "helm-locker/Update"))
			s.write(locker, settings, settingsAs("one"))
			s.rest()
		}, ""},
		"the operator is interrupted before it hands it over": {func(s *story) {
			s.put(settings, settingsAs("tampered", "kubectl/Update"))
			s.write(locker, settings, settingsAs("one", "helm-locker/Update"))
			s.put(settings, settingsAs("tampered", "kubectl/Update"))
		}, ""},
		"the tamperer stays an owner of a release that is applied": {func(s *story) {
			s.record(stored{"apps", 1, "deployed", "apps", "ssa", configMap("one"), ""})
			s.put(settings, settingsAs("tampered", "kubectl/Update"))
			s.write(locker, settings, settingsAs("one", "helm/Apply", "kubectl/Update"))
			s.rest()
		}, ruleOwnership},
		"drift at the end": {func(s *story) {
			s.put(settings, settingsAs("tampered"))
			s.locked()
		}, ruleDrift},
		"drift at the end that the status reports": {func(s *story) {
			s.put(settings, settingsAs("tampered"))
			s.locked("Drifted")
		}, ""},
		"drift at the end that the status cannot know of, as it is about an earlier spec": {func(s *story) {
			s.put(settings, settingsAs("tampered"))
			s.locked()
			o := s.state["/registry/helm.cattle.io/helmreleases/locker/shop"]
			o.fields("metadata")["generation"] = float64(2)
			o.fields("status")["observedGeneration"] = float64(1)
		}, ""},
		"nothing drifts at the end": {func(s *story) { s.locked() }, ""},
		"an object is missing at the end": {func(s *story) {
			s.put(settings, nil)
			s.locked()
		}, ruleDrift},
		"drift at the end of a release that is suspended": {func(s *story) {
			s.put(settings, settingsAs("tampered"))
			s.locked()
			s.lock(map[string]any{"suspend": true}, nil)
			s.wait(time.Minute)
			s.check()
		}, ""},
		"the guard refuses Helm": {func(s *story) {
			s.request(helmUser, "patch", "/api/v1/namespaces/apps/configmaps/settings", 403).ResponseStatus.Message =
				`admission webhook "guard.helm-locker.cattle.io" denied the request: locked`
		}, ruleHelm},
		"another webhook refuses Helm": {func(s *story) {
			s.request(helmUser, "patch", "/api/v1/namespaces/apps/configmaps/settings", 403).ResponseStatus.Message =
				`admission webhook "policies.example.com" denied the request: no`
		}, ""},
		"a write to what no release declares": {func(s *story) {
			s.write(locker, "/registry/configmaps/apps/other", object{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": "other", "namespace": "apps"}})
		}, ruleForeign},
		"the operator's own objects": {func(s *story) {
			s.write(locker, "/registry/secrets/locker/mark", object{"apiVersion": "v1", "kind": "Secret",
				"metadata": map[string]any{"name": "mark", "namespace": "locker"}})
			s.write(locker, "/registry/helm.cattle.io/helmreleases/locker/other", object{"kind": "HelmRelease",
				"apiVersion": "helm.cattle.io/v1alpha1", "metadata": map[string]any{"name": "other", "namespace": "locker"}})
		}, ""},
		"an answer that names another's write": {func(s *story) {
			version := s.put(settings, settingsAs("tampered"))
			r := s.request(locker, "patch", "/api/v1/namespaces/apps/configmaps/settings", 200)
			r.ResponseObject = object{"metadata": map[string]any{"resourceVersion": version}}
		}, ""},
	}
	judgeStories(t, tests)
}

// told is a story, and the rule that is broken once in it; empty for none.
type told struct {
	tell func(*story)
	want string
}

// judgeStories judges stories that begin as installed does.
func judgeStories(t *testing.T, tests map[string]told) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			installed(s)
			test.tell(s)
			broken, _ := s.judged()
			if len(broken) > 1 || test.want == "" && len(broken) > 0 || test.want != "" && broken[test.want] != 1 {
				t.Errorf("broken are %v, want %q", broken, test.want)
			}
		})
	}
}

// locked gives the HelmRelease the status of a locked release, with other true conditions, and adds a minute of the
// operator's life.
func (s *story) locked(others ...string) {
	conditions := []any{map[string]any{"type": "Locked", "status": "True"}}
	for _, c := range others {
		conditions = append(conditions, map[string]any{"type": c, "status": "True"})
	}
	s.lock(nil, map[string]any{"revision": float64(1), "conditions": conditions})
	s.wait(time.Minute)
	s.check()
	s.put("/registry/configmaps/default/later", object{"kind": "ConfigMap", "apiVersion": "v1"})
}

func TestExceptionExcusesANamespace(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	installed(s)
	s.excused = []exception{{Rule: ruleDeletion, Namespace: "apps", Reason: "the test breaks it"},
		{Rule: ruleDeletion, Namespace: "elsewhere", Reason: "another one"}}
	s.remove(locker, settings)
	broken, r := s.judged()
	var out strings.Builder
	r.print(&out)
	if len(broken) > 0 || !strings.Contains(out.String(), "1 excused from I2: the test breaks it") ||
		!strings.Contains(out.String(), "1 writes judged, 0 not") {
		t.Errorf("broken are %v: %s", broken, out.String())
	}
}
