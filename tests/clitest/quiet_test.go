package clitest

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// --quiet leaves out all output but errors and the drift of a question, and no exit code changes.
func TestQuiet(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	silent := func(args ...string) {
		t.Helper()
		w.app(args...).is(0, "", "")
	}
	silent("lock", "shop", "--wait", "--quiet")
	silent("lock", "shop", "-q")
	silent("lock", "shop", "--mode", "Detect", "--dry-run", "-q")
	silent("suspend", "shop", "--for", "1h", "-q", "--wait")
	silent("lock", "shop", "--wait", "-q") // without the note about the suspension
	w.Patch(kit.Deployments, "shop", `{"spec":{"replicas":7}}`)
	w.app("resume", "shop", "-q").says(2, "revert spec.replicas 7 -> 2", "nothing was changed: there is no terminal to ask at")
	silent("resume", "shop", "--yes", "--quiet", "--wait")
	w.app("resume", "shop", "-q", "-o", "name").says(1, "--quiet and --output exclude each other")
	w.app("resume", "nosuch", "-q").says(5, "release APPS/nosuch is not locked")
	w.app("enforce", "shop", "-q").says(1, "helm-locker: ")
	w.app("accept", "shop", "-q").says(1, "helm-locker: there is nothing to accept")
	w.app("lock", "shop", "--scope", "Strict", "--wait", "--timeout", "1ns", "-q").is(1, "",
		"helm-locker: not done after 1ns; still waiting for an operator\n  helm-locker status shop shows more; --timeout waits longer\n")
	silent("unlock", "shop", "-q")
	silent("unlock", "shop", "-q") // again
}
