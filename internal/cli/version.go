package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// linkedCommit is set by the linker (see the Makefile), because a build without the repository's
// folder, or with -buildvcs=false, has no other commit.
var linkedCommit string

// buildInfo describes the binary.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (p *program) newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  session.AtMost(0),
		RunE:  func(*cobra.Command, []string) error { return p.printVersion() },
	}
}

func (p *program) printVersion() error {
	info, _ := debug.ReadBuildInfo()
	b := newBuildInfo(info, linkedCommit)
	if p.Flags.Output == session.JSON {
		return json.NewEncoder(p.Env.Out).Encode(b)
	}
	fmt.Fprintln(p.Env.Out, b)
	return nil
}

// newBuildInfo reads the commit from the build, otherwise from the linker, otherwise from the version
// of a module that was built from a commit.
func newBuildInfo(info *debug.BuildInfo, linked string) buildInfo {
	b := buildInfo{Version: "(devel)", Commit: linked, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	if m := pseudoVersion.FindStringSubmatch(b.Version); m != nil && b.Commit == "" {
		b.Commit = m[1]
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// pseudoVersion is the version of a module at a commit without a tag (Go Modules Reference,
// "Pseudo-versions"). It ends with the time and the first twelve digits of the commit.
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})(?:\+dirty)?$`)

func (b buildInfo) String() string {
	s := "sluice " + b.Version
	if b.Commit != "" {
		s += " commit " + b.Commit[:min(len(b.Commit), 12)]
	}
	if b.Modified {
		s += " with changes"
	}
	if b.Time != "" {
		s += " of " + b.Time
	}
	return s + " " + b.Go + " " + b.Platform
}
