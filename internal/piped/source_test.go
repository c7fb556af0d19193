package piped

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/definition"
)

func parted(t *testing.T, name, file string) string {
	t.Helper()
	src, err := definition.Parse("app.pipecd.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	out, err := (&pluginEntry{Name: name}).ownPart([]byte(file), src.Root.Get("spec"))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
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

// Other plugins' parts are left out, and every other line keeps its number.
func TestOtherPluginsPartsAreLeftOut(t *testing.T) {
	was, now := strings.Split(mixed, "\n"), strings.Split(parted(t, "sluice", mixed), "\n")
	if len(was) != len(now) {
		t.Fatalf("%d lines of %d", len(now), len(was))
	}
	var kept []string
	for i, line := range now {
		if line != "" && line != was[i] {
			t.Errorf("line %d became %q", i+1, line)
		}
		if line != "" {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	want := "apiVersion: pipecd.dev/v1beta1, kind: Application, spec:, plugins:, sluice:, input: {}, pipeline:, " +
		"stages:, - name: ECS_CANARY_CLEAN, timeout: 5m"
	if got := strings.Join(kept, ", "); got != want && got != strings.Replace(want, ", timeout",
		", # before the last, timeout", 1) {
		t.Errorf("kept %s", got)
	}
}

func TestFlowStyleIsWrittenAgain(t *testing.T) {
	out := parted(t, "ecs", `{apiVersion: pipecd.dev/v1beta1, kind: Application, spec: {plugins: {a: {}, ecs: {input: {}}}, pipeline: {stages: [{name: WAIT}, {name: ECS_SYNC}]}}}`)
	src, err := definition.Parse("", []byte(out))
	if err != nil {
		t.Fatal(err)
	}
	spec := src.Root.Get("spec")
	if names := strings.Join(stageNames(spec), " "); names != "ECS_SYNC" || len(spec.Get("plugins").Entries) != 1 {
		t.Errorf("%s: %s", names, out)
	}
}

func TestFileWithOneSectionIsUnchanged(t *testing.T) {
	file := "spec:\n  plugins: {ecs: {}}\n  pipeline:\n    stages: [{name: ECS_SYNC}]\n"
	if out := parted(t, "ecs", file); out != file {
		t.Errorf("%q", out)
	}
}

// A misspelt stage of ours stays, so that it is told.
func TestMisspeltStageStays(t *testing.T) {
	if out := parted(t, "ecs", "spec:\n  plugins: {ecs: {}}\n  pipeline:\n    stages:\n    - name: ECS_SYNK\n"); !strings.Contains(out, "ECS_SYNK") {
		t.Error(out)
	}
}
