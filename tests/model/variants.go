package main

// Possible results of a variant.
const (
	holds = "no violation"

	// The assertions of order.pml.
	undone     = "a write of Helm's is undone"
	leftBehind = "what Helm deleted stays"
	missing    = "what Helm counts on is gone"
	stale      = "what Helm found is undone"
	hole       = "after a crash and an uninstall it stays"
	drifted    = "drift stays"
	refused    = "the guard refuses Helm"
	tooLate    = "an upgrade of hours later is amended"
	neverMade  = "a value that Helm never deployed"

	// Those of ownership.pml.
	shared = "the next upgrade conflicts"
	loop   = "writes go on"

	// Those of handover.pml.
	unkept  = "the first does not keep the release"
	notMade = "the policy's HelmRelease is missing"
	extra   = "the policy's HelmRelease stays"
	both    = "two locks write to an object"
	locks   = "not one lock"

	// Those of trust.pml.
	gained   = "a content is enforced that its writer may not deploy"
	unproven = "a witnessed revision is not enforced"
	unhealed = "a revision that is as declared is not trusted"
	outlived = "a lock outlives the trust in its record"
)

// assertions are the texts that identify failed assertions in the checker's output. The first match is used.
var assertions = []struct{ text, name string }{
	{"!(lTrusts[0])||", outlived},
	{"||lTrusts[0]", unhealed},
	{"helmWrote<=lockedBy", undone},
	{"helmWrote<=wireUnder", undone},
	{"helmWrote<=locked", undone},
	{"lostTrack||(meant!=", leftBehind},
	{"(object!=", missing},
	{"||(object==meant", stale},
	{"begunBy[newest]>rested", tooLate},
	{"wanted[newest]!=before", neverMade},
	{"newest==0", hole},
	{"!(meantToday)", stale},
	{"(object==0)", leftBehind},
	{"object==wanted", drifted},
	{"!(holds)", refused},
	{"(owners==1)", shared},
	{"(content==0)", drifted},
	{"(writes<=", loop},
	{"owns[0]+owns[1]", both},
	{"(api[2]!=0)", notMade},
	{"((api[2]==0)||", extra},
	{"&&(locked[", unkept},
	{"(locked[0]!=0)", locks},
	{"(c==wanted)", gained},
	{"(c==begun)", gained},
	{"!(inTime)", unproven},
}

// variant is one run of a model.
type variant struct {
	name    string
	model   string
	defines []string
	// expect is the expected result of the run.
	expect string
	// also is another accepted violation: which of two the search meets first is chance.
	also string
}

func (v variant) expected(r result) bool {
	found := r.found()
	return found == v.expect || (v.also != "" && found == v.also)
}

// optimisation returns the flag of the compiler: a violation is found soon, and compiling takes most of the time then.
func (v variant) optimisation() string {
	if v.expect != holds {
		return "-O0"
	}
	return "-O1"
}

func defines(list ...string) []string { return list }

// variants returns all runs: each proof as it is, in worlds of different size; then with each part of it left out.
func variants() []variant {
	var all []variant
	for _, m := range []struct {
		file string
		runs []variant
	}{
		{"order.pml", orders()}, {"order.pml", proofs()}, {"elsewhere.pml", keys()}, {"ownership.pml", ownership()},
		{"handover.pml", handovers()}, {"trust.pml", trusts()},
	} {
		for _, v := range m.runs {
			v.model = m.file
			all = append(all, v)
		}
	}
	return all
}

// orders are the runs of the order of a check and a write.
func orders() []variant {
	return []variant{
		// A crash of the one operator, whose successor knows nothing, is a change of leaders.
		{name: "list/crash", defines: defines("CRASHES=1"), expect: holds},
		{name: "list/two tamperings", defines: defines("TAMPERS=2"), expect: holds},
		{name: "list/two operators", defines: defines("OPS=1", "LOCKERS=2"), expect: holds},
		{name: "list/leftovers are deleted", defines: defines("PRUNES"), expect: holds},

		// Other forms of the check.
		{name: "two gets", defines: defines("GETS", "OPS=3"), expect: undone},
		{name: "three gets", defines: defines("GETS_OLDER"), expect: holds},
		{name: "view at the object's revision", defines: defines("AT_REVISION", "CRASHES=1"), expect: holds},

		// The purpose of each part.
		{name: "without/check", defines: defines("NOCHECK"), expect: undone, also: stale},
		{name: "without/precondition", defines: defines("NOPRECONDITION"), expect: undone},
		{name: "without/second check", defines: defines("NOSECONDCHECK"), expect: stale, also: leftBehind},
		{name: "without/second check of deletions", defines: defines("NOSECONDCHECK", "PRUNES"), expect: stale,
			also: missing},
		{name: "without/identity", defines: defines("NUMBER"), expect: undone, also: stale},
		{name: "without/order", defines: defines("EARLY"), expect: undone, also: stale},
		{name: "without/server", defines: defines("CACHE"), expect: undone, also: stale},
		{name: "without/uid", defines: defines("NOUID"), expect: undone, also: stale},

		// The guard, which the API server calls for each of Helm's requests.
		{name: "guard", defines: defines("GUARD", "OPS=3"), expect: holds},
		{name: "guard/without check", defines: defines("GUARD", "NOCHECK"), expect: refused},
		{name: "guard/without order", defines: defines("GUARD", "EARLY"), expect: refused},

		// As it was until Helm's reading and writing were two steps in here.
		{name: "older/nothing amended", defines: defines("NOAMENDMENT", "OPS=1"), expect: stale},
		{name: "older/taken back for any newer record", defines: defines("ANYNEWER", "OPS=1"), expect: missing},

		// Known remaining cases, see README.md.
		{name: "remains/crash", defines: defines("CRASHES=1", "HOLE"), expect: hole},
		{name: "remains/pruned", defines: defines("STRICT"), expect: undone, also: stale},
	}
}

// proofs are the runs of the second check: its time, its consequences, and lost answers.
func proofs() []variant {
	return []variant{
		{name: "proof/hooks", defines: defines("HOOKS"), expect: holds},
		{name: "proof/not answered", expect: holds,
			defines: defines("HOOKS", "OPS=1", "TAMPERS=2", "LOSSES=1", "CRASHES=1", "PRUNES")},
		{name: "proof/answers lost", expect: holds,
			defines: defines("LOST", "HOOKS", "OPS=1", "LOSSES=1", "CRASHES=1")},

		{name: "proof/with the next drift", defines: defines("LATE", "HOOKS"), expect: tooLate},
		{name: "proof/without a bound", defines: defines("UNBOUNDED", "HOOKS", "LOSSES=1"), expect: tooLate},
		{name: "proof/without hooks", defines: defines("NOHOOKS", "HOOKS"), expect: neverMade},
		{name: "proof/creations rewritten", defines: defines("REWRITTEN"), expect: neverMade},
		{name: "proof/record before object", defines: defines("LOST", "OPS=1", "LOSSES=1", "RECORDFIRST"), expect: stale},
		{name: "proof/lost one replaced", defines: defines("LOST", "OPS=1", "LOSSES=1", "REPLACED"), expect: stale,
			also: leftBehind},
	}
}

// keys are the runs of a release stored in another namespace.
func keys() []variant {
	return []variant{
		{name: "elsewhere", expect: holds},
		{name: "elsewhere/forged for a native release", defines: defines("VICTIM", "OPS=2"), expect: holds},
		{name: "elsewhere/only the locked key", defines: defines("LOCKEDONLY"), expect: undone, also: stale},
		{name: "elsewhere/only for what exists", defines: defines("EXISTINGONLY"), expect: undone, also: stale},
		{name: "elsewhere/proven by the locked key", defines: defines("PROVENLOCKEDONLY"), expect: stale},
		{name: "elsewhere/any key counts", defines: defines("ANYKEY"), expect: drifted},
		{name: "elsewhere/any key counts for a native one", defines: defines("VICTIM", "ANYKEY"), expect: drifted},
	}
}

// ownership are the runs of a revert of several requests.
func ownership() []variant {
	return []variant{
		{name: "ownership", expect: holds},
		{name: "ownership/one request", defines: defines("ONEREQUEST"), expect: holds},
		{name: "ownership/content alone, a crash", defines: defines("CONTENT", "NOSHARES", "REFUSALS=0"),
			expect: shared},
		{name: "ownership/content alone, a refusal", defines: defines("CONTENT", "NOSHARES", "CRASHES=0"),
			expect: shared},
		{name: "ownership/content alone, one request", defines: defines("CONTENT", "NOSHARES", "ONEREQUEST"),
			expect: holds},
		{name: "ownership/content alone, shared", defines: defines("CONTENT", "ONEREQUEST"), expect: shared},
	}
}

// handovers are the runs of several HelmReleases of one release.
func handovers() []variant {
	return []variant{
		{name: "handover", defines: defines("NOPOLICY", "WORKERS=2"), expect: holds},
		{name: "handover/policy", defines: defines("HANDS=1", "ACTIONS=3"), expect: holds},
		{name: "handover/policy, side by side", defines: defines("HANDS=1", "ACTIONS=2", "WORKERS=2"), expect: holds},
		{name: "handover/policy, crash", defines: defines("HANDS=1", "ACTIONS=2", "CRASHES=1"), expect: holds},

		{name: "handover/without those behind", defines: defines("NOPOLICY", "NOBEHIND"), expect: unkept},
		{name: "handover/without a second look", defines: defines("NOPOLICY", "NORECHECK"), expect: unkept},
		{name: "handover/without one owner", defines: defines("NOPOLICY", "NOTABLE"), expect: both},
		{name: "handover/conflict noted late", defines: defines("HANDS=1", "ACTIONS=2", "WORKERS=2", "LATECONFLICT"),
			expect: unkept},
		{name: "handover/without a plan after a write", defines: defines("HANDS=1", "ACTIONS=2", "NOAGAIN"),
			expect: notMade},
		{name: "handover/without an end of memory", defines: defines("HANDS=1", "ACTIONS=2", "NOTIMER"),
			expect: notMade},
	}
}

// trusts are the runs of the trust in the records of a release.
func trusts() []variant {
	return []variant{
		{name: "trust", defines: defines("DOWNS=1"), expect: holds},
		{name: "trust/two forged requests", defines: defines("OPS=0", "FORGED=2", "FORGEDPENDING"), expect: holds},
		{name: "trust/late and refused", defines: defines("OPS=0", "LATES=1", "REFUSALS=1"), expect: holds},
		{name: "trust/two operators", defines: defines("OPS=0", "LEADERS=2"), expect: holds},
		{name: "trust/in the end", expect: holds,
			defines: defines("END", "FORGED=0", "OPS=2", "DOWNS=1", "TAMPERS=1")},
		{name: "trust/in the end of a forgery", expect: holds, defines: defines("END", "OPS=1")},
		{name: "trust/a lock goes on", expect: outlived, defines: defines("END", "OPS=1", "OUTLIVES")},

		{name: "trust/a pending record deleted", defines: defines("INPART", "RECHECK"), expect: holds},

		{name: "trust/any user ends a pending record", defines: defines("INPART", "RECHECK", "ENDS"), expect: gained},

		{name: "trust/without the content", defines: defines("NODIGEST", "OPS=0"), expect: gained},
		{name: "trust/by the revision's number", defines: defines("NUMBER", "OPS=0"), expect: gained},
		{name: "trust/any earlier content counts", defines: defines("EARLIER"), expect: gained},
		{name: "trust/kept after a deletion", defines: defines("NOFORGET"), expect: gained},
		{name: "trust/kept by a later revision", defines: defines("BYREVISION"), expect: gained},
		{name: "trust/read from a cache", defines: defines("CACHE"), expect: gained},
		{name: "trust/decided by an older state", defines: defines("NOTXN"), expect: gained},
		{name: "trust/across an unwitnessed revision", defines: defines("NOCHAIN", "DOWNS=2"), expect: gained},
		{name: "trust/a pending record changed", defines: defines("NEXTOTHER", "DOWNS=1"), expect: gained},
		{name: "trust/compared at any time", defines: defines("RULE2LATE"), expect: gained},
		{name: "trust/compared while Helm works", defines: defines("WORKLATE", "DOWNS=1"), expect: gained},
		{name: "trust/compared while Helm uninstalls", defines: defines("NOLEAVING"), expect: gained},
		{name: "trust/never compared", expect: unhealed,
			defines: defines("NORULE2", "END", "FORGED=0", "DOWNS=1")},

		// Known remaining cases, see README.md.
		{name: "trust/remains/a lock from before", defines: defines("INPART"), expect: gained},
		{name: "trust/remains/unwitnessed uninstallation", defines: defines("BLIND", "DOWNS=1"), expect: gained},
	}
}
