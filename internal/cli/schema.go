package cli

import (
	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
)

func (p *program) newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of application files",
		Long: `Print the JSON Schema (draft 2020-12) of application files: both of PipeCD's
envelopes and sluice.yaml. Editors can check and complete files with it.`,
		Example: "  sluice schema > sluice.schema.json",
		Args:    session.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			_, err := p.Env.Out.Write(appfile.Schema())
			return err
		},
	}
}
