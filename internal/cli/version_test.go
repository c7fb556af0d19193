package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

const testCommit = "0123456789abcdef0123456789abcdef01234567"

// The version names the commit, however the binary was built.
func TestVersionNamesTheCommit(t *testing.T) {
	stamped := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: testCommit},
		{Key: "vcs.modified", Value: "true"}}}
	module := &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261123190000-0123456789ab"}}
	for name, c := range map[string]struct {
		info   *debug.BuildInfo
		linked string
		want   string
	}{
		"stamped by go build":      {stamped, "", "sluice (devel) commit 0123456789ab with changes "},
		"stamped and linked":       {stamped, strings.Repeat("f", 40), "sluice (devel) commit 0123456789ab with changes "},
		"linked only":              {&debug.BuildInfo{}, testCommit, "sluice (devel) commit 0123456789ab go"},
		"go install of a commit":   {module, "", "sluice v0.0.0-20261123190000-0123456789ab commit 0123456789ab go"},
		"no build info":            {nil, testCommit, "sluice (devel) commit 0123456789ab go"},
		"a release":                {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "", "sluice v1.2.3 go"},
		"nothing known about it":   {&debug.BuildInfo{}, "", "sluice (devel) go"},
		"a short commit of a fork": {&debug.BuildInfo{}, "0123", "sluice (devel) commit 0123 go"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newBuildInfo(c.info, c.linked).String(); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}
