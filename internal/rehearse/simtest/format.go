package simtest

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// Format returns the case as text, which [Parse] reads. A case with a user's own files has no
// complete text.
func Format(c rehearse.Case) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, s := range c.Notes {
		line("# %s", s)
	}
	line("seed %d", c.Seed)
	line("world %s", traitText(c.World))
	if c.Old != "" {
		line("old %s", c.Old)
	}
	if c.New != "" {
		line("new %s", c.New)
	}
	if c.Breaker {
		line("breaker")
	}
	if c.Suspend {
		line("suspends")
	}
	if c.IsJob() {
		line("job %s", jobText(c.Job))
	}
	if c.Before != "" {
		line("task-before %s", c.Before)
	}
	if c.After != "" {
		line("task-after %s", c.After)
	}
	if c.OutsidePolicy != "" {
		line("outside %s", c.OutsidePolicy)
	}
	if c.Deadline != 0 {
		line("deadline %s", c.Deadline)
	}
	if c.Bake != 0 {
		line("bake %s", c.Bake)
	}
	if c.RestartDelay != 0 {
		line("away %s", c.RestartDelay)
	}
	if c.Codec {
		line("codec")
	}
	if c.AllowRoute {
		line("allow-route")
	}
	if c.Exchanged {
		line("exchanged-groups")
	}
	if c.Provider != "" {
		line("provider %s", c.Provider)
	}
	if c.PipeCD {
		line("pipecd")
	}
	for _, s := range c.Pipeline {
		line("stage %s", s)
	}
	for _, f := range c.Faults {
		line("fault %s", f)
	}
	for _, h := range c.Interventions {
		line("%s", formatIntervention(h))
	}
	for _, k := range c.Kills {
		line("%s", formatKill(k))
	}
	if c.FullDisk.Row > 0 {
		line("full row=%d for=%d", c.FullDisk.Row, c.FullDisk.For)
	}
	return b.String()
}

// formatIntervention returns an intervention as a line of a case's text.
func formatIntervention(h rehearse.Intervention) string {
	switch {
	case h.When != "":
		return fmt.Sprintf("%s %s %s", h.When, h.At, h.Does)
	case h.Stage > 0 && h.At > 0:
		return fmt.Sprintf("after-stage %d+%s %s", h.Stage, h.At, h.Does)
	case h.Stage > 0:
		return fmt.Sprintf("after-stage %d %s", h.Stage, h.Does)
	case h.Write > 0:
		return fmt.Sprintf("after-write %d+%s %s", h.Write, h.At, h.Does)
	case h.Event != "":
		return fmt.Sprintf("at-event %s %s", h.Event, h.Does)
	}
	return fmt.Sprintf("at %s %s", h.At, h.Does)
}

// formatKill returns a kill as a line of a case's text.
func formatKill(k rehearse.Kill) string {
	when, what := "before", "write"
	if k.After {
		when = "after"
	}
	if k.Row {
		what = "row"
	}
	return fmt.Sprintf("kill %s %s %d", when, what, k.N)
}
