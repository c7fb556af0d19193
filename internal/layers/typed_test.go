package layers

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// program is the type-checked source of the product: every package of the module except tests and
// the local AWS.
type program struct {
	fset  *token.FileSet
	info  *types.Info
	files map[string][]*file // by package
	done  map[string]*types.Package
}

// checkTypes type-checks the product. Packages of other modules are empty, which leaves the types
// of their members unknown; the tests need only types of this module.
func checkTypes(t *testing.T) *program {
	t.Helper()
	p := &program{fset: token.NewFileSet(), files: map[string][]*file{}, done: map[string]*types.Package{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{}}}
	for _, f := range parseSourcesInto(t, p.fset) {
		if !f.test && !isSim(f.pkg) {
			p.files[f.pkg] = append(p.files[f.pkg], f)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(p.files)) {
		p.checkPackage(pkg)
	}
	return p
}

// Import implements [types.Importer].
func (p *program) Import(name string) (*types.Package, error) {
	if name == module {
		return p.checkPackage("."), nil
	}
	if pkg, ok := strings.CutPrefix(name, module+"/"); ok && !isSim(pkg) {
		return p.checkPackage(pkg), nil
	}
	if p.done[name] == nil {
		p.done[name] = types.NewPackage(name, localName(name))
		p.done[name].MarkComplete()
	}
	return p.done[name], nil
}

func (p *program) checkPackage(pkg string) *types.Package {
	full := path.Join(module, pkg)
	if p.done[full] == nil {
		var trees []*ast.File
		for _, f := range p.files[pkg] {
			trees = append(trees, f.ast)
		}
		config := types.Config{Importer: p, Error: func(error) {}}
		p.done[full], _ = config.Check(full, p.fset, trees, p.info)
	}
	return p.done[full]
}

var _ types.Importer = (*program)(nil)
