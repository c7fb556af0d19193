package mutants

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutationsCompile type-checks each changed package. A mutation that does not compile proves nothing.
func TestMutationsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs the export data of all packages")
	}
	all, err := readAll()
	if err != nil {
		t.Fatal(err)
	}
	c := newCompiler(t)
	for _, m := range all {
		source, err := m.apply()
		if err != nil {
			t.Error(err)
			continue
		}
		if err := c.check(m.file, source); err != nil {
			t.Errorf("%s: %s: %v", m.where, m.rule, err)
		}
	}
}

// compiler type-checks packages of the module.
type compiler struct {
	fset     *token.FileSet
	packages map[string]listedPackage // by import path
	parsed   map[string]*ast.File     // unchanged files, by their paths
	imported types.Importer
}

// listedPackage is a package as go list prints it.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func newCompiler(t *testing.T) *compiler {
	t.Helper()
	c := &compiler{fset: token.NewFileSet(), packages: map[string]listedPackage{}, parsed: map[string]*ast.File{}}
	c.imported = importer.ForCompiler(c.fset, "gc", func(name string) (io.ReadCloser, error) {
		return os.Open(c.packages[name].Export)
	})
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return c
		case err != nil:
			t.Fatal(err)
		}
		c.packages[p.ImportPath] = p
	}
}

// check type-checks the package of a file, given by its path from the root, with another source of that file.
func (c *compiler) check(file, source string) error {
	p := c.packages[path.Join("github.com/sluice-ecs/sluice", path.Dir(file))]
	var files []*ast.File
	for _, name := range p.GoFiles {
		full := filepath.Join(p.Dir, name)
		if name == path.Base(file) {
			changed, err := parser.ParseFile(c.fset, full, source, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, changed)
			continue
		}
		if c.parsed[full] == nil {
			f, err := parser.ParseFile(c.fset, full, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			c.parsed[full] = f
		}
		files = append(files, c.parsed[full])
	}
	_, err := (&types.Config{Importer: c.imported}).Check(p.ImportPath, c.fset, files, nil)
	return err
}
