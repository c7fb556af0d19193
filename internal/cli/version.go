package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/cli/session"
)

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
	b := newBuildInfo(info)
	if p.Flags.Output == session.JSON {
		return json.NewEncoder(p.Env.Out).Encode(b)
	}
	fmt.Fprintln(p.Env.Out, b)
	return nil
}

func newBuildInfo(info *debug.BuildInfo) buildInfo {
	b := buildInfo{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
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
