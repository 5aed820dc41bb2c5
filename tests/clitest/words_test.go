package clitest

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A flag means the same before the command and after it.
func TestFlagsBeforeTheCommand(t *testing.T) {
	w := newFixture(t)
	w.Apps = w.Namespace("before")
	w.installShop(kit.Shared.Helm4(), "shop")
	after := w.cli("diff", "shop", "--namespace", w.Apps)
	before := w.cli("--namespace", w.Apps, "diff", "shop")
	if after.code != 0 || before.stdout != after.stdout || before.code != after.code {
		t.Errorf("before: %+v\nafter: %+v", before, after)
	}
	w.cli("--namespace", "nowhere", "diff", "shop").says(1, "")
}

func TestProgramWithoutACommand(t *testing.T) {
	w := newFixture(t)
	version := w.cli("version")
	if version.code != 0 || !strings.HasPrefix(version.stdout, "helm-locker ") {
		t.Errorf("%+v", version)
	}
	w.cli("--namspace", "x").says(1, "did you mean --namespace? see helm-locker operator --help")
	w.cli("diff", "--namspace", "x").says(1, "did you mean --namespace? see helm-locker diff --help")
	w.cli("operator", "now").says(1, `unexpected argument "now"`)
}
