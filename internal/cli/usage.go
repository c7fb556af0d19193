package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const exitCodes = `

Exit codes: 0 done; 1 usage or file error; 2 the plan has changes (--detailed-exitcode);
3 failed and rolled back; 4 stopped by a person; 5 failed and not rolled back; 6 superseded
or claimed by another; 7 no access to AWS; 8 waiting for approval (--no-wait); 9 ended undecided.

Run "sluice <command> --help" for details of a command.`

// printUsage prints the usage of a command. It does not use cobra's templates, because with
// text/template in the binary the linker must keep every exported method of every AWS client,
// some 12 MB.
func printUsage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() && !c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s <command> [flags]", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\n\nExamples:\n%s", c.Example)
	}
	if c.HasAvailableSubCommands() {
		writeCommands(&b, c)
	}
	writeFlags(&b, "Flags", c.LocalFlags())
	writeFlags(&b, "Global flags", c.InheritedFlags())
	if c.HasAvailableSubCommands() {
		b.WriteString(exitCodes)
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String()+"\n")
	return err
}

func writeCommands(b *strings.Builder, c *cobra.Command) {
	for _, g := range c.Groups() {
		fmt.Fprintf(b, "\n\n%s", g.Title)
		for _, v := range c.Commands() {
			if v.GroupID == g.ID && (v.IsAvailableCommand() || v.Name() == "help") {
				fmt.Fprintf(b, "\n  %-*s %s", v.NamePadding(), v.Name(), v.Short)
			}
		}
	}
}

func writeFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		fmt.Fprintf(b, "\n\n%s:\n%s", title, strings.TrimRight(flags.FlagUsages(), " \n"))
	}
}
