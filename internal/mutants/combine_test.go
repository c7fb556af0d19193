package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// chosenVariable is the environment variable with the number of the mutation that a combined build runs; 0: none.
const chosenVariable = "SLUICE_MUTATION"

// combination is a source with many mutations. Each changed function exists once unchanged and once for each of
// its mutations, and a number chooses between them when the program starts. So all mutations are compiled once.
type combination struct {
	files   map[string][]*changedFunc // of a source file, by its path from the root
	numbers map[string]int            // of each mutation, by where it is listed; those that are missing run alone
}

// changedFunc is a function with its mutations.
type changedFunc struct {
	start, end int            // in the source
	bodies     map[int]string // the changed function by the number of its mutation
}

// combine combines the mutations that change only the body of one function.
func combine(all []mutation) (*combination, error) {
	c := &combination{files: map[string][]*changedFunc{}, numbers: map[string]int{}}
	for i, m := range all {
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			return nil, err
		}
		source, err := m.apply()
		if err != nil {
			return nil, err
		}
		if f, body, ok := findChange(string(text), source); ok {
			c.add(m.file, f, i+1, body)
			c.numbers[m.where] = i + 1
		}
	}
	return c, nil
}

func (c *combination) add(file string, f *changedFunc, number int, body string) {
	for _, known := range c.files[file] {
		if known.start == f.start {
			known.bodies[number] = body
			return
		}
	}
	f.bodies = map[int]string{number: body}
	c.files[file] = append(c.files[file], f)
}

func (f *changedFunc) numbers() []int { return slices.Sorted(maps.Keys(f.bodies)) }

// findChange returns the only function that differs, and its changed source. ok is false if anything else differs.
func findChange(was, now string) (f *changedFunc, changed string, ok bool) {
	first, last := 0, 0
	for first < min(len(was), len(now)) && was[first] == now[first] {
		first++
	}
	for last < min(len(was), len(now))-first && was[len(was)-1-last] == now[len(now)-1-last] {
		last++
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", was, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", false
	}
	for _, d := range parsed.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		if !isFunc || fn.Body == nil || fn.Name.Name == "init" || fn.Name.Name == "main" {
			continue
		}
		offset := func(p token.Pos) int { return set.Position(p).Offset }
		f := &changedFunc{start: offset(fn.Pos()), end: offset(fn.End())}
		if first > offset(fn.Body.Pos()) && len(was)-last < f.end {
			return f, now[f.start : f.end+len(now)-len(was)], true
		}
	}
	return nil, "", false
}

// write writes the changed files and returns the overlay file that names them.
func (c *combination) write(t *testing.T) (overlay string) {
	t.Helper()
	replaced := map[string]string{}
	for file, changed := range c.files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		source, err := withMutations(string(text), changed)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		replaced[file] = source
		name := strings.Fields(string(text)[strings.Index("\n"+string(text), "\npackage "):])[1]
		replaced[filepath.Join(filepath.Dir(file), "chosenmutation.go")] = fmt.Sprintf(
			"package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\n"+
				"var chosenMutation, _ = strconv.Atoi(os.Getenv(%q))\n", name, chosenVariable)
	}
	return writeOverlay(t, replaced)
}

// withMutations returns a source in which each changed function calls the version that is chosen.
func withMutations(source string, changed []*changedFunc) (string, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	at := map[int]*changedFunc{}
	for _, f := range changed {
		at[f.start] = f
	}
	var b strings.Builder
	done := 0
	for _, d := range parsed.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		f := at[set.Position(d.Pos()).Offset]
		if !isFunc || f == nil {
			continue
		}
		text := func(n ast.Node) string {
			return source[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset]
		}
		nameAt := set.Position(fn.Name.Pos()).Offset - f.start
		version := func(body, suffix string) string {
			return body[:nameAt+len(fn.Name.Name)] + suffix + body[nameAt+len(fn.Name.Name):] + "\n\n"
		}
		b.WriteString(source[done:f.start])
		b.WriteString(chooser(fn, f, text))
		b.WriteString(version(source[f.start:f.end], "Unchanged"))
		for _, number := range f.numbers() {
			b.WriteString(version(f.bodies[number], fmt.Sprintf("Mutation%d", number)))
		}
		done = f.end
	}
	return b.String() + source[done:], nil
}

// chooser returns a function that calls the chosen version of fn.
func chooser(fn *ast.FuncDecl, f *changedFunc, text func(ast.Node) string) string {
	var parameters, arguments []string
	for _, field := range fn.Type.Params.List {
		for range max(1, len(field.Names)) {
			name := fmt.Sprintf("p%d", len(parameters))
			parameters = append(parameters, name+" "+text(field.Type))
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				name += "..."
			}
			arguments = append(arguments, name)
		}
	}
	receiver, callee, types := "", fn.Name.Name, ""
	if fn.Recv != nil {
		receiver, callee = "(receiver "+text(fn.Recv.List[0].Type)+") ", "receiver."+callee
	}
	declared := ""
	if fn.Type.TypeParams != nil {
		var names []string
		for _, field := range fn.Type.TypeParams.List {
			for _, n := range field.Names {
				names = append(names, n.Name)
			}
		}
		declared, types = text(fn.Type.TypeParams), "["+strings.Join(names, ", ")+"]"
	}
	results, give := "", ""
	if fn.Type.Results != nil {
		results, give = " "+text(fn.Type.Results), "return "
	}
	call := func(suffix string) string {
		return give + callee + suffix + types + "(" + strings.Join(arguments, ", ") + ")\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "func %s%s%s(%s)%s {\n\tswitch chosenMutation {\n", receiver, fn.Name.Name, declared,
		strings.Join(parameters, ", "), results)
	for _, number := range f.numbers() {
		fmt.Fprintf(&b, "\tcase %d:\n\t\t%s", number, call(fmt.Sprintf("Mutation%d", number)))
		if give == "" {
			b.WriteString("\t\treturn\n")
		}
	}
	fmt.Fprintf(&b, "\t}\n\t%s}\n\n", call("Unchanged"))
	return b.String()
}
