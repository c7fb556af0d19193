package inspect

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/show"
)

// writeRollouts writes the deployments of a service that ECS itself deploys.
func (v serviceView) writeRollouts(b *bytes.Buffer, t *ServiceReport) {
	if c := t.ServiceDeployment; c != nil {
		fmt.Fprintf(b, "service deployment %s: %s\n", sluice.ARNName(c.ARN), v.Bold(c.Status)+v.serviceDeploymentText(c))
	}
	for _, d := range t.Rollouts {
		fmt.Fprintf(b, "%s deployment %s of %s: %s, %s, %d pending, %d failed\n",
			v.Bold(d.Status), d.ID, d.Revision, cmp.Or(d.State, "-"), sluice.RunningText(d.Running, d.Desired), d.Pending, d.Failed)
		writeTasks(b, d.Tasks)
	}
}

func (v serviceView) serviceDeploymentText(c *currentReport) string {
	text := ""
	if c.Revision != "" {
		text += ", deploys " + c.Revision
	}
	if c.BackTo != "" {
		text += ", rolls back to " + c.BackTo
	}
	if c.Stage != "" {
		text += ", " + c.Stage
	}
	if c.Weight > 0 {
		text += fmt.Sprintf(" with %g%% of the traffic", c.Weight)
	}
	if c.Failures > 0 {
		text += fmt.Sprintf(", circuit breaker at %d of %d failures", c.Failures, c.Limit)
	}
	for _, a := range c.Alarms {
		text += ", alarm " + a + " fired"
	}
	if c.Hook != "" {
		text += v.nextStep(", waiting: sluice continue answers hook " + c.Hook)
	}
	if !c.Expires.IsZero() {
		text += " (until " + show.FormatTime(c.Expires) + ")"
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// writeCauses writes causes of failures, the last log lines of containers, and service events.
func (v serviceView) writeCauses(b *bytes.Buffer, t *ServiceReport) {
	for _, c := range t.Causes {
		fmt.Fprintf(b, "%s\n  next: %s\n", v.Bad(c.String()), v.nextStep(c.Next))
	}
	for _, l := range t.Logs {
		for _, line := range l.Lines {
			fmt.Fprintf(b, "  %s\n", v.Dim("log of "+l.Container+": "+line))
		}
	}
	for i, e := range t.Events {
		if i == 0 {
			fmt.Fprintln(b, "events")
		}
		fmt.Fprintf(b, "  %s  %s\n", v.Dim(show.FormatTime(e.At)), e.Message)
	}
}
