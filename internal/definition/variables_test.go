package definition_test

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/definition"
)

func TestInterpolate(t *testing.T) {
	vars := func(name string) (string, bool) {
		v := map[string]string{"TAG": "v7", "COUNT": "3", "ON": "true", "ODD": `a"b: {c}`}[name]
		return v, v != ""
	}
	for text, want := range map[string]string{
		"web:${TAG}":                  "web:v7",
		"${TAG}-${COUNT}":             "v7-3",
		"${TAG:-x}/${NONE:-y}":        "v7/y",
		"${NONE-z}":                   "z",
		"${NONE:-}":                   "",
		"${NONE:-${TAG}}":             "v7",
		"${TAG:+set}":                 "set",
		"$${TAG}":                     "${TAG}",
		"$TAG $$ $1 $(date) $$x":      "$TAG $$ $1 $(date) $$x",
		"a$b${TAG}$$${TAG}":           "a$bv7$${TAG}",
		"${ODD}":                      `a"b: {c}`,
		"no variable":                 "no variable",
		"${NONE}":                     "! the variable NONE is not set, or is empty",
		"${NONE:?build the image}":    "! the variable NONE is not set, or is empty: build the image",
		"${TAG:-x}${NONE}":            "! the variable NONE is not set",
		"${}":                         "! a variable is not written as ${NAME}",
		"${TAG":                       "! a variable is not written as ${NAME}",
		"${TA G}":                     "! a variable is not written as ${NAME}",
		"${NONE:-${ALSO}} ${NONE2:?}": "! the variable",
	} {
		src, err := definition.Parse("f.json", []byte(`{"a": [{"b": `+quoted(text)+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		problems := src.Interpolate(vars)
		got := src.Root.Get("a").Items[0].Get("b").Text
		if len(problems) > 0 {
			got = "! " + problems[0].Message
		}
		if refused, isRefused := strings.CutPrefix(want, "! "); got != want && !(isRefused && strings.HasPrefix(got, "! "+refused)) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"` }

// A value of a variable is a number or a flag where AWS wants one, and text where it wants text.
func TestVariablesHaveTheKindThatIsNeeded(t *testing.T) {
	vars := func(name string) (string, bool) {
		v := map[string]string{"N": "8080", "ON": "true", "TEXT": "web"}[name]
		return v, v != ""
	}
	task, problems, err := definition.ReadTask("t.yaml", []byte(`
family: ${TEXT}
cpu: ${N}
containerDefinitions:
- name: ${TEXT}
  image: ${N}
  essential: ${ON}
  memory: ${N}
  environment: [{name: A, value: "${N}"}, {name: B, value: "${ON}"}]
`), vars)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	c := task.Input.ContainerDefinitions[0]
	if *task.Input.Cpu != "8080" || *c.Image != "8080" || !*c.Essential || *c.Memory != 8080 || *c.Environment[0].Value != "8080" ||
		*c.Environment[1].Value != "true" {
		t.Errorf("%+v", c)
	}
	for value, want := range map[string]string{"${TEXT}": "is a whole number, and this is text", "${NONE}": "is not set"} {
		_, problems, _ := definition.ReadTask("t.yaml", []byte("family: web\ncontainerDefinitions:\n- {name: a, image: b, memory: "+
			quoted(value)+"}\n"), vars)
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: %v", value, problems)
		}
	}
}
