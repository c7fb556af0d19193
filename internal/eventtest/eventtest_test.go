package eventtest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
)

func TestSilenceNeedsAReason(t *testing.T) {
	f := FrontEnd{Name: "page", Silent: map[string]string{"noted": "it is a line of the log", "warned": ""}}
	for _, c := range []struct{ kind, output, want string }{
		{"wrote", "ecs:CreateTaskSet", ""},
		{"wrote", " \n", "event wrote has no words in page"},
		{"noted", "", ""},
		{"noted", "text", "event noted is listed as silent in page"},
		{"warned", "", "event warned is silent in page without a reason"},
	} {
		if got := problemOf(f, c.kind, c.output); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s, %q: %q, want %q", c.kind, c.output, got, c.want)
		}
	}
}

// An empty field would hide that a front end shows nothing but this field.
func TestSamplesHaveAValueInEveryField(t *testing.T) {
	for _, e := range Samples() {
		var fields map[string]any
		if err := json.Unmarshal(e.Data, &fields); err != nil {
			t.Fatal(err)
		}
		if _, unknown := e.Open().(sluice.Unknown); unknown || len(fields) == 0 {
			t.Errorf("%s: %s", e.Kind, e.Data)
		}
		for name, value := range fields {
			if value == nil || value == "" {
				t.Errorf("%s: %s has no value", e.Kind, name)
			}
		}
	}
}
