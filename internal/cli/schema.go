package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/eventschema"
)

func (p *program) newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [events]",
		Short: "Print the JSON Schema of application files, or of events",
		Long: `Print the JSON Schema (draft 2020-12) of application files: both of PipeCD's
envelopes and sluice.yaml. Editors can check and complete files with it. With
events, print the schema of the lines of --output json.`,
		Example: `  sluice schema > sluice.schema.json
  sluice schema events > events.schema.json`,
		Args:      session.AtMost(1),
		ValidArgs: []string{"events"},
		RunE: func(_ *cobra.Command, args []string) error {
			schema := appfile.Schema
			if len(args) > 0 && args[0] != "events" {
				return &sluice.Error{Op: "print the schema", Resource: args[0], Err: errors.New("there is no such schema"),
					Next: "run sluice schema for application files, or sluice schema events"}
			}
			if len(args) > 0 {
				schema = eventschema.Schema
			}
			_, err := p.Env.Out.Write(schema())
			return err
		},
	}
}
