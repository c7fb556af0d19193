package layers

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// checkDocComments requires that the comment of a function or a type begins with its name: a name that it no longer has
// leads readers astray. Tests say what holds, and begin with that.
func checkDocComments(files []*file) (bad []string) {
	for _, f := range files {
		if f.test || ast.IsGenerated(f.ast) {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				bad = append(bad, docProblems(f, d.Name, d.Doc)...)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if of, ok := s.(*ast.TypeSpec); ok && of.Doc != nil {
						bad = append(bad, docProblems(f, of.Name, of.Doc)...)
					} else if ok && len(d.Specs) == 1 {
						bad = append(bad, docProblems(f, of.Name, d.Doc)...)
					}
				}
			}
		}
	}
	return bad
}

func docProblems(f *file, name *ast.Ident, doc *ast.CommentGroup) []string {
	words := strings.Fields(doc.Text())
	if name.Name == "init" || len(words) == 0 {
		return nil
	}
	if article := words[0] == "A" || words[0] == "An" || words[0] == "The"; article && len(words) > 1 {
		words = words[1:]
	}
	if first := strings.TrimSuffix(strings.TrimRight(words[0], ",.:;"), "'s"); first != name.Name {
		return []string{fmt.Sprintf("%s: the comment of %s begins with %s", f.fset.Position(name.Pos()), name.Name, first)}
	}
	return nil
}

func TestDocComments(t *testing.T) {
	for name, c := range map[string]struct{ code, want string }{
		"its name":                 {"// run runs.\nfunc run() {}\n", ""},
		"no comment":               {"func run() {}\n", ""},
		"another name":             {"// Start runs.\nfunc run() {}\n", "the comment of run begins with Start"},
		"another name of a method": {"// Start runs.\nfunc (t) run() {}\n", "the comment of run begins with Start"},
		"an article":               {"// A row is a line.\ntype row struct{}\n", ""},
		"another name of a type":   {"// line is a row.\ntype row struct{}\n", "the comment of row begins with line"},
		"a type of several": {"type (\n\t// line is a row.\n\trow struct{}\n\tcolumn struct{}\n)\n",
			"the comment of row begins with line"},
	} {
		f, err := parseFile("internal/a/a.go", []byte("package a\n"+c.code))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { expect(t, checkDocComments([]*file{f}), c.want) })
	}
}
