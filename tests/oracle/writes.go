package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// write judges one write of an operator: a creation if there was nothing before.
func (j *judge) write(before, after *live) {
	r, id := after.author, after.id
	if after.value().bookkeeping(r) {
		return
	}
	if r.Verb == "delete" { // it waits for finalizers
		if before != nil {
			j.deletion(before, after.event.Revision, r)
		}
		return
	}
	j.report.judged++
	j.proven(after)
	j.rights(r, id)
	base, from := cmp.Or(before, j.gone[after.event.Key]), int64(0)
	if base != nil {
		from = base.event.Revision
	}
	after.created = before == nil
	if before != nil && before.ours() {
		after.created, after.record, after.writes = before.created, before.record, before.writes+1
		maps.Copy(after.reverted, before.reverted)
	}
	if after.writes == loopAfter {
		j.report.fail(ruleLoop, id, "it was written %d times with nobody writing between: %s", loopAfter, r)
	}
	candidates := j.candidates(cmp.Or(before, after).value(), from, after.event.Revision-1)
	asked := slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return !j.asked(c, after.event.At) })
	switch {
	case before != nil && sameContent(before.value(), after.value()):
		j.ownership(before, after, candidates)
	case len(asked) > 0 && j.value(before, after, asked):
	case j.mends(base, after, from):
		j.report.note("mended by what a newer record declares")
	case len(asked) > 0: // value reported it
	case len(candidates) > 0 && candidates[0].record.claims(after.value()):
		j.report.fail(ruleMode, id, "no HelmRelease had its release enforced: %s", r)
	case len(j.releases.of(id)) == 0:
		j.report.fail(ruleForeign, id, "no release ever declared it: %s", r)
	default:
		j.report.fail(ruleStale, id, "no revision that declares it was deployed, and free of another one's work, when it "+
			"was written: %s%s", r, j.tell(id, from, after.event.Revision))
	}
	if before == nil && !j.declaredNow(id) && id.kind != "PersistentVolumeClaim" && id.kind != "Namespace" {
		j.debts[after.event.Key] = debt{after, r, false}
	}
}

// ownership judges a write of managed fields alone. It may repair an operator's own write, or somebody's.
func (j *judge) ownership(before, after *live, candidates []candidate) {
	if again(before, after) {
		j.report.note("field ownership put right by a second request")
	} else if slices.ContainsFunc(candidates, func(c candidate) bool { return asHelmLeft(before, c) }) {
		j.report.fail(ruleNoDrift, after.id, "only managed fields were written, as Helm had left them: %s", after.author)
	}
}

// asHelmLeft reports whether an object is as Helm left it, and as a revision declares it: it has not drifted.
func asHelmLeft(l *live, c candidate) bool {
	return l.helm != nil && sameContent(l.value(), l.helm) && len(differing(c.declared, l.value())) == 0 &&
		len(unlikeHelm(c, l.value(), nil)) == 0
}

// value judges a write by its candidate revisions. It returns false if none of them declares the result.
func (j *judge) value(before, after *live, candidates []candidate) bool {
	best := slices.MinFunc(candidates, func(a, b candidate) int {
		return cmp.Compare(len(j.changed(before, after, a)), len(j.changed(before, after, b)))
	})
	wrong := j.changed(before, after, best)
	if !sameVersion(best.declared, after.value()) || after.author.mutated() {
		j.report.unjudged++
		j.report.note("not judged: stored at another version than the manifest's, or changed by a webhook")
		return true
	}
	if len(wrong) > 0 && j.mends(cmp.Or(before, j.gone[after.event.Key]), after, 0) {
		return false
	}
	for _, path := range slices.Sorted(maps.Keys(wrong)) {
		j.report.fail(ruleStale, after.id, "%s became %s, but %s declares %s: %s", path, show(after, wrong[path].live),
			best.record, show(after, wrong[path].declared), after.author)
	}
	after.record = best.record
	if before == nil || len(wrong) > 0 {
		return len(wrong) == 0
	}
	for path := range differing(best.declared, before.value()) {
		after.reverted[path] = true
	}
	if asHelmLeft(before, best) {
		j.report.fail(ruleNoDrift, after.id, "nobody had changed what %s declares: %s", best.record, after.author)
	}
	return true
}

// changed returns the declared values that a write changed to another value than Helm's.
func (j *judge) changed(before, after *live, c candidate) map[string]leaf {
	wrong := differing(c.declared, after.value())
	earlier := []object{cmp.Or(before, j.gone[after.event.Key], after).helm} // the API server's form of it
	if before != nil {
		earlier = append(earlier, before.value())
	}
	for _, o := range earlier {
		for path, l := range differing(c.declared, o) {
			if o != nil && fmt.Sprint(l.live) == fmt.Sprint(wrong[path].live) {
				delete(wrong, path)
			}
		}
	}
	if j.scaled(after.id) {
		delete(wrong, "/spec/replicas")
	}
	return wrong
}

// scaled reports whether an autoscaler is in charge of the number of an object's replicas.
func (j *judge) scaled(id identity) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(j.objects)), func(o *live) bool {
		target := object(o.value().fields("spec", "scaleTargetRef"))
		return o.id.kind == "HorizontalPodAutoscaler" && o.id.namespace == id.namespace &&
			target.text("kind") == id.kind && target.text("name") == id.name
	})
}

// unlikeHelm returns the declared paths, of some or of all for nil, whose owners differ from those after Helm's own
// apply: with server-side apply its manager alone, otherwise its manager beside others, but no operator.
func unlikeHelm(c candidate, o object, only map[string]bool) (wrong []string) {
	manager := o.helmsManager()
	leaves(c.declared, o, func(l leaf) {
		if only != nil && !only[l.path] || !same(l.declared, l.live) || l.live == nil {
			return
		}
		if key, ok := strings.CutPrefix(l.path, "/data/"); ok && c.record.ssa && c.declared.fields("stringData")[key] != nil {
			l.owners = below(below(o.branches(), "f:stringData", nil), "f:"+key, nil) // Helm applies it as such
		}
		lacking, others := " (not owned by "+manager+")", ""
		for _, w := range l.owners {
			if w.manager == manager && (!c.record.ssa || w.operation == "Apply") {
				lacking = ""
			} else if c.record.ssa || strings.HasPrefix(w.manager, "helm-locker") {
				others = " (owned by " + w.manager + "/" + w.operation + ")"
			}
		}
		if fault := cmp.Or(others, lacking); fault != "" {
			wrong = append(wrong, l.path+fault)
		}
	})
	return wrong
}

// again reports whether a write follows one of an operator's at once, without another one in between.
func again(before, after *live) bool {
	return before.ours() && after.event.At.Sub(before.event.At) <= mendTime
}

// overtaken reports whether Helm had begun its next work when a write was applied, or before the write's proof.
func (j *judge) overtaken(l *live) bool {
	return slices.ContainsFunc(j.releases.of(l.id), func(key releaseKey) bool {
		return slices.ContainsFunc(j.releases.within(key, l.event.Revision, math.MaxInt64), func(m moment) bool {
			return m.newest != nil && m.at.Before(l.event.At.Add(proofTime)) &&
				(m.newest.status != "deployed" || l.record != nil && l.record != m.newest)
		})
	})
}

// mends reports whether a write corrects an operator's earlier one that Helm has superseded: the object becomes as
// declared by a newer record, deployed or not. It follows at once, without another write in between.
func (j *judge) mends(base, after *live, from int64) bool {
	if base == nil || !again(base, after) || !j.overtaken(base) {
		return false
	}
	return slices.ContainsFunc(j.releases.of(after.id), func(key releaseKey) bool {
		return slices.ContainsFunc(j.releases.within(key, from, after.event.Revision-1), func(m moment) bool {
			return m.wants(after.id) && !m.newest.before && len(j.changed(j.objects[after.event.Key], after,
				candidate{m.newest, m.newest.declares(after.id)})) == 0
		})
	})
}

// proven judges whether the record was read again after a write.
func (j *judge) proven(after *live) {
	r, keys := after.author, j.releases.of(after.id)
	end := j.limit(r.Done, proofTime)
	if read := slices.ContainsFunc(j.reads[r.operator()], func(a *Request) bool {
		// A fence in the operator's own namespace, observed by a watch of all records, proves as much as a list.
		of := func(key releaseKey) bool { return a.wrote() || a.ObjectRef.Namespace == key.namespace }
		return !a.Received.Before(r.Done) && a.Received.Before(end) && slices.ContainsFunc(keys, of)
	}); !read && j.alive[r.operator()].Before(end) {
		j.report.note("not proven before the operator's end")
	} else if !read {
		j.report.fail(ruleProof, after.id, "no record was read within %s after %s", proofTime, r)
	}
}

// deletion judges one deletion of an operator's.
func (j *judge) deletion(before *live, at int64, r *Request) {
	o, id := before.value(), before.id
	j.report.judged++
	j.rights(r, id)
	declaring, ever, claimed := j.declaring(o, before.event.Revision, at)
	for _, l := range j.locks {
		if slices.Contains(j.releases.of(id), l.key) && l.object.at("spec", "replaceImmutable") == true {
			j.report.note("deleted to be created anew (spec.replaceImmutable)")
			return
		}
	}
	switch {
	case o.annotation(resourcePolicy) == "keep" || ever.annotation(resourcePolicy) == "keep":
		j.report.fail(ruleDeletion, id, "it was to be kept: %s", r)
	case declaring != "":
		j.report.fail(ruleDeletion, id, "%s declared it all the time: %s", declaring, r)
	case ever == nil:
		j.report.fail(ruleDeletion, id, "no record ever declared it: %s", r)
	case !claimed && !before.created:
		j.report.fail(ruleDeletion, id, "it did not say that it is of the release that declared it: %s", r)
	case j.declaredNow(id):
		j.debts[before.event.Key] = debt{before, r, true}
	}
}

// declaring returns the release whose newest record declared an object at every moment between two revisions of etcd,
// the object as any record ever declared it, and whether the object's annotations name such a release.
func (j *judge) declaring(o object, from, to int64) (key string, ever object, claimed bool) {
	id := o.identity()
	for _, k := range j.releases.of(id) {
		all := j.releases.within(k, from, to-1)
		// A record for another namespace is not active where that has had native records of the release.
		if len(all) > 0 && !slices.ContainsFunc(all, func(m moment) bool {
			return !m.wants(id) || m.newest.as != k.namespace &&
				j.releases.moments[releaseKey{m.newest.as, k.name}] != nil
		}) {
			key = k.String()
		}
		for _, m := range j.releases.moments[k] {
			for _, r := range m.all {
				if d := r.declares(id); d != nil {
					ever, claimed = d, claimed || r.claims(o)
				}
			}
		}
	}
	return key, ever, claimed
}

// wants reports whether the newest record declares an object, and Helm does not uninstall.
func (m moment) wants(id identity) bool {
	return m.newest != nil && m.newest.declares(id) != nil && !strings.HasPrefix(m.newest.status, "uninstall")
}

// declaredNow reports whether any release wants an object.
func (j *judge) declaredNow(id identity) bool {
	return slices.ContainsFunc(j.releases.of(id), func(k releaseKey) bool {
		return slices.ContainsFunc(j.releases.within(k, math.MaxInt64, math.MaxInt64), func(m moment) bool {
			return m.wants(id) && !j.outranked(m.newest, math.MaxInt64, math.MaxInt64)
		})
	})
}

// tell returns the states of the records that declare an object, for a message.
func (j *judge) tell(id identity, from, to int64) (text string) {
	for _, key := range j.releases.of(id) {
		for _, m := range j.releases.within(key, from, to) {
			text += fmt.Sprintf("; from %d on %s (wants it: %t)", m.from, m.newest, m.wants(id))
		}
	}
	return text
}

// sameVersion reports whether the live object can be compared with the declared one.
func sameVersion(declared, live object) bool { return declared["apiVersion"] == live["apiVersion"] }

// show returns a value for a message; none of a Secret.
func show(l *live, value any) string {
	if l.id.kind == "Secret" {
		return "a value of a Secret"
	}
	return fmt.Sprintf("%.100q", fmt.Sprint(value))
}
