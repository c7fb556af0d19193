package piped

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// parted is the spec of a file without the parts of other plugins.
func parted(t *testing.T, name, file string) *definition.Node {
	t.Helper()
	src, err := definition.Parse("app.pipecd.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	spec := src.Root.Get("spec")
	if err := (&pluginEntry{Name: name}).removeOthers(src, spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// partsOf names the plugins and the stages of a spec, with their lines.
func partsOf(spec *definition.Node) string {
	var all []string
	for _, e := range spec.Get("plugins").Entries {
		all = append(all, fmt.Sprintf("%d %s", e.Line, e.Key))
	}
	for _, item := range spec.Get("pipeline").Get("stages").Items {
		all = append(all, fmt.Sprintf("%d %s", item.Line, item.Get("name").Text))
	}
	return strings.Join(all, ", ")
}

const mixed = `apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  plugins:
    wait:
      any: [1, 2]
      # a comment
      text: |
        lines

        of text
    sluice:
      input: {}
  pipeline:
    stages:
    - name: WAIT
      with: {duration: 1m}
    - name: ECS_CANARY_CLEAN
    # before the last
    - name: SCRIPT_RUN
      with:
        run: |
          echo 1

          echo 2
  timeout: 5m
`

// Other plugins' parts are left out, and the others keep their lines.
func TestOtherPluginsPartsAreLeftOut(t *testing.T) {
	if got := partsOf(parted(t, "sluice", mixed)); got != "12 sluice, 18 ECS_CANARY_CLEAN" {
		t.Errorf("kept %s", got)
	}
}

// A file on one line keeps its places too.
func TestFlowStyleKeepsItsLines(t *testing.T) {
	file := "{apiVersion: pipecd.dev/v1beta1, kind: Application, spec: {\nplugins: {a: {}, ecs: {input: {}}},\n" +
		"pipeline: {stages: [{name: WAIT},\n{name: ECS_SYNC}]}}}"
	if got := partsOf(parted(t, "ecs", file)); got != "2 ecs, 4 ECS_SYNC" {
		t.Errorf("kept %s", got)
	}
}

func TestFileWithOneSectionIsUnchanged(t *testing.T) {
	file := "spec:\n  plugins: {ecs: {}}\n  pipeline:\n    stages: [{name: ECS_SYNC}]\n"
	if got := partsOf(parted(t, "ecs", file)); got != "2 ecs, 4 ECS_SYNC" {
		t.Errorf("kept %s", got)
	}
}

// A misspelt stage of ours stays, so that it is told.
func TestMisspeltStageStays(t *testing.T) {
	file := "spec:\n  plugins: {ecs: {}}\n  pipeline:\n    stages:\n    - name: ECS_SYNK\n"
	if got := partsOf(parted(t, "ecs", file)); got != "2 ecs, 5 ECS_SYNK" {
		t.Errorf("kept %s", got)
	}
}
