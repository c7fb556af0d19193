package layers

import (
	"go/ast"
	"go/types"
	"slices"
	"testing"
)

// Every literal of plan.Change says its kind, so that no view has to guess from texts.
func TestEveryPlanChangeHasAKind(t *testing.T) {
	p, found := checkTypes(t), 0
	for _, f := range p.allFiles() {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) == 0 || !isPlanChange(p.info.Types[lit].Type) {
				return true
			}
			found++
			if !setsField(lit, "Kind") {
				t.Errorf("%s: a plan.Change without a Kind: set plan.Adds, plan.Alters or plan.Removes",
					f.positionOf(lit.Pos()))
			}
			return true
		})
	}
	if found < 10 {
		t.Errorf("only %d changes were found: does the test still see them?", found)
	}
}

func isPlanChange(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == "Change" && named.Obj().Pkg() != nil &&
		named.Obj().Pkg().Path() == module+"/internal/plan"
}

func setsField(lit *ast.CompositeLit, name string) bool {
	return slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return true // without keys, every field has a value
		}
		key, ok := pair.Key.(*ast.Ident)
		return ok && key.Name == name
	})
}
