package piped_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// policy is what docs/pipecd.md gives the plugin leave to do.
func policy(t *testing.T) []string {
	t.Helper()
	page := string(got(os.ReadFile(filepath.Join("..", "..", "docs", "pipecd.md")))(t))
	_, rest, ok := strings.Cut(page, "```json\n")
	text, _, ends := strings.Cut(rest, "```")
	if !ok || !ends {
		t.Fatal("docs/pipecd.md holds no policy")
	}
	var p struct{ Statement []struct{ Action []string } }
	must(t, json.Unmarshal([]byte(text), &p))
	var all []string
	for _, s := range p.Statement {
		all = append(all, s.Action...)
	}
	return all
}

// The policy of the documentation allows every call that the plugin makes.
func TestPolicyOfTheDocumentationIsEnough(t *testing.T) {
	t.Parallel()
	allowed := policy(t)
	for name, drive := range map[string]func(r *rig){
		"task sets": func(r *rig) {
			d := r.begin(source{image: "sim/web:v1", service: serviceFile + "tags: [{key: old, value: a}]\n"}, source{}, stagesOf()...)
			r.tag("old", "a")
			for _, s := range d.forward()[:3] {
				d.run(s)
			}
			d.run(d.back())
			d = r.begin(source{image: "sim/web:v1"}, source{})
			d.all()
			r.look(d.target)
		},
		"rolling": func(r *rig) {
			app := appFile("")
			d := r.begin(source{image: "sim/web:v1", app: app, service: rollingFile}, source{app: app, service: rollingFile})
			d.all()
			d.run(d.back())
		},
		"first": func(r *rig) {
			d := r.begin(source{}, source{service: serviceFile + "desiredCount: 1\n"})
			d.all()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string]string{"task sets": external, "rolling": rolling}[name]+quick)
			calls := r.counted()
			drive(r)
			for call := range calls() {
				if call != "" && !slices.Contains(allowed, call) {
					t.Errorf("the policy does not allow %s", call)
				}
			}
		})
	}
}
