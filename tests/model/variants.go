package main

// What a variant may end with.
const (
	holds = "no violation"

	// The assertions of order.pml, as the checker prints them.
	undone     = "a write of Helm's is undone"
	leftBehind = "what Helm deleted stays"
	missing    = "what Helm counts on is gone"
	stale      = "what Helm found is undone"
	hole       = "after a crash and an uninstall it stays"
	drifted    = "drift stays"
	refused    = "the guard refuses Helm"
)

// assertions are what of the text of a failed assertion tells which one it is.
var assertions = map[string]string{
	"helmWrote<=lockedBy": undone,
	"lostTrack||(meant!=": leftBehind,
	"(object!=":           missing,
	"||(object==meant":    stale,
	"newest==0":           hole,
	"object==wanted":      drifted,
	"!(holds)":            refused,
}

// variant is one run of the model.
type variant struct {
	name    string
	defines []string
	// expect is what the run must end with.
	expect string
	// also is another violation that the run may end with: which of two the search meets first is chance.
	also string
}

func (v variant) expected(r result) bool {
	found := r.found()
	return found == v.expect || (v.also != "" && found == v.also)
}

func defines(list ...string) []string { return list }

// variants returns all runs: the proof as it is, in worlds of different size; then with each part of it left out.
func variants() []variant {
	return []variant{
		// A crash of the one operator, whose successor knows nothing, is a change of leaders.
		{name: "list/crash", defines: defines("CRASHES=1"), expect: holds},
		{name: "list/two tamperings", defines: defines("TAMPERS=2"), expect: holds},
		{name: "list/two operators", defines: defines("OPS=1", "LOCKERS=2"), expect: holds},

		// Other forms of the check.
		{name: "two gets", defines: defines("GETS", "OPS=3"), expect: undone},
		{name: "three gets", defines: defines("GETS_OLDER"), expect: holds},
		{name: "view at the object's revision", defines: defines("AT_REVISION", "CRASHES=1"), expect: holds},

		// What a part is for.
		{name: "without/check", defines: defines("NOCHECK"), expect: undone, also: stale},
		{name: "without/precondition", defines: defines("NOPRECONDITION"), expect: undone},
		{name: "without/second check", defines: defines("NOSECONDCHECK"), expect: stale, also: leftBehind},
		{name: "without/identity", defines: defines("NUMBER"), expect: undone, also: stale},
		{name: "without/order", defines: defines("EARLY"), expect: undone, also: stale},
		{name: "without/server", defines: defines("CACHE"), expect: undone, also: stale},
		{name: "without/uid", defines: defines("NOUID"), expect: undone, also: stale},

		// The guard, which the API server asks about each of Helm's requests.
		{name: "guard", defines: defines("GUARD", "OPS=3"), expect: holds},
		{name: "guard/without check", defines: defines("GUARD", "NOCHECK"), expect: refused},
		{name: "guard/without order", defines: defines("GUARD", "EARLY"), expect: refused},

		// As it was until Helm's reading and writing were two steps in here.
		{name: "older/nothing amended", defines: defines("NOAMENDMENT", "OPS=1"), expect: stale},
		{name: "older/taken back for any newer record", defines: defines("ANYNEWER", "OPS=1"), expect: missing},

		// What remains, see README.md.
		{name: "remains/crash", defines: defines("CRASHES=1", "HOLE"), expect: hole},
		{name: "remains/pruned", defines: defines("STRICT"), expect: undone, also: stale},
	}
}
