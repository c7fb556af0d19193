package cli

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// TestReference holds the tables of docs/reference against the code that they
// are about; -update writes them anew. What stands outside the marks is written
// by hand.
func TestReference(t *testing.T) {
	for page, blocks := range map[string]map[string]string{
		"application-files.md": {"honoured": keyTable(appfile.Honoured), "pipeds-own": keyTable(appfile.PipedsOwn),
			"refused": keyTable(appfile.Refused)},
		"commands.md":   {"commands": commandPages(), "everywhere": everywhere()},
		"exit-codes.md": {"codes": exitTable(t), "outcomes": outcomeTable(t), "kinds": kindTable(t)},
		"events.md":     {"envelope": fieldTable(t, "Envelope"), "events": eventPages(t)},
		"sim.md": {"images": imageTable(), "faults": faultTable(t), "fault-lines": faultLines(t),
			"control": controlTable(t), "world": worldExample(t), "world-keys": worldKeys(t), "knobs": knobTable(t)},
	} {
		t.Run(page, func(t *testing.T) { referencePage(t, page, blocks) })
	}
}

// referencePage compares the marked blocks of a page.
func referencePage(t *testing.T, page string, blocks map[string]string) {
	path := filepath.Join("..", "..", "docs", "reference", page)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	for name, want := range blocks {
		begin, end := "<!-- "+name+": from the code -->\n", "<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		got, after, ends := strings.Cut(rest, end)
		if !ok || !ends {
			t.Fatalf("%s has no marks for %s", path, name)
		}
		want = strings.TrimSpace(want) + "\n"
		if got != want && !*update {
			t.Errorf("%s: %s is not what the code says; run go test ./internal/cli -run TestReference -update\n%s",
				path, name, want)
		}
		text = before + begin + want + end + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// rows is a table in Markdown.
func rows(head []string, all [][]string) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, cells := range all {
		for i, c := range cells {
			cells[i] = strings.TrimSuffix(strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", `\|`), ".")
		}
		line(cells)
	}
	return b.String()
}

func keyTable(of appfile.Treatment) string {
	var all [][]string
	for _, k := range appfile.Keys() {
		if k.Treatment == of {
			all = append(all, []string{"`" + k.Path + "`", k.Sentence, inFormats(k.Formats)})
		}
	}
	return rows([]string{"key", "what it does", "in"}, all)
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
	p := &program{env: Env{IsTerminal: isTerminal, Getenv: func(string) string { return "" }}}
	return p.newRootCommand()
}

func commandPages() string {
	var b strings.Builder
	for _, c := range reference().Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n```\n%s\n```\n\n", c.Name(), cmp.Or(c.Long, c.Short+"."), c.UseLine())
		if table := flagTable(c.LocalNonPersistentFlags()); table != "" {
			b.WriteString(table + "\n")
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "```sh\n%s\n```\n\n", unindented(c.Example))
		}
	}
	return b.String()
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
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && !strings.Contains(usage, "default") {
			usage += " (default " + f.DefValue + ")"
		}
		all = append(all, []string{"`" + name + "`", usage})
	})
	if len(all) == 0 {
		return ""
	}
	return rows([]string{"flag", "what it does"}, all)
}

func exitTable(t *testing.T) string {
	var all [][]string
	for _, c := range constants(source(t, "outcome.go"), "Exit") {
		all = append(all, []string{c[1], c[2]})
	}
	return rows([]string{"code", "meaning"}, all)
}

func outcomeTable(t *testing.T) string {
	var all [][]string
	for _, c := range typed(t, "outcome.go", "Outcome") {
		all = append(all, []string{c[1], without(c[0], c[2]), fmt.Sprint(sluice.Outcome(c[1]).ExitCode())})
	}
	return rows([]string{"outcome", "meaning", "code"}, all)
}

func kindTable(t *testing.T) string {
	var all [][]string
	for _, c := range typed(t, "outcome.go", "Kind") {
		all = append(all, []string{c[1], without(c[0], c[2]), fmt.Sprint(sluice.Kind(c[1]).ExitCode())})
	}
	return rows([]string{"kind", "meaning", "code"}, all)
}

func fieldTable(t *testing.T, name string) string {
	return rows([]string{"field", "what", "remark"}, fields(t, source(t, "event.go"), name, "json"))
}

func eventPages(t *testing.T) string {
	return eventsIn(t, "event.go") + eventsIn(t, "taskevent.go") + eventsIn(t, "unanswered.go") +
		eventsIn(t, "requestscounted.go")
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
			name == "RequestCount" {
			continue
		}
		kind := strings.ToLower(name[:1]) + name[1:]
		if _, unknown := (sluice.Envelope{Kind: kind, Data: []byte("{}")}).Open().(sluice.Unknown); unknown {
			t.Errorf("event %s has no kind %s", name, kind)
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n\n%s\n", kind, upper(without(name, strings.TrimSpace(g.Doc.Text()))),
			rows([]string{"field", "what", "remark"}, fields(t, file, name, "json")))
	}
	return b.String()
}
