package layers

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// checkCalls tells time, chance and goroutines outside the clock, in the layers
// that must do the same thing twice.
func checkCalls(files []*file) []string {
	var bad []string
	for _, f := range files {
		if r, ok := rowOf(f.pkg); !ok || r.free || f.test {
			continue
		}
		bad = append(bad, impreciseCalls(f)...)
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

func impreciseCalls(f *file) []string {
	var bad []string
	for _, i := range f.imports() {
		switch {
		case slices.Contains(forbiddenImports, i.path):
			bad = append(bad, fmt.Sprintf(
				"%s: imports %s: runs could not be repeated; take what you need as an argument", i.at, i.path))
		case i.local == "." && forbiddenCalls[i.path] != nil:
			bad = append(bad, fmt.Sprintf("%s: imports %s with a dot", i.at, i.path))
		}
	}
	named := f.importNames()
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			bad = append(bad, fmt.Sprintf("%s: go statement: use clock.Clock's Go, or clock.All",
				f.positionOf(g.Pos())))
		}
		if pkg, name, ok := f.packageMember(n, named); ok && slices.Contains(forbiddenCalls[pkg], name) {
			bad = append(bad, fmt.Sprintf("%s: %s.%s: time and chance are injected; use clock.Clock",
				f.positionOf(n.Pos()), pkg, name))
		}
		return true
	})
	return bad
}

// checkClients tells who makes an SDK client past the gate, and who holds one
// where only shapes belong.
func checkClients(files []*file) []string {
	var bad []string
	for _, f := range files {
		r, ok := rowOf(f.pkg)
		if !ok || f.test || isSim(f.pkg) || r.pkg == clientMaker {
			continue
		}
		named := f.importNames()
		ast.Inspect(f.ast, func(n ast.Node) bool {
			pkg, name, ok := f.packageMember(n, named)
			if why := clientRule(r, pkg, name); ok && why != "" {
				bad = append(bad, fmt.Sprintf("%s: %s.%s: %s", f.positionOf(n.Pos()), pkg, name, why))
			}
			return true
		})
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

func clientRule(r layerRow, pkg, name string) string {
	rest, ok := strings.CutPrefix(pkg, sdkServices)
	if !ok || strings.Contains(rest, "/") {
		return ""
	}
	made, held := strings.HasPrefix(name, "New"), strings.HasSuffix(name, "Client")
	switch {
	case r.layer != 2 && (made || held):
		return "SDK service packages are for shapes here"
	case made && !strings.HasSuffix(name, "Paginator"):
		return "only account makes AWS clients; a hand is given one"
	}
	return ""
}
