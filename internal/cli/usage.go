package cli

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
)

const exitCodes = `Exit codes: 0 done; 1 usage or file error; 2 the plan has changes (--detailed-exitcode);
3 failed and rolled back; 4 stopped by a person; 5 failed and not rolled back; 6 superseded
or claimed by another; 7 no access to AWS; 8 waiting for approval (--no-wait); 9 ended undecided.

Run "sluice <command> --help" for details of a command.`

const (
	// helpWidth is the number of columns of help.
	helpWidth = 80
	// flagColumn is where the descriptions of flags begin.
	flagColumn = 26
	// helpLines is the number of lines of help without --help-all: two screens.
	helpLines = 80
	// manyFlags is the number of a command's own flags from which they are printed in groups.
	manyFlags = 12
)

// flagGroup is a group of flags in help. Those of a rare group are printed with --help-all only.
type flagGroup struct {
	title string
	rare  bool
	names []string
}

// otherTitle is the title of the flags of a command that are of no kind, and of all flags of its own if they are few.
const otherTitle = "Flags"

// flagGroups are the groups of flags, by the name of the flag in any command.
var flagGroups = []flagGroup{
	{title: "What", names: []string{"config", "changed-since", "image", "image-tag", "tasks", "cluster", "service", "id",
		"task-definition", "deployment"}},
	{title: "How", names: []string{"auto-rollback", "bake", "dry-run", "force", "force-new-deployment", "no-wait",
		"one-by-one", "pipeline", "quick-sync", "help"}},
	{title: "Conflicts", names: []string{"adopt", "take-over"}},
	{title: otherTitle, names: []string{"check", "command", "count", "deregister-task-definition", "detailed-exitcode",
		"fail-after", "iam", "no-deregister-task-definition", "operation", "overrides", "overrides-file", "progress-deadline",
		"propagate-tags", "tags", "to", "watch-container"}},
	{title: "Every command", names: []string{"env", "help-all", "output", "region", "set", "state"}},
	{title: "Auto scaling", rare: true, names: []string{"auto-scaling-max", "auto-scaling-min", "leave-suspended",
		"resume-auto-scaling", "suspend-auto-scaling"}},
	{title: "More", rare: true, names: []string{"assume-role", "endpoint-url", "env-file", "json", "junit", "keep-going",
		"most", "profile", "providers", "revision", "rollback-events", "timeout", "verbose", "wait-until"}},
	{title: "ecspresso's", rare: true, names: []string{"assume-role-arn", "envfile", "ext-code", "ext-str",
		"latest-task-definition", "log-format", "no-update-service", "skip-task-definition", "update-service", "wait"}},
}

// registerHelp makes help of all commands, with --help-all. Cobra's templates know no groups of flags.
func registerHelp(root *cobra.Command) {
	all := false
	root.PersistentFlags().VarPF(session.FlagOf("bool", func(string) error {
		all = true
		return pflag.ErrHelp // ends the parsing of the flags as --help does
	}), "help-all", "", "help with the rare flags").NoOptDefVal = "true"
	root.SetUsageFunc(func(c *cobra.Command) error {
		_, err := io.WriteString(c.OutOrStderr(), usageText(c, all, 0))
		return err
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { _, _ = io.WriteString(c.OutOrStdout(), helpText(c, all)) })
}

// helpText returns what a command does, and how it is used. Without all, the last paragraphs are left out that do not fit
// into helpLines.
func helpText(c *cobra.Command, all bool) string {
	paragraphs := strings.Split(strings.TrimSpace(cmp.Or(c.Long, c.Short)), "\n\n")
	for shown := len(paragraphs); ; shown-- {
		text := show.WrapText(strings.Join(paragraphs[:shown], "\n\n"), helpWidth, "") + "\n\n" +
			usageText(c, all, len(paragraphs)-shown)
		if all || shown == 1 || strings.Count(text, "\n") <= helpLines {
			return text
		}
	}
}

// usageText returns how a command is used. all: with the rare flags. left is the number of paragraphs that are left out.
func usageText(c *cobra.Command, all bool, left int) string {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() && !c.HasAvailableSubCommands() {
		b.WriteString("\n" + wrapHanging(c.UseLine(), "  "))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s <command> [flags]", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\n\nExamples:\n%s", wrapExamples(c.Example))
	}
	if c.HasAvailableSubCommands() {
		writeCommands(&b, c)
	}
	rare := writeFlags(&b, c, all)
	if more := moreText(left, rare); more != "" {
		fmt.Fprintf(&b, "\n\n%s: %s --help-all", more, c.CommandPath())
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n\n" + show.WrapText(exitCodes, helpWidth, ""))
	}
	return b.String() + "\n"
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

// moreText says what help leaves out.
func moreText(paragraphs, flags int) string {
	switch {
	case paragraphs > 0 && flags > 0:
		return "The rest of this text, and " + sluice.Plural(flags, "more flag")
	case paragraphs > 0:
		return "The rest of this text"
	case flags > 0:
		return sluice.Plural(flags, "more flag")
	}
	return ""
}

// flagsByGroup returns the flags of a command by the title of their group. The few flags of its own of a command are in
// one group.
func flagsByGroup(c *cobra.Command) map[string][]*pflag.Flag {
	flags, few := map[string][]*pflag.Flag{}, countFlags(c.LocalNonPersistentFlags()) < manyFlags
	c.Flags().VisitAll(func(f *pflag.Flag) {
		title := groupOf(f).title
		if few && c.LocalNonPersistentFlags().Lookup(f.Name) != nil {
			title = otherTitle
		}
		if !f.Hidden {
			flags[title] = append(flags[title], f)
		}
	})
	return flags
}

func countFlags(of *pflag.FlagSet) (n int) {
	of.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			n++
		}
	})
	return n
}

// writeFlags writes the flags of a command by group, and returns how many are left out.
func writeFlags(b *strings.Builder, c *cobra.Command, all bool) (left int) {
	flags := flagsByGroup(c)
	for _, g := range flagGroups {
		switch group := flags[g.title]; {
		case len(group) == 0:
		case g.rare && !all:
			left += len(group)
		default:
			fmt.Fprintf(b, "\n\n%s:", g.title)
			for _, f := range group {
				writeFlag(b, f)
			}
		}
	}
	return left
}

// groupOf returns the group of a flag. A flag of a command with few may have none.
func groupOf(f *pflag.Flag) flagGroup {
	for _, g := range flagGroups {
		if slices.Contains(g.names, f.Name) {
			return g
		}
	}
	return flagGroup{title: otherTitle}
}

// writeFlag writes a flag, and beside it what it does.
func writeFlag(b *strings.Builder, f *pflag.Flag) {
	name, usage := describeFlag(f)
	if f.Shorthand == "" {
		name = "    " + name
	}
	name = "  " + name
	lines := strings.Split(show.WrapText(usage, helpWidth, strings.Repeat(" ", flagColumn)), "\n")
	if utf8.RuneCountInString(name) < flagColumn-1 {
		lines[0] = name + strings.Repeat(" ", flagColumn-utf8.RuneCountInString(name)) + strings.TrimLeft(lines[0], " ")
	} else {
		lines = slices.Insert(lines, 0, name)
	}
	b.WriteString("\n" + strings.Join(lines, "\n"))
}

// describeFlag returns the name of a flag with its value, and what it does with its default.
func describeFlag(f *pflag.Flag) (name, usage string) {
	value, usage := pflag.UnquoteUsage(f)
	name = "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if value != "" {
		name += " " + value
	}
	if !slices.Contains([]string{"", "false", "[]", "0", "0s"}, f.DefValue) && !strings.Contains(usage, "default") {
		usage += " (default " + f.DefValue + ")"
	}
	return name, usage
}

// wrapHanging returns a text whose first line begins with indent, and the others with six spaces more.
func wrapHanging(text, indent string) string {
	lines := strings.Split(show.WrapText(text, helpWidth, indent+"      "), "\n")
	lines[0] = indent + strings.TrimLeft(lines[0], " ")
	return strings.Join(lines, "\n")
}

// exampleParts are a command and what it does.
var exampleParts = regexp.MustCompile(`^( +\S.*?) {2,}(\S.*)$`)

// wrapExamples puts what a command does below it where both do not fit into a line. The command stays whole.
func wrapExamples(text string) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		parts := exampleParts.FindStringSubmatch(line)
		if utf8.RuneCountInString(line) <= helpWidth || parts == nil {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, parts[1], show.WrapText(parts[2], helpWidth, "      "))
	}
	return strings.Join(lines, "\n")
}
