package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sluice-ecs/sluice"

// file is one parsed Go file. Names are relative to the module's root.
type file struct {
	name string
	pkg  string // "." for the root
	test bool   // a test, or part of a suite for tests
	ast  *ast.File
	fset *token.FileSet
}

// imported is one import of a file. Path is relative to the module where the
// package is ours; local is the name that the file uses for it.
type imported struct {
	path, local string
	inModule    bool
	at          string
}

func parseFile(name string, src []byte) (*file, error) {
	return parseFileInto(token.NewFileSet(), name, src)
}

func parseFileInto(fset *token.FileSet, name string, src []byte) (*file, error) {
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	pkg := path.Dir(name)
	return &file{name: name, pkg: pkg, test: strings.HasSuffix(name, "_test.go") || isSuite(pkg), ast: f, fset: fset},
		nil
}

// isSuite tells a package of tests that other packages run, such as
// internal/route/routetest.
func isSuite(pkg string) bool {
	base := path.Base(pkg)
	return strings.HasPrefix(pkg, "internal/") && strings.HasSuffix(base, "test") && base != "test"
}

func (f *file) positionOf(p token.Pos) string {
	return fmt.Sprintf("%s:%d", f.name, f.fset.Position(p).Line)
}

func (f *file) imports() []imported {
	var all []imported
	for _, spec := range f.ast.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		i := imported{path: p, local: localName(p), at: f.positionOf(spec.Pos())}
		if spec.Name != nil {
			i.local = spec.Name.Name
		}
		if p == module {
			i.path, i.inModule = ".", true
		} else if rest, ok := strings.CutPrefix(p, module+"/"); ok {
			i.path, i.inModule = rest, true
		}
		all = append(all, i)
	}
	return all
}

// localName guesses a package's name from its path: the last element that is
// not a major version, without a "go-" in front.
func localName(p string) string {
	base := path.Base(p)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(p))
	}
	return strings.TrimPrefix(base, "go-")
}

// importNames maps the names that f uses for packages to their paths.
func (f *file) importNames() map[string]string {
	m := map[string]string{}
	for _, i := range f.imports() {
		m[i.local] = i.path
	}
	return m
}

// packageMember tells which package's member e is: time.Now gives "time", "Now".
func (f *file) packageMember(e ast.Node, named map[string]string) (pkg, name string, ok bool) {
	sel, isSel := e.(*ast.SelectorExpr)
	if !isSel {
		return "", "", false
	}
	id, isID := sel.X.(*ast.Ident)
	if !isID || id.Obj != nil { // Obj: declared in this file, so no package
		return "", "", false
	}
	pkg, ok = named[id.Name]
	return pkg, sel.Sel.Name, ok
}

// parseSources parses every Go file of the module, for every operating system.
func parseSources(t *testing.T) []*file {
	t.Helper()
	return parseSourcesInto(t, token.NewFileSet())
}

// parseSourcesInto is parseSources with the positions in fset.
func parseSourcesInto(t *testing.T, fset *token.FileSet) []*file {
	t.Helper()
	root := moduleRoot(t)
	var all []*file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != root && (skipDir(d.Name()) || isModule(p)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := loadFile(fset, root, p)
		all = append(all, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func loadFile(fset *token.FileSet, root, p string) (*file, error) {
	rel, err := filepath.Rel(root, p)
	if err != nil {
		return nil, err
	}
	src, err := os.ReadFile(p)
	if err != nil {
		return nil, err
	}
	return parseFileInto(fset, filepath.ToSlash(rel), src)
}

func skipDir(name string) bool {
	return name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// isModule tells a folder that is a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if isModule(dir) {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the tests")
		}
		dir = filepath.Dir(dir)
	}
}

// matches tells whether pkg is what pattern says: itself, or with a last "/..."
// also all below.
func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if top, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == top || strings.HasPrefix(pkg, top+"/")
	}
	return pattern == pkg
}

func matchesAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
}

func hasPrefix(prefixes []string, p string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(p, prefix) })
}
