package mode

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// StagesTitle returns the head of the list of stages of a plan.
func StagesTitle(p *plan.Plan) string {
	if p.QuickSync {
		return rulesOf(p.Mode()).words.stages
	}
	return "Stages"
}

// StageText describes a stage in a few words.
func StageText(p *plan.Plan, s plan.Stage) string {
	w := rulesOf(p.Mode()).words
	switch {
	case s.Adopts():
		return "route all traffic to the primary; delete everything else that sluice created"
	case s.ReplacesAll():
		return w.sync(p, s)
	case s.StartsCanary() && s.Weights != nil:
		return w.canary(p, s) + " and register its tasks"
	case s.StartsCanary():
		return w.canary(p, s)
	case s.ShiftsTraffic():
		return s.Weights.String()
	case s.ReplacesPrimary() && s.KeepOld:
		return "the new revision becomes primary; the previous one is kept until the clean stage"
	case s.ReplacesPrimary():
		return w.primary
	case s.EndsCanary():
		return "delete the canary"
	case s.RollsBack():
		return w.rollback
	case s.SetsScaling():
		return "set auto scaling only"
	case s.RunsTask():
		return taskText(p, s.Task)
	case s.Registers():
		return "register the task definition; run no task"
	case s.NeedsApproval():
		return ApprovalText(s.Approvals, s.Approvers) + approvalLimit(s)
	case s.JudgesGates():
		return "at most " + plan.FormatDuration(s.Duration) + gatesText(s)
	case s.IsWait():
		return plan.FormatDuration(s.Duration) + gatesText(s)
	}
	return ""
}

// gatesText lists the gates of a stage.
func gatesText(s plan.Stage) string {
	var names []string
	for _, g := range s.Gates {
		name := g.Name
		if g.DryRun {
			name += " (dry run)"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	return "; gates: " + strings.Join(names, ", ")
}

// StageSummary returns the name of a stage with its most important option.
func StageSummary(p *plan.Plan, s plan.Stage) string {
	if s.ReplacesAll() {
		if text := rulesOf(p.Mode()).words.summary(p, s); text != "" {
			return s.Name + ": " + text
		}
	}
	switch {
	case s.Task != nil && s.Task.Step != "":
		return s.Name + " " + s.Task.Step
	case s.Scale > 0:
		return fmt.Sprintf("%s %d%%", s.Name, s.Scale)
	case s.Weights != nil:
		return fmt.Sprintf("%s %d/%d", s.Name, s.Weights.Primary(), s.Weights.Canary())
	case s.Duration > 0:
		return s.Name + " " + plan.FormatDuration(s.Duration)
	}
	return s.Name
}

// taskText describes the tasks that a stage runs.
func taskText(p *plan.Plan, t *plan.Task) string {
	of := p.To
	if t.HasOwnDefinition() {
		of = t.To
	}
	if !strings.Contains(of, ":") {
		of += " (a new revision)"
	}
	text := "run " + sluice.Plural(t.Count, "task") + " of " + of + " to completion"
	if t.Step != "" {
		text = t.Step + ": " + text
	}
	if t.Rollback {
		text += "; if it fails, roll back"
	}
	return text
}

// ApprovalText describes the approvals that a stage needs.
func ApprovalText(n int, by []string) string {
	text := sluice.Plural(n, "approval")
	if len(by) > 0 {
		text += " from " + strings.Join(by, ", ")
	}
	return text
}

// approvalLimit returns the time within which a stage must be approved, if the file limits it.
func approvalLimit(s plan.Stage) string {
	if s.Timeout == 0 || s.Timeout == appfile.DefaultTimeout {
		return ""
	}
	return " within " + plan.FormatDuration(s.Timeout)
}
