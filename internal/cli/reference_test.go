package cli

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// TestReference holds the tables of docs/reference against the code that they
// are about; -update writes them anew. What stands outside the marks is written
// by hand.
func TestReference(t *testing.T) {
	for page, blocks := range map[string]map[string]string{
		"application-files.md": {"honoured": keyTable(appfile.Honoured), "pipeds-own": keyTable(appfile.PipedsOwn), "refused": keyTable(appfile.Refused)},
		"commands.md":          {"commands": commandPages(), "everywhere": everywhere()},
		"exit-codes.md":        {"codes": exitTable(t), "outcomes": outcomeTable(t), "kinds": kindTable(t)},
		"events.md":            {"envelope": fieldTable(t, "Envelope"), "events": eventPages(t)},
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
			t.Errorf("%s: %s is not what the code says; run go test ./internal/cli -run TestReference -update\n%s", path, name, want)
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

func keyTable(of appfile.List) string {
	var all [][]string
	for _, k := range appfile.Keys() {
		if k.List == of {
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
	return p.root()
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

// source parses one file of the project, with its comments.
func source(t *testing.T, elements ...string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(append([]string{"..", ".."}, elements...)...), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// constants are the constants of a file whose names begin so, with their values
// and comments.
func constants(f *ast.File, prefix string) [][3]string {
	var all [][3]string
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, prefix) {
			return true
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok {
			all = append(all, [3]string{v.Names[0].Name, strings.Trim(lit.Value, `"`), comment(v.Comment, v.Doc)})
		}
		return true
	})
	return all
}

func comment(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.TrimSpace(g.Text()); text != "" {
			return text
		}
	}
	return ""
}

// without takes a name and what ties it to the sentence off a comment.
func without(name, text string) string {
	for _, tie := range []string{":", " is", " are", " says"} {
		if rest, ok := strings.CutPrefix(text, name+tie+" "); ok {
			return rest
		}
	}
	return text
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

// typed are the constants of a type.
func typed(t *testing.T, file, name string) [][3]string {
	var all [][3]string
	ast.Inspect(source(t, strings.Split(file, "/")...), func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		lit, isLit := v.Values[0].(*ast.BasicLit)
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == name && isLit {
			all = append(all, [3]string{v.Names[0].Name, strings.Trim(lit.Value, `"`), comment(v.Comment, v.Doc)})
		}
		return true
	})
	return all
}

// fields are those of a struct: JSON or YAML name, type, comment.
func fields(t *testing.T, file *ast.File, name, tag string) [][]string {
	t.Helper()
	var all [][]string
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.TypeSpec)
		if !ok || s.Name.Name != name {
			return true
		}
		st, ok := s.Type.(*ast.StructType)
		found = ok
		for _, f := range st.Fields.List {
			if f.Tag == nil {
				if len(f.Names) == 0 { // embedded
					all = append(all, fields(t, source(t, "words.go"), f.Type.(*ast.Ident).Name, tag)...)
				}
				continue
			}
			key, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get(tag), ",")
			if key != "" {
				all = append(all, []string{"`" + key + "`", kindOf(f.Type), comment(f.Comment, f.Doc)})
			}
		}
		return false
	})
	if !found {
		t.Fatalf("no struct %s", name)
	}
	return all
}

// kindOf is a Go type as JSON has it.
func kindOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		switch e.Name {
		case "int", "int64", "int32", "float64":
			return "number"
		case "bool":
			return "true or false"
		}
		return "text"
	case *ast.ArrayType:
		return "list of " + kindOf(e.Elt)
	case *ast.SelectorExpr:
		switch e.Sel.Name {
		case "Time":
			return "time"
		case "RawMessage":
			return "the event"
		}
	}
	return "text"
}

func fieldTable(t *testing.T, name string) string {
	return rows([]string{"field", "what", "remark"}, fields(t, source(t, "event.go"), name, "json"))
}

func eventPages(t *testing.T) string {
	return eventsIn(t, "event.go") + eventsIn(t, "taskevent.go")
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
		if name == "Envelope" || name == "Event" || name == "Unknown" || name == "ContainerEnded" {
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

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func imageTable() string {
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(image.Options)) {
		all = append(all, []string{"`" + name + "`", image.Options[name]})
	}
	return rows([]string{"option", "what the image does"}, all)
}

func faultTable(t *testing.T) string {
	var all [][]string
	for _, c := range typed(t, "awssim/fault/fault.go", "Kind") {
		all = append(all, []string{"`" + c[1] + "`", c[2]})
	}
	return rows([]string{"fault", "what happens"}, all)
}

// docOf is the comment of a function.
func docOf(t *testing.T, file *ast.File, name string) string {
	t.Helper()
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			return f.Doc.Text()
		}
	}
	t.Fatalf("no func %s", name)
	return ""
}

// indented are the indented lines of a comment.
func indented(doc string) []string {
	var all []string
	for _, line := range strings.Split(doc, "\n") {
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			all = append(all, rest)
		}
	}
	return all
}

func faultLines(t *testing.T) string {
	return "```\n" + strings.Join(indented(docOf(t, source(t, "awssim", "fault", "parse.go"), "Parse")), "\n") + "\n```"
}

func controlTable(t *testing.T) string {
	var all [][]string
	for _, line := range indented(docOf(t, source(t, "awssim", "control.go"), "Handler")) {
		words := strings.Fields(line)
		all = append(all, []string{"`" + words[0] + " " + words[1] + "`", strings.Join(words[2:], " ")})
	}
	return rows([]string{"request", "what it does"}, all)
}

func worldExample(t *testing.T) string {
	return "```yaml\n" + strings.Join(indented(docOf(t, source(t, "awssim", "lay.go"), "Load")), "\n") + "\n```"
}

// knobTable joins the names of world files with what package world says of each.
func knobTable(t *testing.T) string {
	says := map[string]string{}
	last := ""
	for _, f := range structOf(t, source(t, "awssim", "world", "knobs.go"), "Knobs") {
		last = cmp.Or(comment(f.Comment, f.Doc), last)
		for _, n := range f.Names {
			says[n.Name] = without(n.Name, last)
		}
	}
	var all [][]string
	for _, f := range structOf(t, source(t, "awssim", "worldknobs.go"), "knobsFile") {
		key := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml")
		all = append(all, []string{"`" + key + "`", cmp.Or(without(f.Names[0].Name, comment(f.Comment, f.Doc)), says[f.Names[0].Name])})
	}
	return rows([]string{"knob", "what it is"}, all)
}

func structOf(t *testing.T, file *ast.File, name string) (all []*ast.Field) {
	t.Helper()
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok && s.Name.Name == name {
			all = s.Type.(*ast.StructType).Fields.List
		}
		return true
	})
	if len(all) == 0 {
		t.Fatalf("no struct %s", name)
	}
	return all
}

// remarks say of keys of world files what their code does not.
var remarks = map[string]string{
	"account":                                "whose state it is, 12 digits in quotes",
	"settled":                                "`true`, the default: it has been there for ten minutes; `false`: everything begins now",
	"images":                                 "images by name, with the options below, `version`, and `commands`: what the image does when it is started with another command, by that command",
	"knobs":                                  "delays, below",
	"faults":                                 "lines, below",
	"subnets":                                "ids of the default network's subnets, at most three",
	"clusters":                               "names",
	"loadBalancers[].listeners[].rules[]":    "at least one condition (`path`, `host`, `method`, `header`) and an action",
	"loadBalancers[].listeners[].fixed":      "an answer of the load balancer's own",
	"loadBalancers[].listeners[].stickiness": "how long a client stays with its target group",
	"targetGroups[].port":                    "80 if not given",
	"targetGroups[].healthCheck.healthy":     "checks in a row until healthy",
	"targetGroups[].healthCheck.unhealthy":   "checks in a row until unhealthy",
	"targetGroups[].healthCheck.matcher":     "statuses that are healthy, as `200-299`",
	"targetGroups[].attributes":              "any other attribute, as AWS names it",
	"services[].controller":                  "`EXTERNAL`, the default, `ECS` or `CODE_DEPLOY`",
	"services[].cluster":                     "may be left out where there is one",
	"services[].family":                      "of its task definition; its name if not given",
	"services[].port":                        "80 if not given",
	"services[].grace":                       "health check grace period",
}

// worldKeys are the keys of world files, from the structs that read them.
func worldKeys(t *testing.T) string {
	files, err := filepath.Glob(filepath.Join("..", "..", "awssim", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	structs := map[string]*ast.StructType{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(source(t, "awssim", filepath.Base(name)), func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if st, ok := s.Type.(*ast.StructType); ok {
					structs[s.Name.Name] = st
				}
			}
			return true
		})
	}
	return rows([]string{"key", "value", "remark"}, keysOf(structs, "worldFile", ""))
}

// keysOf are the keys of a struct and of those within.
func keysOf(structs map[string]*ast.StructType, name, path string) (all [][]string) {
	for _, f := range structs[name].Fields.List {
		if f.Tag == nil {
			continue
		}
		key, inline, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml"), ",")
		inner, suffix := elementOf(f.Type)
		if inline == "inline" {
			all = append(all, keysOf(structs, inner, path)...)
			continue
		}
		at := path + key + suffix
		within := structs[inner] != nil && inner != "knobsFile"
		if says := cmp.Or(without(f.Names[0].Name, comment(f.Comment, f.Doc)), remarks[at]); says != "" || !within {
			all = append(all, []string{"`" + at + "`", valueOf(f.Type), says})
		}
		if within {
			all = append(all, keysOf(structs, inner, at+".")...)
		}
	}
	return all
}

// elementOf is the struct that a field holds, and "[]" if it holds many.
func elementOf(e ast.Expr) (name, suffix string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return elementOf(e.X)
	case *ast.ArrayType:
		name, _ = elementOf(e.Elt)
		if name == "string" {
			return name, ""
		}
		return name, "[]"
	case *ast.Ident:
		return e.Name, ""
	}
	return "", ""
}

// valueOf is a Go type as YAML has it.
func valueOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return valueOf(e.X)
	case *ast.ArrayType:
		return "list"
	case *ast.MapType:
		return "map"
	case *ast.SelectorExpr:
		if e.Sel.Name == "Duration" {
			return "duration"
		}
		return "map"
	case *ast.Ident:
		switch e.Name {
		case "string":
			return "text"
		case "bool":
			return "true or false"
		case "int", "int32", "int64", "float64":
			return "number"
		}
	}
	return "map"
}
