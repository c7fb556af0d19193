package layers

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// source is an expression that gives a variable, field, parameter or result its value. Index
// selects one of several results of a call.
type source struct {
	expr  ast.Expr
	index int
}

// textFlow finds the texts that a variable or field can have. It follows variables, fields,
// parameters and results of the product's functions, whatever the order in which they are set.
type textFlow struct {
	*program
	sources map[types.Object][]source
	returns map[types.Object][]source // of functions, and of variables that hold one
}

// hole stands for a part of a text that is known at run time only.
const hole = "…"

func newTextFlow(p *program) *textFlow {
	w := &textFlow{program: p, sources: map[types.Object][]source{}, returns: map[types.Object][]source{}}
	params := map[types.Object]*types.Signature{}
	for _, f := range p.allFiles() {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			w.addDeclared(n, params)
			return true
		})
	}
	for _, f := range p.allFiles() {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				w.addArguments(call, params[w.calledObject(call)])
			}
			return true
		})
	}
	return w
}

func (p *program) allFiles() (all []*file) {
	for _, pkg := range slices.Sorted(maps.Keys(p.files)) {
		all = append(all, p.files[pkg]...)
	}
	return all
}

func (w *textFlow) addDeclared(n ast.Node, params map[types.Object]*types.Signature) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		w.addFunction(w.info.Defs[n.Name], n.Type, n.Body, params)
	case *ast.AssignStmt:
		from := n.Rhs
		if n.Tok == token.ADD_ASSIGN { // the text before is another source
			from = []ast.Expr{&ast.BinaryExpr{X: &ast.BadExpr{From: n.Pos()}, OpPos: n.TokPos, Op: token.ADD, Y: n.Rhs[0]}}
		}
		w.addAssigned(n.Lhs, from, params)
	case *ast.ValueSpec:
		var names []ast.Expr
		for _, name := range n.Names {
			names = append(names, name)
		}
		w.addAssigned(names, n.Values, params)
	case *ast.CompositeLit:
		w.addFields(n)
	}
}

func (w *textFlow) addAssigned(to, from []ast.Expr, params map[types.Object]*types.Signature) {
	for i, left := range to {
		obj := w.objectOf(left)
		switch {
		case obj == nil:
		case len(to) == len(from):
			w.addSource(obj, from[i], 0)
			if f, ok := from[i].(*ast.FuncLit); ok {
				w.addFunction(obj, f.Type, f.Body, params)
			}
		case len(from) == 1:
			w.addSource(obj, from[0], i)
		}
	}
}

// addFields adds the values of a struct literal, with keys or without.
func (w *textFlow) addFields(lit *ast.CompositeLit) {
	t := w.info.Types[lit].Type
	if t == nil {
		return
	}
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			w.addSource(w.objectOf(kv.Key), kv.Value, 0)
		} else if i < s.NumFields() {
			w.addSource(s.Field(i), e, 0)
		}
	}
}

func (w *textFlow) addSource(obj types.Object, from ast.Expr, index int) {
	if obj != nil {
		w.sources[obj] = append(w.sources[obj], source{from, index})
	}
}

// addFunction adds what a function returns.
func (w *textFlow) addFunction(obj types.Object, t *ast.FuncType, body *ast.BlockStmt,
	params map[types.Object]*types.Signature) {
	if obj == nil || body == nil {
		return
	}
	s, ok := obj.Type().(*types.Signature)
	if !ok {
		return
	}
	params[obj] = s
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			for i, e := range n.Results {
				w.returns[obj] = append(w.returns[obj], source{e, i})
			}
		}
		return true
	})
	w.addNamedResults(obj, t)
}

// addNamedResults adds the variables that a function without results in its returns sets.
func (w *textFlow) addNamedResults(obj types.Object, t *ast.FuncType) {
	if t.Results == nil {
		return
	}
	i := 0
	for _, group := range t.Results.List {
		for _, name := range group.Names {
			w.returns[obj] = append(w.returns[obj], source{name, i})
			i++
		}
	}
}

func (w *textFlow) addArguments(call *ast.CallExpr, s *types.Signature) {
	if s == nil {
		return
	}
	for i, arg := range call.Args {
		if i < s.Params().Len() && !(s.Variadic() && i >= s.Params().Len()-1) {
			w.addSource(s.Params().At(i), arg, 0)
		}
	}
}

// objectOf returns the variable, field or function that an expression names; nil if it names none.
func (w *textFlow) objectOf(e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.Ident:
		if obj := w.info.Defs[e]; obj != nil {
			return obj
		}
		return w.info.Uses[e]
	case *ast.SelectorExpr:
		return w.info.Uses[e.Sel]
	case *ast.ParenExpr:
		return w.objectOf(e.X)
	}
	return nil
}

func (w *textFlow) calledObject(call *ast.CallExpr) types.Object { return w.objectOf(call.Fun) }

// textsOf returns the texts that an object can have. A part that is known at run time only is a
// hole.
func (w *textFlow) textsOf(obj types.Object, seen map[types.Object]bool) (all []foundText) {
	if obj == nil || seen[obj] {
		return nil
	}
	seen[obj] = true
	defer delete(seen, obj)
	for _, s := range w.sources[obj] {
		all = append(all, w.resolve(s.expr, s.index, seen)...)
	}
	return all
}

// foundText is a text, and where it is written.
type foundText struct {
	text string
	at   token.Pos
}

func (w *textFlow) resolve(e ast.Expr, index int, seen map[types.Object]bool) []foundText {
	if v := w.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return []foundText{{constant.StringVal(v), e.Pos()}}
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.resolve(e.X, index, seen)
	case *ast.BinaryExpr:
		return joinTexts(w.resolveOperand(e.X, seen), w.resolveOperand(e.Y, seen))
	case *ast.CallExpr:
		return w.resolveCall(e, index, seen)
	case *ast.IndexExpr:
		return w.resolveElements(e.X)
	case *ast.Ident, *ast.SelectorExpr:
		return w.textsOf(w.objectOf(e), seen)
	}
	return nil
}

// verb is a verb of package fmt.
var verb = regexp.MustCompile(`%[-+# 0]*[0-9]*(\.[0-9]+)?[a-zA-Z]`)

func (w *textFlow) resolveCall(call *ast.CallExpr, index int, seen map[types.Object]bool) (all []foundText) {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		if pkg, ok := sel.X.(*ast.Ident); ok {
			switch pkg.Name + "." + sel.Sel.Name {
			case "fmt.Sprintf":
				for _, f := range w.resolve(call.Args[0], 0, seen) {
					text := strings.ReplaceAll(verb.ReplaceAllString(f.text, hole), "%%", "%")
					all = append(all, foundText{text, f.at})
				}
				return all
			case "cmp.Or":
				for _, arg := range call.Args {
					all = append(all, w.resolve(arg, 0, seen)...)
				}
				return all
			}
		}
	}
	obj := w.calledObject(call)
	if obj == nil || seen[obj] {
		return nil
	}
	seen[obj] = true
	defer delete(seen, obj)
	for _, s := range w.returns[obj] {
		if s.index == index {
			all = append(all, w.resolve(s.expr, 0, seen)...)
		}
	}
	return all
}

// resolveElements returns the texts of a table's elements.
func (w *textFlow) resolveElements(table ast.Expr) (all []foundText) {
	for _, s := range w.sources[w.objectOf(table)] {
		lit, ok := s.expr.(*ast.CompositeLit)
		if !ok {
			continue
		}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			all = append(all, w.resolve(e, 0, map[types.Object]bool{})...)
		}
	}
	return all
}

// resolveOperand returns the texts of one side of a concatenation, or a hole. The value of a field
// is a name or an ID.
func (w *textFlow) resolveOperand(e ast.Expr, seen map[types.Object]bool) []foundText {
	all := []foundText{{hole, e.Pos()}}
	if v, ok := w.objectOf(e).(*types.Var); ok && v.IsField() && v.Name() != "Next" {
		return all
	}
	known := w.resolve(e, 0, seen)
	if len(known) == 0 || slices.ContainsFunc(known, func(f foundText) bool { return f.text == "" }) {
		return all
	}
	return known
}

// maxPairs is the number of pairs above which the longer list of a concatenation becomes a hole.
const maxPairs = 10

// joinTexts returns each text of a followed by each text of b.
func joinTexts(a, b []foundText) (all []foundText) {
	if len(a)*len(b) > maxPairs {
		if len(a) > len(b) {
			a = []foundText{{hole, b[0].at}}
		} else {
			b = []foundText{{hole, a[0].at}}
		}
	}
	for _, x := range a {
		for _, y := range b {
			at := x.at
			if x.text == hole {
				at = y.at
			}
			all = append(all, foundText{x.text + y.text, at})
		}
	}
	return all
}

// argumentsWith returns the arguments of calls that begin with prefix, without it. Their verbs of
// package fmt are holes.
func (w *textFlow) argumentsWith(prefix string) (all []foundText) {
	for _, f := range w.allFiles() {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, arg := range call.Args {
				if !strings.HasPrefix(w.beginning(arg), prefix) {
					continue
				}
				for _, found := range w.resolve(arg, 0, map[types.Object]bool{}) {
					if text, ok := strings.CutPrefix(found.text, prefix); ok {
						all = append(all, foundText{strings.TrimSpace(verb.ReplaceAllString(text, hole)), found.at})
					}
				}
			}
			return true
		})
	}
	return all
}

// beginning returns the constant text with which an expression begins; "" if there is none.
func (w *textFlow) beginning(e ast.Expr) string {
	if v := w.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	if b, ok := e.(*ast.BinaryExpr); ok {
		return w.beginning(b.X)
	}
	return ""
}
