package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/buildinfo"
	"github.com/sluice-ecs/sluice/internal/cli/session"
)

func (p *program) newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit, date and platform",
		Args:  session.AtMost(0),
		RunE:  func(*cobra.Command, []string) error { return p.printVersion() },
	}
}

func (p *program) printVersion() error {
	b := buildinfo.Read()
	if p.Flags.Output == session.JSON {
		return json.NewEncoder(p.Env.Out).Encode(b)
	}
	fmt.Fprintln(p.Env.Out, b)
	return nil
}
