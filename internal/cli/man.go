package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/buildinfo"
	"github.com/sluice-ecs/sluice/internal/cli/session"
)

func (p *program) newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the man pages of all commands to a folder",
		Long: `Write a man page for each command to the folder DIR, which is created if it does not exist.
The packages of a release have these pages already; with go install, write them yourself.`,
		Example: `  sluice man ~/.local/share/man/man1     then: man sluice-deploy`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &sluice.Error{Op: c.CommandPath(), Err: errors.New("it needs the folder to write to"),
					Next: "run sluice man ~/.local/share/man/man1"}
			}
			return session.AtMost(1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := writeManPages(c.Root(), args[0]); err != nil {
				return &sluice.Error{Op: "write the man pages", Resource: args[0], Err: err,
					Next: "name a folder that you may write to"}
			}
			fmt.Fprintf(p.Env.Err, "the man pages are in %s\n", args[0])
			return nil
		},
	}
}

// writeManPages writes one file for each command. The date is that of the commit, so that every build of a commit
// writes the same pages; it is 1970 if the commit is not known.
func writeManPages(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b := buildinfo.Read()
	at, err := time.Parse(time.RFC3339, b.Time)
	if err != nil {
		at = time.Unix(0, 0).UTC()
	}
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &at, Source: "sluice " + b.Version,
		Manual: "sluice"}, dir)
}
