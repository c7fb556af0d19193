package definitions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/upkeep"
)

// Which revisions of web:9 to web:1 are deregistered, if 8 serves, 5 runs in another cluster and 2 is of a
// service with 0 tasks.
func TestChosenRevisions(t *testing.T) {
	f := &family{Family: upkeep.Family{Name: "web"}}
	var all []ecs.Revision
	for n := 9; n > 0; n-- {
		all = append(all, ecs.Revision{Name: fmt.Sprintf("web:%d", n), ARN: fmt.Sprintf("arn/web:%d", n)})
	}
	users := map[string][]string{"web:8": {"service prod/web"}, "web:5": {"tasks in test"}, "web:2": {"service prod/idle"}}
	for _, c := range []struct {
		flags deregisterFlags
		want  string
	}{
		{deregisterFlags{keeps: 0}, "web:1 web:3 web:4 web:6 web:7 web:9"},
		{deregisterFlags{keeps: 2}, "web:1 web:3 web:4 web:6"},
		{deregisterFlags{keeps: 6}, ""},
		{deregisterFlags{keeps: 1 << 40}, ""},
		{deregisterFlags{revision: "3"}, "web:3"},
		{deregisterFlags{revision: "web:3"}, "web:3"},
		{deregisterFlags{revision: "latest"}, "web:9"},
		{deregisterFlags{revision: "5"}, "deregister (web:5): it is used by tasks in test"},
		{deregisterFlags{revision: "12"}, "deregister (web:12): there is no such ACTIVE revision"},
	} {
		old, err := c.flags.choose(f, all, users)
		var names []string
		for _, rev := range old {
			names = append(names, rev.Name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %s, not %s", c.flags, got, c.want)
		}
	}
}

func TestDeregisterNeedsOneSelection(t *testing.T) {
	for want, o := range map[string]deregisterFlags{
		"nothing is selected": {},
		"exclude each other":  {isCounted: true, revision: "4"},
		"--keeps is -1, and must be a number of revisions, 0 or more": {isCounted: true, keeps: -1},
		"is in use": {revision: "current"},
	} {
		if err := o.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, not %s", o, err, want)
		}
	}
}

func TestRenderedConfig(t *testing.T) {
	for from, want := range map[string]string{
		`{"region":"us-east-1"}`:    "{\n  \"region\": \"us-east-1\"\n}\n",
		"\ufeffregion: us-east-1\n": "region: us-east-1\n",
		"region: us-east-1\n\n\n":   "region: us-east-1\n",
		"# with a comment\na: {}\n": "# with a comment\na: {}\n",
	} {
		got, err := renderedText(&appfile.Files{Application: &appfile.Application{Text: []byte(from)}}, "config")
		if err != nil || string(got) != want {
			t.Errorf("%q: %q %v", from, got, err)
		}
	}
	for _, target := range []string{"servicedef", "taskdef"} {
		files := &appfile.Files{Application: &appfile.Application{File: "sluice.yaml"}}
		if text, err := renderedText(files, target); err == nil {
			t.Errorf("%s: %s and no error", target, text)
		}
	}
}
