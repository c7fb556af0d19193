package layers

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// rowOf is the row of pkg. A suite for tests without a row of its own has the row of its parent.
func rowOf(pkg string) (layerRow, bool) {
	rows := slices.Concat(layerTable, simulatorTable)
	if isSuite(pkg) && !slices.ContainsFunc(rows, func(r layerRow) bool { return r.pkg == pkg }) {
		pkg = path.Dir(pkg)
	}
	if i := slices.IndexFunc(rows, func(r layerRow) bool { return r.pkg == pkg }); i >= 0 {
		return rows[i], true
	}
	if i := slices.IndexFunc(rows, func(r layerRow) bool { return matches(r.pkg, pkg) }); i >= 0 {
		return rows[i], true
	}
	return layerRow{}, false
}

func isSim(pkg string) bool { return matches("awssim/...", pkg) }

// checkArrows reports every import that the layer table does not allow.
func checkArrows(files []*file) []string {
	var bad []string
	for _, f := range files {
		r, ok := rowOf(f.pkg)
		if !ok {
			bad = append(bad, missingRowText(f.pkg))
			continue
		}
		for _, i := range f.imports() {
			why := ""
			if i.inModule {
				why = importProblem(r, f, i.path)
			} else if !f.test {
				why = libraryProblem(r, i.path)
			}
			if why != "" {
				bad = append(bad, fmt.Sprintf("%s: %s imports %s: %s", i.at, f.pkg, i.path, why))
			}
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

func missingRowText(pkg string) string {
	if isSim(pkg) {
		return fmt.Sprintf("%s has no row in simulatorTable (internal/layers/rules_test.go): add it as a "+
			"controller, a service or a package that connects them", pkg)
	}
	s := fmt.Sprintf("%s is in no layer: give it a row in layerTable (internal/layers/rules_test.go):", pkg)
	for n, name := range layerNames {
		s += fmt.Sprintf(" %d %s;", n, name)
	}
	return strings.TrimSuffix(s, ";")
}

// importProblem returns why f, in the package of row r, may not import the package to; "" if it may.
func importProblem(r layerRow, f *file, to string) string {
	target, ok := rowOf(to)
	switch {
	case f.pkg == to, !ok: // an unknown target is told where it stands
		return ""
	case isSuite(to) && !f.test:
		return "a suite of tests is imported by tests only"
	case matchesAny(r.also, to):
		return ""
	case f.test && testMay(r, f.pkg, target, to):
		return ""
	case !isSim(f.pkg) && !isSim(to) && slices.Contains(r.below, target.layer) && !journalFromStage(r, to):
		return ""
	}
	return refusalText(r, f.pkg, target, to)
}

// testMay: tests reach the local AWS, whatever is not above them and what their row names;
// those of the local AWS stay inside it.
func testMay(r layerRow, from string, target layerRow, to string) bool {
	if isSim(from) {
		return isSim(to)
	}
	return isSim(to) || target.layer <= r.layer || matchesAny(r.tests, to)
}

func journalFromStage(r layerRow, to string) bool {
	return r.layer == 3 && to == "internal/journal"
}

func refusalText(r layerRow, from string, target layerRow, to string) string {
	for _, l := range namedArrows {
		if matches(l.from, from) && matches(l.to, to) {
			return l.why
		}
	}
	switch {
	case isSim(from):
		return fmt.Sprintf("it may import %s; controllers share state only through world", orNothing(r.also))
	case target.layer > r.layer:
		return fmt.Sprintf("imports only point down, and layer %d is above layer %d", target.layer, r.layer)
	case target.layer == r.layer:
		return fmt.Sprintf("packages of layer %d (%s) do not import each other", r.layer, layerNames[r.layer])
	}
	return fmt.Sprintf("layer %d (%s) may not import layer %d", r.layer, layerNames[r.layer], target.layer)
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing of ours"
	}
	return strings.Join(list, ", ")
}

// libraryProblem says why the package of row r may not import a package that is not
// ours; "" if it may.
func libraryProblem(r layerRow, p string) string {
	if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") {
		return "" // standard library
	}
	if hasPrefix(clientParts, p) && r.pkg != clientMaker && !isSim(r.pkg) {
		return "only account makes AWS clients"
	}
	if r.layer == frontEnds && hasPrefix([]string{sdkServices}, p) {
		return "front ends do not import packages of AWS services: use an adapter, or a value of definition or plan"
	}
	if hasPrefix(r.libs, p) {
		return ""
	}
	return fmt.Sprintf("its row allows %s", librariesText(r.libs))
}

func librariesText(libs []string) string {
	if len(libs) == 0 {
		return "the standard library only"
	}
	return "the standard library, " + strings.Join(libs, ", ")
}

// checkNames tells packages whose name says nothing.
func checkNames(files []*file) []string {
	var bad []string
	for _, f := range files {
		for _, name := range []string{f.ast.Name.Name, path.Base(f.pkg)} {
			if slices.Contains(forbiddenNames, name) {
				bad = append(bad, fmt.Sprintf("%s: package %s: name it by a noun or a verb of the field", f.pkg, name))
			}
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

// checkCommands tells libraries that a command carries without needing them.
func checkCommands(files []*file) []string {
	ours, theirs := map[string][]string{}, map[string][]string{}
	for _, f := range files {
		for _, i := range f.imports() {
			switch {
			case f.test:
			case i.inModule:
				ours[f.pkg] = append(ours[f.pkg], i.path)
			default:
				theirs[f.pkg] = append(theirs[f.pkg], i.path)
			}
		}
	}
	var bad []string
	for _, c := range commands {
		for _, pkg := range importsOf(ours, c.cmd) {
			for _, lib := range theirs[pkg] {
				if hasPrefix(c.never, lib) && !hasPrefix(c.but, lib) {
					bad = append(bad, fmt.Sprintf("%s carries %s, through %s", c.cmd, lib, pkg))
				}
			}
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

// importsOf is from and all that it imports, directly or not, sorted.
func importsOf(imports map[string][]string, from string) []string {
	seen := map[string]bool{from: true}
	for todo := []string{from}; len(todo) > 0; todo = todo[1:] {
		for _, next := range imports[todo[0]] {
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	var all []string
	for pkg := range seen {
		all = append(all, pkg)
	}
	slices.Sort(all)
	return all
}
