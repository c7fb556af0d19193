package cli

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/eventschema"
)

// TestReference holds the tables of docs/reference against the code that they
// are about; -update writes them anew. What stands outside the marks is written
// by hand.
func TestReference(t *testing.T) {
	for page, blocks := range map[string]map[string]string{
		"application-files.md": {"honoured": keyTable(appfile.Honoured), "pipeds-own": keyTable(appfile.PipedsOwn),
			"unused": keyTable(appfile.Unused), "refused": keyTable(appfile.Refused)},
		"commands.md":   {"commands": commandPages(), "everywhere": everywhere()},
		"exit-codes.md": {"codes": exitTable(t), "outcomes": outcomeTable(t), "kinds": kindTable(t)},
		"events.md":     {"envelope": fieldTable(t, "Envelope"), "events": eventPages(t)},
		"sim.md": {"images": imageTable(), "faults": faultTable(t), "fault-lines": faultLines(t),
			"control": controlTable(t), "world": worldExample(t), "world-keys": worldKeys(t), "knobs": knobTable(t)},
	} {
		t.Run(page, func(t *testing.T) { goldentest.CheckPage(t, "docs/reference/"+page, blocks) })
	}
	goldentest.CheckFile(t, "docs/reference/events.schema.json", string(eventschema.Schema()))
}

func keyTable(of appfile.Treatment) string {
	var all [][]string
	for _, k := range appfile.Keys() {
		if k.Treatment == of {
			all = append(all, []string{"`" + k.Path + "`", k.Sentence, inFormats(k.Formats)})
		}
	}
	return goldentest.Table([]string{"key", "what it does", "in"}, all)
}

func inFormats(formats []appfile.Format) string {
	if len(formats) == 3 {
		return "all"
	}
	var words []string
	for _, f := range formats {
		words = append(words, string(f))
	}
	return strings.Join(words, ", ")
}

// reference is the command line without a machine.
func reference() *cobra.Command {
	s, err := session.New(session.Env{IsTerminal: func(io.Writer) bool { return false },
		Getenv: func(string) string { return "" }, Rand: zeros{}})
	if err != nil {
		panic(err)
	}
	return (&program{s}).newRootCommand()
}

func commandPages() string {
	var b strings.Builder
	for _, c := range runnableCommands(reference().Commands()) {
		name := strings.TrimPrefix(c.CommandPath(), "sluice ")
		fmt.Fprintf(&b, "## %s\n\n%s\n\n```\n%s\n```\n\n", name, cmp.Or(c.Long, c.Short+"."), c.UseLine())
		if table := flagTable(c.LocalNonPersistentFlags()); table != "" {
			b.WriteString(table + "\n")
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "```sh\n%s\n```\n\n", unindented(c.Example))
		}
	}
	return b.String()
}

// runnableCommands returns the commands that do something: those below a command that has some.
func runnableCommands(all []*cobra.Command) (out []*cobra.Command) {
	for _, c := range all {
		switch {
		case c.Name() == "help" || c.Name() == "completion":
		case c.HasSubCommands():
			out = append(out, runnableCommands(c.Commands())...)
		default:
			out = append(out, c)
		}
	}
	return out
}

func unindented(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

func everywhere() string { return flagTable(reference().PersistentFlags()) }

func flagTable(set *pflag.FlagSet) string {
	var all [][]string
	set.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		name, usage := describeFlag(f)
		all = append(all, []string{"`" + name + "`", usage})
	})
	if len(all) == 0 {
		return ""
	}
	return goldentest.Table([]string{"flag", "what it does"}, all)
}

func exitTable(t *testing.T) string {
	var all [][]string
	for _, c := range constants(source(t, "outcome.go"), "Exit") {
		all = append(all, []string{c[1], c[2]})
	}
	return goldentest.Table([]string{"code", "meaning"}, all)
}

func outcomeTable(t *testing.T) string {
	var all [][]string
	for _, c := range typed(t, "outcome.go", "Outcome") {
		all = append(all, []string{c[1], without(c[0], c[2]), fmt.Sprint(sluice.Outcome(c[1]).ExitCode())})
	}
	return goldentest.Table([]string{"outcome", "meaning", "code"}, all)
}

func kindTable(t *testing.T) string {
	var all [][]string
	for _, c := range typed(t, "outcome.go", "Kind") {
		all = append(all, []string{c[1], without(c[0], c[2]), fmt.Sprint(sluice.Kind(c[1]).ExitCode())})
	}
	return goldentest.Table([]string{"kind", "meaning", "code"}, all)
}

func fieldTable(t *testing.T, name string) string {
	return goldentest.Table([]string{"field", "what", "remark"}, fields(t, source(t, "event.go"), name, "json"))
}

func eventPages(t *testing.T) string {
	return eventsIn(t, "event.go") + eventsIn(t, "taskevent.go") + eventsIn(t, "unanswered.go") +
		eventsIn(t, "requestscounted.go") + eventsIn(t, "gates.go")
}

func eventsIn(t *testing.T, name string) string {
	var b strings.Builder
	file := source(t, name)
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		name := g.Specs[0].(*ast.TypeSpec).Name.Name
		if name == "Envelope" || name == "Event" || name == "Unknown" || name == "ContainerEnded" ||
			name == "RequestCount" || name == "MeasuredShare" || name == "GateCount" || name == "GateVerdict" {
			continue
		}
		kind := strings.ToLower(name[:1]) + name[1:]
		if _, unknown := (sluice.Envelope{Kind: kind, Data: []byte("{}")}).Open().(sluice.Unknown); unknown {
			t.Errorf("event %s has no kind %s", name, kind)
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n\n%s\n", kind, upper(without(name, strings.TrimSpace(g.Doc.Text()))),
			goldentest.Table([]string{"field", "what", "remark"}, fields(t, file, name, "json")))
	}
	return b.String()
}
