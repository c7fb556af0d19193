package validate

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

var update = flag.Bool("update", false, "write modeltable.go again")

const (
	sdkModule = "github.com/aws/aws-sdk-go-v2/service/ecs"
	// modelModule is the module with AWS's model as data. The Go code of the current SDK does not
	// have the lengths, ranges and patterns of the model.
	modelModule = "github.com/aws/aws-sdk-go@v1.55.8"
	modelFile   = "models/apis/ecs/2014-11-13/api-2.json"
	generate    = "go test ./internal/validate -run TestModelTable -update"
)

// TestModelTableIsCurrent writes or compares modeltable.go: the required members as the comments of
// the SDK's structs state them, the constraints as the model states them. A machine without the
// model compares the required members only.
func TestModelTableIsCurrent(t *testing.T) {
	structs := reachableStructs()
	rows := constraints[:]
	model, err := os.ReadFile(filepath.Join(goList(t, "env", "GOMODCACHE"), modelModule, modelFile))
	switch {
	case err == nil:
		rows = modelConstraints(t, model, structs)
	case *update:
		t.Fatalf("%v\nrun go mod download %s in a folder outside of this module", err, modelModule)
	default:
		t.Logf("the constraints are not compared: %v", err)
	}
	dir := goList(t, "list", "-m", "-f", "{{.Dir}}", sdkModule)
	got := modelTable(t, requiredBySDK(t, dir, structs), rows)
	if *update {
		if err := os.WriteFile("modeltable.go", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("modeltable.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")), got) {
		t.Errorf("modeltable.go is not as the SDK and the model: run %s, and read the difference", generate)
	}
	if n := len(requiredMembers); n < 40 {
		t.Errorf("%d required members are less than 40", n)
	}
}

func goList(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// reachableStructs returns the structs of both definitions by name.
func reachableStructs() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(t.Elem())
		case reflect.Struct:
			if all[t.Name()] != nil || !strings.HasPrefix(t.PkgPath(), sdkModule) {
				return
			}
			all[t.Name()] = t
			for i := range t.NumField() {
				walk(t.Field(i).Type)
			}
		}
	}
	walk(reflect.TypeFor[awsecs.RegisterTaskDefinitionInput]())
	walk(reflect.TypeFor[awsecs.CreateServiceInput]())
	return all
}

// requiredBySDK returns the members that the SDK's comments call required. It omits numbers and
// flags that cannot be absent in Go: the SDK sends their zero value.
func requiredBySDK(t *testing.T, dir string, structs map[string]reflect.Type) (all []requiredMember) {
	files, err := filepath.Glob(filepath.Join(dir, "types", "types.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || structs[spec.Name.Name] == nil {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, f := range fields.Fields.List {
				if len(f.Names) != 1 || !strings.Contains(f.Doc.Text(), "This member is required.") {
					continue
				}
				field, _ := structs[spec.Name.Name].FieldByName(f.Names[0].Name)
				if k := field.Type.Kind(); k != reflect.Bool && k != reflect.Int32 && k != reflect.Float64 {
					all = append(all, requiredMember{spec.Name.Name, field.Name})
				}
			}
			return false
		})
	}
	return all
}

// modelConstraints returns the constraints of the structs' members in AWS's model.
func modelConstraints(t *testing.T, data []byte, structs map[string]reflect.Type) (all []constraint) {
	var model struct {
		Shapes map[string]struct {
			Min, Max float64
			Pattern  string
			Members  map[string]struct{ Shape string }
		}
	}
	if err := json.Unmarshal(data, &model); err != nil {
		t.Fatal(err)
	}
	for name, typ := range structs {
		shape, ok := model.Shapes[strings.Replace(name, "Input", "Request", 1)]
		if !ok {
			continue // newer than the model
		}
		for i := range typ.NumField() {
			field := typ.Field(i).Name
			s := model.Shapes[shape.Members[strings.ToLower(field[:1])+field[1:]].Shape]
			if s.Max == 0 && s.Min == 0 && s.Pattern == "" {
				continue
			}
			pattern := strings.TrimSuffix(strings.TrimPrefix(s.Pattern, "^"), "$")
			all = append(all, constraint{name, field, int64(s.Min), int64(s.Max), pattern})
		}
	}
	return all
}

// modelTable returns the source of modeltable.go.
func modelTable(t *testing.T, required []requiredMember, rows []constraint) []byte {
	var lines []string
	for _, r := range required {
		lines = append(lines, fmt.Sprintf("{%q, %q},\n", r.shape, r.member))
	}
	slices.Sort(lines)
	var limits []string
	for _, r := range rows {
		limits = append(limits, fmt.Sprintf("{%q, %q, %d, %d, %q},\n", r.shape, r.member, r.min, r.max, r.pattern))
	}
	slices.Sort(limits)
	source := fmt.Sprintf("// Code generated by %s; DO NOT EDIT.\n\npackage validate\n\n"+
		"// requiredMembers are the members that the comments of the SDK call required: %s.\n"+
		"var requiredMembers = [...]requiredMember{\n%s}\n\n"+
		"// constraints are from AWS's model of the ECS API: %s\n// of %s.\n"+
		"var constraints = [...]constraint{\n%s}\n", generate, sdkModule, strings.Join(lines, ""), modelFile, modelModule,
		strings.Join(limits, ""))
	out, err := format.Source([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
