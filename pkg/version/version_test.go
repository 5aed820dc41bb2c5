package version

import (
	"runtime/debug"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestVersionOfABuild(t *testing.T) {
	checkout := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "3f2c1ab"},
		{Key: "vcs.time", Value: "2026-11-21T10:00:00Z"}}
	for name, tc := range map[string]struct {
		info *debug.BuildInfo
		want build
	}{
		"go install of a version": {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}},
			build{"v1.2.3", "unknown", "unknown"}},
		"go build in a checkout": {
			&debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261121100000-3f2c1ab+dirty"}, Settings: checkout},
			build{"v1.2.4-0.20261121100000-3f2c1ab+dirty", "3f2c1ab", "2026-11-21T10:00:00Z"},
		},
		"go build without git": {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}},
			build{"dev", "unknown", "unknown"}},
		"a program that embeds the operator": {&debug.BuildInfo{Main: debug.Module{Version: "v9.0.0"}, Settings: checkout,
			Deps: []*debug.Module{{Path: "example.com/other", Version: "v7.0.0"}, {Path: module, Version: "v1.2.3"}}},
			build{"v1.2.3", "unknown", "unknown"}},
		"no build information": {nil, build{"dev", "unknown", "unknown"}},
	} {
		t.Run(name, func(t *testing.T) { check.Equal(t, of(tc.info, tc.info != nil), tc.want, "it") })
	}
}
