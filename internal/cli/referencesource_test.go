package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// source parses one file of the project, with its comments.
func source(t *testing.T, elements ...string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(append([]string{"..", ".."}, elements...)...), nil,
		parser.ParseComments)
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

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

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
