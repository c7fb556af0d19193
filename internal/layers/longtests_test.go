package layers

import (
	"fmt"
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"
)

// longTests are the two variables of the Makefile: packages, and a pattern of names of tests.
var longTests = regexp.MustCompile(`(?m)^LONG = (.*)\nLONG_TESTS = (.*)$`)

// TestLongTestsRun requires that `make test-long` runs each test that does less with -short: a test that no target
// runs as a whole proves little.
func TestLongTestsRun(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := longTests.FindStringSubmatch(string(text))
	if found == nil {
		t.Fatal("the Makefile has no LONG and LONG_TESTS")
	}
	pattern, seen := regexp.MustCompile(found[2]), 0
	for _, f := range parseSources(t) {
		for _, name := range shortTests(f) {
			seen++
			if !pattern.MatchString(name) || !isListed(strings.Fields(found[1]), f.pkg) {
				t.Errorf("%s: %s asks for -short, and make test-long does not run it: add it to LONG_TESTS, and its "+
					"package to LONG", f.name, name)
			}
		}
	}
	if seen == 0 {
		t.Error("no test asks for -short, want some")
	}
}

// isListed reports whether a package is one of the patterns of go test.
func isListed(patterns []string, pkg string) bool {
	for _, p := range patterns {
		tree, whole := strings.CutSuffix(p, "/...")
		if p == "./"+pkg || whole && strings.HasPrefix("./"+pkg+"/", tree+"/") {
			return true
		}
	}
	return false
}

// shortTests returns the tests of a file that ask for -short. If a helper asks, these are all tests of the file.
func shortTests(f *file) (names []string) {
	var all []string
	helped := false
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		asks := false
		ast.Inspect(fn, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			asks = asks || ok && fmt.Sprint(s.X) == "testing" && s.Sel.Name == "Short"
			return true
		})
		switch {
		case isTest(d):
			if all = append(all, fn.Name.Name); asks {
				names = append(names, fn.Name.Name)
			}
		case asks:
			helped = true
		}
	}
	if helped {
		return all
	}
	return names
}
