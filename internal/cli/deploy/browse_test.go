package deploy

import (
	"io"
	"slices"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// A page is opened for people at a terminal who look at AWS itself, once for each
// deployment that CodeDeploy has taken.
func TestCodeDeploysPageIsOpenedForPeople(t *testing.T) {
	created := sluice.Seal("slc-1", "1 ECS_SYNC",
		sluice.Wrote{Write: sluice.Write{Operation: "codedeploy:CreateDeployment", Resource: "web/web"},
			Result: "d-ABCDEF123"})
	refused := sluice.Seal("slc-1", "1 ECS_SYNC",
		sluice.Wrote{Write: sluice.Write{Operation: "codedeploy:CreateDeployment", Resource: "web/web"}, Cause: "busy"})
	for name, c := range map[string]struct {
		terminal  bool
		endpoints []string
		want      int
	}{
		"at a terminal":   {true, []string{"", ""}, 1},
		"in a log":        {false, []string{"", ""}, 0},
		"on a local AWS":  {true, []string{"http://127.0.0.1:4566", ""}, 0},
		"on somebody's":   {true, []string{"", "https://aws.example.com"}, 0},
		"without clients": {true, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var opened, shown []string
			p := &program{Session: &session.Session{Env: session.Env{
				OpenBrowser: func(url string) { opened = append(opened, url) },
				IsTerminal:  func(io.Writer) bool { return c.terminal }}}}
			show := p.withConsolePage("eu-west-1", c.endpoints,
				func(e sluice.Envelope) { shown = append(shown, e.Kind) })
			show(refused)
			show(created)
			if len(shown) != 2 || len(opened) != c.want || c.want > 0 &&
				!slices.Equal(opened, []string{"https://eu-west-1.console.aws.amazon.com/codesuite/codedeploy/deployments/d-ABCDEF123?region=eu-west-1"}) {
				t.Errorf("shown %v, opened %v", shown, opened)
			}
		})
	}
}
