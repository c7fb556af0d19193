package sluice

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestEventsListsEveryTypeOfEvent compares Events with the types of this package that implement
// Event. Front ends are tested with that list.
func TestEventsListsEveryTypeOfEvent(t *testing.T) {
	listed := []string{"Unknown"}
	for _, e := range Events() {
		listed = append(listed, reflect.TypeOf(e).Name())
	}
	slices.Sort(listed)
	declared := eventTypes(t)
	if len(declared) < 20 || !slices.Equal(listed, declared) {
		t.Errorf("Events lists\n\t%s\nthe types of events are\n\t%s\nadd the others to eventKinds",
			strings.Join(listed, " "), strings.Join(declared, " "))
	}
}

// eventTypes returns the names of the types of this package that implement Event, sorted.
func eventTypes(t *testing.T) (names []string) {
	t.Helper()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	// Imports stay unresolved: the method of Event has no imported type.
	pkg, _ := (&types.Config{Error: func(error) {}}).Check("sluice", fset, files, nil)
	event := pkg.Scope().Lookup("Event").Type().Underlying().(*types.Interface)
	for _, name := range pkg.Scope().Names() {
		is, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if ok && !types.IsInterface(is.Type()) && types.Implements(is.Type(), event) {
			names = append(names, name)
		}
	}
	return names
}
