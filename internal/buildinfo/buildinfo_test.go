package buildinfo

import (
	"runtime/debug"
	"strings"
	"testing"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// The version names the commit, however the binary was built.
func TestVersionNamesTheCommit(t *testing.T) {
	stamped := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: commit},
		{Key: "vcs.modified", Value: "true"}}}
	module := &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261123190000-0123456789ab"}}
	tagged := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	for name, c := range map[string]struct {
		info    *debug.BuildInfo
		linked  Info
		want    string
		release string
	}{
		"stamped by go build": {stamped, Info{}, "sluice (devel) commit 0123456789ab with changes ", ""},
		"stamped and linked":  {stamped, Info{Commit: "ffff"}, "sluice (devel) commit 0123456789ab with changes ", ""},
		"linked only":         {&debug.BuildInfo{}, Info{Commit: commit}, "sluice (devel) commit 0123456789ab go", ""},
		"go install of a commit": {module, Info{},
			"sluice v0.0.0-20261123190000-0123456789ab commit 0123456789ab of 2026-11-23T19:00:00Z go", ""},
		"no build info":       {nil, Info{Commit: commit}, "sluice (devel) commit 0123456789ab go", ""},
		"go install of a tag": {tagged, Info{}, "sluice v1.2.3 go", "1.2.3"},
		"a release": {&debug.BuildInfo{Main: debug.Module{Version: Devel}},
			Info{Version: "v1.2.3-rc.1", Commit: commit, Time: "2026-11-23T19:00:00Z"},
			"sluice v1.2.3-rc.1 commit 0123456789ab of 2026-11-23T19:00:00Z go", "1.2.3-rc.1"},
		"nothing known about it":   {&debug.BuildInfo{}, Info{}, "sluice (devel) go", ""},
		"a short commit of a fork": {&debug.BuildInfo{}, Info{Commit: "0123"}, "sluice (devel) commit 0123 go", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(c.info, c.linked)
			if !strings.HasPrefix(got.String(), c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if got.Release() != c.release {
				t.Errorf("the release is %q, want %q", got.Release(), c.release)
			}
		})
	}
}
