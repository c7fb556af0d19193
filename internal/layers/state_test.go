package layers

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// checkState tells package-level variables that could change.
func checkState(files []*file) []string {
	packages := map[string][]*file{}
	for _, f := range files {
		if r, ok := rowOf(f.pkg); ok && !r.free && !f.test {
			packages[f.pkg] = append(packages[f.pkg], f)
		}
	}
	var bad []string
	for _, fs := range packages {
		bad = append(bad, stateOf(fs)...)
	}
	slices.Sort(bad)
	return bad
}

func stateOf(files []*file) []string {
	types, changed := typeNames(files), changedNames(files)
	var bad []string
	for _, f := range files {
		named := f.importNames()
		for _, decl := range f.ast.Decls {
			for _, v := range listVariables(decl) {
				for i, id := range v.spec.Names {
					why := mutableReason(f, v, i, named, types)
					if why == "" {
						why = changed[id.Name]
					}
					if id.Name != "_" && why != "" {
						bad = append(bad, fmt.Sprintf("%s: package-level variable %s %s: put it in a struct",
							f.positionOf(id.Pos()), id.Name, why))
					}
				}
			}
		}
	}
	return bad
}

// variable is one spec of a var declaration with its comment.
type variable struct {
	spec *ast.ValueSpec
	doc  *ast.CommentGroup
}

func listVariables(d ast.Decl) []variable {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return nil
	}
	var all []variable
	for _, s := range g.Specs {
		v := variable{spec: s.(*ast.ValueSpec), doc: g.Doc}
		if v.spec.Doc != nil {
			v.doc = v.spec.Doc
		}
		all = append(all, v)
	}
	return all
}

// mutableReason says why the i-th name of v is state; "" if its value is a constant in
// all but name: a value of literals and pure calls, or a table, which may also
// hold functions and what the package's own functions make. A function at this
// level closes over nothing that changes.
func mutableReason(f *file, v variable, i int, named map[string]string, types map[string]bool) string {
	if isEmbedded(v.doc) {
		return ""
	}
	if i >= len(v.spec.Values) {
		return "has no value, so something sets it"
	}
	_, table := v.spec.Values[i].(*ast.CompositeLit)
	why := ""
	ast.Inspect(v.spec.Values[i], func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.FuncLit:
			if !table {
				why = "holds a function"
			}
			return false
		case *ast.UnaryExpr:
			if e.Op == token.AND {
				why = "holds a pointer"
			}
		case *ast.CallExpr:
			if !isPureCall(f, e, named, types) && !(table && isOwnCall(f, e, named)) {
				why = "calls a function"
			}
		}
		if pkg, _, ok := f.packageMember(n, named); ok && slices.Contains(statefulTypes, pkg) {
			why = "is made to change"
		}
		return true
	})
	return why
}

// isOwnCall tells calls of the package's functions, and of methods of what is written
// there as a literal.
func isOwnCall(f *file, call *ast.CallExpr, named map[string]string) bool {
	fun := call.Fun
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	switch e := fun.(type) {
	case *ast.Ident:
		return !slices.Contains(makingBuiltins, e.Name)
	case *ast.SelectorExpr:
		_, literal := e.X.(*ast.CompositeLit)
		return literal
	}
	return false
}

// makingBuiltins are the builtins whose result is there to be changed.
var makingBuiltins = []string{"make", "new"}

func isEmbedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// isPureCall tells conversions and the calls of pureCalls.
func isPureCall(f *file, call *ast.CallExpr, named map[string]string, types map[string]bool) bool {
	fun := call.Fun
	if index, ok := fun.(*ast.IndexExpr); ok { // reflect.TypeFor[T]
		fun = index.X
	}
	switch e := fun.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ParenExpr, *ast.InterfaceType:
		return true
	case *ast.Ident:
		return types[e.Name] || slices.Contains(builtins, e.Name)
	}
	pkg, name, ok := f.packageMember(fun, named)
	return ok && slices.Contains(pureCalls[pkg], name)
}

var builtins = []string{"string", "byte", "rune", "int", "int32", "int64", "uint", "uint32", "uint64", "float64", "len",
	"min", "max"}

func typeNames(files []*file) map[string]bool {
	types := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				types[s.Name.Name] = true
			}
			return true
		})
	}
	return types
}

// changedNames are the package-level names that something in the package
// assigns to, takes the address of, or hands to delete, clear or copy.
func changedNames(files []*file) map[string]string {
	changed := map[string]string{}
	for _, f := range files {
		note := func(e ast.Expr, why string) {
			if id := rootName(e); id != nil && isPackageLevel(f, id) {
				changed[id.Name] = why + " at " + f.positionOf(id.Pos())
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			noteChanges(n, note)
			return true
		})
	}
	return changed
}

// noteChanges notes each expression that n changes or lets be changed.
func noteChanges(n ast.Node, note func(e ast.Expr, why string)) {
	switch s := n.(type) {
	case *ast.AssignStmt:
		for _, l := range s.Lhs {
			if s.Tok != token.DEFINE {
				note(l, "is assigned")
			}
		}
	case *ast.IncDecStmt:
		note(s.X, "is assigned")
	case *ast.RangeStmt:
		if s.Tok == token.ASSIGN {
			note(s.Key, "is assigned")
			note(s.Value, "is assigned")
		}
	case *ast.UnaryExpr:
		if s.Op == token.AND {
			note(s.X, "has its address taken")
		}
	case *ast.CallExpr:
		if id, ok := s.Fun.(*ast.Ident); ok && len(s.Args) > 0 && slices.Contains(changingBuiltins, id.Name) {
			note(s.Args[0], "is changed by "+id.Name)
		}
	}
}

var changingBuiltins = []string{"delete", "clear", "copy"}

// rootName is the x of x, x[i], x.f, *x and x[i:j].
func rootName(e ast.Expr) *ast.Ident {
	switch x := e.(type) {
	case *ast.Ident:
		return x
	case *ast.IndexExpr:
		return rootName(x.X)
	case *ast.SelectorExpr:
		return rootName(x.X)
	case *ast.StarExpr:
		return rootName(x.X)
	case *ast.SliceExpr:
		return rootName(x.X)
	case *ast.ParenExpr:
		return rootName(x.X)
	}
	return nil
}

// isPackageLevel tells names that no function of f declares: the parser links a
// name to its declaration, and leaves names of the package's other files open.
func isPackageLevel(f *file, id *ast.Ident) bool {
	return id.Obj == nil || f.ast.Scope.Lookup(id.Name) == id.Obj
}
