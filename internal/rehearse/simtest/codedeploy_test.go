package simtest

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
)

// The courses of CodeDeploy end as their names say: who acts in them does act.
func TestCoursesOfCodeDeployEndAsTheySay(t *testing.T) {
	says := map[string]string{"not continued": "it was not continued within",
		"a hook refuses": "The Lambda function fail reported Failed", "an alarm": "Activated alarms",
		"stopped by another actor": "at the request of a user", "stopped and rolled back": "at the request of a user",
		"back while": "requested by a user",
		"back with":  "requested by a user", "back on request": "requested by a user", "back by sluice": "exit code 3",
		"back by CodeDeploy": "exit code 3"}
	for _, f := range Flows() {
		if !strings.HasPrefix(f.Name, "CodeDeploy") {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			want, cause := sluice.Succeeded, ""
			for name, words := range says {
				if strings.Contains(f.Name, name) {
					want, cause = sluice.RolledBack, words
				}
			}
			if r := Run(f.Case); r.Outcome != want || !strings.Contains(r.Cause, cause) {
				t.Errorf("%s: %s; want %s: …%s…", r.Outcome, r.Cause, want, cause)
			}
		})
	}
}
