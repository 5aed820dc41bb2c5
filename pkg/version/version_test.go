package version

import (
	"runtime/debug"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	checkout := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "3f2c1ab"}, {Key: "vcs.time", Value: "2026-11-21T10:00:00Z"}}
	for name, tc := range map[string]struct {
		info *debug.BuildInfo
		want [3]string
	}{
		"go install of a version": {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, [3]string{"v1.2.3", "unknown", "unknown"}},
		"go build in a checkout": {
			&debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261121100000-3f2c1ab+dirty"}, Settings: checkout},
			[3]string{"v1.2.4-0.20261121100000-3f2c1ab+dirty", "3f2c1ab", "2026-11-21T10:00:00Z"},
		},
		"go build without git": {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, [3]string{"dev", "unknown", "unknown"}},
		"no build information": {nil, [3]string{"dev", "unknown", "unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			version, commit, date := of(tc.info, tc.info != nil)
			if got := [3]string{version, commit, date}; got != tc.want {
				t.Errorf("it is %v, want %v", got, tc.want)
			}
		})
	}
}
