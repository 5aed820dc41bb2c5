package report

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestTableLeavesOutColumnsThatDoNotFit(t *testing.T) {
	for width, want := range map[int]string{
		0:  "NAME  SINCE  STATE  REASON\nshop  1s     Ready  Locked\n",
		26: "NAME  SINCE  STATE  REASON\nshop  1s     Ready  Locked\n",
		25: "NAME  SINCE  REASON\nshop  1s     Locked\n",
		10: "NAME  REA…\nshop  Loc…\n",
	} {
		var table Table
		table.Add(nil, "NAME", "SINCE", "STATE", "REASON")
		table.Add(nil, "shop", "1s", "Ready", "Locked")
		table.Fit(width, "STATE", "SINCE", "AGE")
		check.Equal(t, table.String(width), want, "width %d", width)
	}
}
