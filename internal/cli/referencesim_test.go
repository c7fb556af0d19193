package cli

import (
	"cmp"
	"go/ast"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
)

func imageTable() string {
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(image.Options)) {
		all = append(all, []string{"`" + name + "`", image.Options[name]})
	}
	return goldentest.Table([]string{"option", "what the image does"}, all)
}

func faultTable(t *testing.T) string {
	var all [][]string
	for _, c := range typed(t, "awssim/fault/fault.go", "Kind") {
		all = append(all, []string{"`" + c[1] + "`", c[2]})
	}
	return goldentest.Table([]string{"fault", "what happens"}, all)
}

func faultLines(t *testing.T) string {
	return "```\n" + strings.Join(indented(docOf(t, source(t, "awssim", "fault", "parse.go"), "Parse")), "\n") + "\n```"
}

func controlTable(t *testing.T) string {
	var all [][]string
	for _, line := range indented(docOf(t, source(t, "awssim", "control.go"), "Handler")) {
		words := strings.Fields(line)
		all = append(all, []string{"`" + words[0] + " " + words[1] + "`", strings.Join(words[2:], " ")})
	}
	return goldentest.Table([]string{"request", "what it does"}, all)
}

func worldExample(t *testing.T) string {
	return "```yaml\n" + strings.Join(indented(docOf(t, source(t, "awssim", "loadworld.go"), "Load")), "\n") + "\n```"
}

// knobTable joins the names of world files with what package world says of each.
func knobTable(t *testing.T) string {
	says := map[string]string{}
	last := ""
	for _, f := range structOf(t, source(t, "awssim", "world", "settings.go"), "Settings") {
		last = cmp.Or(comment(f.Comment, f.Doc), last)
		for _, n := range f.Names {
			says[n.Name] = without(n.Name, last)
		}
	}
	var all [][]string
	for _, f := range structOf(t, source(t, "awssim", "worldfile_settings.go"), "settingsFile") {
		key := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml")
		all = append(all, []string{"`" + key + "`", cmp.Or(without(f.Names[0].Name, comment(f.Comment, f.Doc)),
			says[f.Names[0].Name])})
	}
	return goldentest.Table([]string{"setting", "meaning"}, all)
}

// remarks say of keys of world files what their code does not.
var remarks = map[string]string{
	"account": "whose state it is, 12 digits in quotes",
	"settled": "`true`, the default: it has been there for ten minutes; `false`: " +
		"everything begins now",
	"images": "images by name, with the options below, `version`, and `commands`: " +
		"what the image does when it is started with another command, by that command; `*` matches any text, " +
		"so `\"registry.test/*\": {noboot: true}` selects images that cannot be pulled. Any other image is a healthy " +
		"server that answers its name and tag",
	"knobs":          "delays, below",
	"faults":         "lines, below",
	"subnets":        "ids of the default network's subnets, at most 12; the first three are in zones a, b and c",
	"clusters":       "names",
	"logGroups":      "names of log groups of CloudWatch Logs",
	"securityGroups": "ids of security groups of the default network",
	"alarms":         "names of alarms of CloudWatch; they are in state OK",
	"loadBalancers[].listeners[].rules[]": "at least one condition (`path`, `host`, `method`, `header`) and an " +
		"action",
	"loadBalancers[].listeners[].fixed":      "an answer of the load balancer's own",
	"loadBalancers[].listeners[].stickiness": "how long a client stays with its target group",
	"targetGroups[].port":                    "80 if not given",
	"targetGroups[].healthCheck.healthy":     "checks in a row until healthy",
	"targetGroups[].healthCheck.unhealthy":   "checks in a row until unhealthy",
	"targetGroups[].healthCheck.matcher":     "statuses that are healthy, as `200-299`",
	"targetGroups[].attributes":              "any other attribute, as AWS names it",
	"services[].cluster":                     "may be left out where there is one",
	"capacity[].cluster":                     "may be left out where there is one",
	"services[].family":                      "of its task definition; its name if not given",
	"services[].port":                        "80 if not given",
	"services[].grace":                       "health check grace period",
}

// worldKeys are the keys of world files, from the structs that read them.
func worldKeys(t *testing.T) string {
	files, err := filepath.Glob(filepath.Join("..", "..", "awssim", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	structs := map[string]*ast.StructType{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(source(t, "awssim", filepath.Base(name)), func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if st, ok := s.Type.(*ast.StructType); ok {
					structs[s.Name.Name] = st
				}
			}
			return true
		})
	}
	return goldentest.Table([]string{"key", "value", "remark"}, keysOf(structs, "worldFile", ""))
}

// keysOf are the keys of a struct and of those within.
func keysOf(structs map[string]*ast.StructType, name, path string) (all [][]string) {
	for _, f := range structs[name].Fields.List {
		if f.Tag == nil {
			continue
		}
		key, inline, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml"), ",")
		inner, suffix := elementOf(f.Type)
		if inline == "inline" {
			all = append(all, keysOf(structs, inner, path)...)
			continue
		}
		at := path + key + suffix
		within := structs[inner] != nil && inner != "settingsFile"
		if says := cmp.Or(without(f.Names[0].Name, comment(f.Comment, f.Doc)), remarks[at]); says != "" || !within {
			all = append(all, []string{"`" + at + "`", valueOf(f.Type), says})
		}
		if within {
			all = append(all, keysOf(structs, inner, at+".")...)
		}
	}
	return all
}

// elementOf is the struct that a field holds, and "[]" if it holds many.
func elementOf(e ast.Expr) (name, suffix string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return elementOf(e.X)
	case *ast.ArrayType:
		name, _ = elementOf(e.Elt)
		if name == "string" {
			return name, ""
		}
		return name, "[]"
	case *ast.Ident:
		return e.Name, ""
	}
	return "", ""
}

// valueOf is a Go type as YAML has it.
func valueOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return valueOf(e.X)
	case *ast.ArrayType:
		return "list"
	case *ast.MapType:
		return "map"
	case *ast.SelectorExpr:
		if e.Sel.Name == "Duration" {
			return "duration"
		}
		return "map"
	case *ast.Ident:
		switch e.Name {
		case "string":
			return "text"
		case "bool":
			return "true or false"
		case "int", "int32", "int64", "float64":
			return "number"
		}
	}
	return "map"
}
