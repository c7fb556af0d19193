package appfile

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluice-ecs/sluice/internal/appfile/render"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("sluice.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sluice.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func valid(t *testing.T, schema *jsonschema.Schema, file []byte) error {
	t.Helper()
	text, err := yaml.YAMLToJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

// What the reader takes, the schema takes; what it refuses, the schema refuses,
// but for what a schema cannot tell.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	schema := compiled(t)
	for _, c := range samples() {
		if c.beyond {
			continue
		}
		if err := valid(t, schema, []byte(c.file)); (err == nil) != (c.want == "") {
			t.Errorf("%s: reader %q, schema %v", c.name, c.want, err)
		}
	}
}

func TestSchemaTakesTheExamples(t *testing.T) {
	schema := compiled(t)
	seen := 0
	err := fs.WalkDir(os.DirFS("testdata"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".pipecd.yaml") && !strings.HasSuffix(path, "/sluice.yaml") {
			return err
		}
		seen++
		data, err := os.ReadFile("testdata/" + path)
		if err != nil {
			return err
		}
		if err := valid(t, schema, data); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || seen < 11 {
		t.Fatalf("%d files, %v", seen, err)
	}
}

// Any value at any known key: reader and schema judge alike.
func TestSchemaAgreesOnEveryKey(t *testing.T) {
	schema := compiled(t)
	values := []string{"", "a", "''", "1", "0", "101", "10.0", "33.3", "'10%'", "'100%'", "'101%'", "'0'", "'007'",
		"true", "5m", "0s", "-5m", ".5h", "1h30m", "[]", "[a]", "[1]", "{}", "{a: b}", "{a: 1}", "ELB", "FARGATE",
		"ENABLED", "70000", "80", "APP_MESH"}
	for _, f := range allFormats() {
		for _, k := range Keys() {
			if !isOf(k.Formats, f) || strings.Contains(k.Path, "=") || f != Sluice && isGateKey(k.Path) {
				continue
			}
			for _, v := range values {
				file, ok := placed(f, k.Path, v)
				if !ok {
					continue
				}
				opened := &render.Environment{Root: func(string) (fs.FS, string, error) { return fstest.MapFS{}, ".", nil }}
				_, err := Load(files("app.pipecd.yaml", file), ".", opened)
				if err != nil && (strings.Contains(err.Error(), "no file") ||
					strings.Contains(err.Error(), "approvers names") ||
					strings.Contains(err.Error(), "has no ARN of a listener rule") ||
					strings.Contains(err.Error(), "in the analysis templates") ||
					strings.Contains(err.Error(), "is a duration from")) {
					continue
				}
				if said := valid(t, schema, []byte(file)); (err == nil) != (said == nil) {
					t.Errorf("%s\nreader: %v\nschema: %v", file, err, said)
				}
			}
		}
	}
}

// A variable may stand for a value of a sluice.yaml, also for a number or a switch: the schema takes the variable wherever
// the reader takes some value of it. Other formats have no variables, and a literal $${ is no number.
func TestSchemaTakesVariables(t *testing.T) {
	schema, checked := compiled(t), map[string]bool{}
	for _, k := range Keys() {
		if !isOf(k.Formats, Sluice) || strings.Contains(k.Path, "=") {
			continue
		}
		file, ok := placed(Sluice, k.Path, "'${V}'")
		if !ok {
			continue
		}
		for _, v := range []string{"true", "1", "7", "50", "5m", "ELB", "FARGATE", "ENABLED", "stop", "taskSets"} {
			from := &render.Environment{Variables: func(string) (string, bool) { return v, true }}
			_, err := Load(files("sluice.yaml", file), ".", from)
			if err != nil && (!strings.Contains(err.Error(), "no file") || strings.Contains(err.Error(), " has no ")) {
				continue
			}
			checked[k.Path] = true
			if err := valid(t, schema, []byte(file)); err != nil {
				t.Errorf("the reader takes %s with V=%s:\n%sthe schema: %v", k.Path, v, file, err)
			}
			break
		}
	}
	for _, path := range []string{"desiredCount", "suspendAutoScaling", "timeout", "input.accessType",
		"pipeline.stages[ECS_CANARY_ROLLOUT].with.scale", "pipeline.stages[WAIT].with.duration"} {
		if !checked[path] {
			t.Errorf("the reader took no variable at %s", path)
		}
	}
	for _, file := range []string{"desiredCount: '$${V}'", "variables: {A: 1}", "input: '${V}'", v0 + "  timeout: '${V}'",
		v1 + "  plugins: {ecs: {input: {suspendAutoScaling: '${V}'}}}", "task_definition: a\ntimeout: '${V}'"} {
		if valid(t, schema, []byte(file)) == nil {
			t.Errorf("the schema takes %s", file)
		}
	}
}

// isGateKey reports whether a key is one of the many that all formats share.
func isGateKey(path string) bool {
	return strings.Contains(path, "gates") || strings.Contains(path, "ANALYSIS") || strings.HasPrefix(path, "analysisProviders")
}

func isOf(all []Format, f Format) bool {
	for _, x := range all {
		if x == f {
			return true
		}
	}
	return false
}

// placed is a file with one value at a path; false where a path is no place of
// its own.
func placed(f Format, path, value string) (string, bool) {
	head, rest, inStage := strings.Cut(path, "pipeline.stages[")
	if !inStage {
		inner := nested(path, value)
		if f == PipeCDv1 && (strings.HasPrefix(path, "input") || strings.HasPrefix(path, "quickSync") ||
			strings.HasPrefix(path, "rehearse")) {
			inner = "{plugins: {ecs: " + inner + "}}"
		}
		return enveloped(f, inner), true
	}
	name, option, ok := strings.Cut(rest, "].")
	if head != "" || !ok || name == "" {
		return "", false
	}
	inner := nested(option, value)
	stage := "{name: " + name + ", " + strings.TrimPrefix(inner, "{")
	return enveloped(f, "{pipeline: {stages: ["+stage+"]}}"), true
}

func nested(path, value string) string {
	for _, name := range reversed(strings.Split(path, ".")) {
		if entry, ok := strings.CutSuffix(name, "[]"); ok {
			name, value = entry, "["+value+"]"
		}
		value = "{" + name + ": " + value + "}"
	}
	return value
}

func reversed(all []string) []string {
	var out []string
	for _, s := range all {
		out = append([]string{s}, out...)
	}
	return out
}

func enveloped(f Format, inner string) string {
	switch f {
	case PipeCDv0:
		return v0 + "  " + inner + "\n"
	case PipeCDv1:
		if !strings.Contains(inner, "plugins") {
			inner = "{plugins: {ecs: {}}, " + strings.TrimPrefix(inner, "{")
		}
		return v1 + "  " + inner + "\n"
	}
	return inner + "\n"
}
