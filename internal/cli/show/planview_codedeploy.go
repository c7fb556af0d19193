package show

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/internal/plan"
)

// writeCodeDeploy writes what the plan requests from CodeDeploy.
func (v planView) writeCodeDeploy(b *bytes.Buffer, p *plan.Plan) {
	c := p.CodeDeploy
	if c == nil || !c.Deploys {
		return
	}
	row := func(name, format string, args ...any) {
		fmt.Fprintf(b, "  %s %s\n", PadRight(name, 16), fmt.Sprintf(format, args...))
	}
	of := func(own bool) string {
		if own {
			return ""
		}
		return " (the group's)"
	}
	fmt.Fprintf(b, "\n%s\n", v.Bold("CodeDeploy"))
	row("deployment group", "%s", c.Name())
	row("configuration", "%s%s", c.ConfigUsed, of(c.Config != ""))
	events := "no event: sluice rolls back, CodeDeploy does not"
	if len(c.RollsBackOn) > 0 {
		events = strings.Join(c.RollsBackOn, ", ")
	}
	if events += of(len(c.RollbackEvents) > 0); c.Returns {
		events = "no event: this revision has served before"
	}
	row("rolls back on", "%s", events)
	for _, h := range c.Hooks {
		row("hook", "%s: %s", h.Event, h.Function)
	}
	if c.AppSpec == "" {
		row("AppSpec", "SHA-256 is known after %s is registered", p.To)
		return
	}
	row("AppSpec", "SHA-256 %s", c.AppSpec)
}
