package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

func newApproveCommand(p *program) *cobra.Command {
	t := session.DeploymentCommand{Name: "approve", OnlyOpen: true}
	var stage int
	var by string
	c := t.New(p.Session, "Approve a stage that waits for approval",
		`Approve a stage that waits for approval, or that has gates without a verdict at the end
of its time. The journal keeps the approver and the time.

If a process runs the deployment, that process continues it. Otherwise, run sluice
resume. If CodeDeploy waits before it moves traffic, this command continues the
CodeDeploy deployment. `+session.IDHelp,
		`  sluice approve
  sluice approve --stage 3 --by ana`,
		func(c *cobra.Command, path string, given bool) error {
			return p.runApprove(c.Context(), path, given, stage, by)
		})
	c.Flags().IntVar(&stage, "stage", 0, "`number` of the stage, counted from 1 (default: the first that waits)")
	_ = c.RegisterFlagCompletionFunc("stage", p.completeStages())
	c.Flags().StringVar(&by, "by", "", "`name` of the approver (default: user@host)")
	return c
}

// completeStages returns the shell completion of the numbers of stages, each with its name, of the
// deployment that the arguments name.
func (p *program) completeStages() cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		none := cobra.ShellCompDirectiveNoFileComp
		j, err := p.FindJournal()
		if err != nil || j == nil {
			return nil, none
		}
		defer j.Close()
		path := append(args, ".")[0]
		d, err := p.Deployments(j).Find(c.Context(), "approve", path, len(args) > 0)
		if err != nil {
			return nil, none
		}
		pl, err := session.ReadPlan(d)
		if err != nil {
			return nil, none
		}
		var all []string
		for _, x := range pl.Stages {
			if x.Approvals > 0 || len(x.Gates) > 0 {
				all = append(all, fmt.Sprintf("%d\t%s %s", x.Index+1, x.Name, x.Desc))
			}
		}
		return all, none
	}
}

func (p *program) runApprove(ctx context.Context, path string, given bool, stage int, by string) error {
	j, err := p.OpenExistingJournal()
	if err != nil {
		return err
	}
	defer j.Close()
	d, err := p.Deployments(j).Find(ctx, "approve", path, given)
	if err != nil {
		return err
	}
	pl, err := session.ReadPlan(d)
	if err != nil {
		return err
	}
	t := &session.Opened{Journal: j, Deployment: d}
	if d.State == journal.Ended && t.EnterAccount(ctx, p.Session) == nil {
		if err := p.refuseOtherClaim(ctx, t, "approve", path); err != nil {
			return err
		}
	}
	if stage == 0 && pl.CodeDeploy != nil && d.State != journal.Ended {
		if done, err := p.continueCodeDeploy(ctx, t); done || err != nil {
			return err
		}
	}
	runs, err := p.Env.RunningProcess(ctx, j, d)
	if err != nil {
		return err
	}
	s, yes, err := findApprovableStage(ctx, j, d, pl, stage, runs != "")
	if err != nil {
		return p.adviseHook(ctx, t, err)
	}
	named := by != ""
	by = p.Env.ActorName(by)
	if err := refuseApprover(d, s, by, named, yes); err != nil {
		return err
	}
	if _, err := j.AddCommand(ctx, journal.Command{Deployment: d.ID, Kind: journal.Approve,
		Stage: strconv.Itoa(s.Index), By: by}); err != nil {
		return err
	}
	p.printApproved(d, s, by, max(1, s.Approvals)-len(yes)-1, runs != "")
	return nil
}

// adviseHook adds to the error of a deployment without a stage to approve that ECS has paused it at a hook.
func (p *program) adviseHook(ctx context.Context, t *session.Opened, err error) error {
	d := t.Deployment
	var problem *sluice.Error
	if to, readErr := handedOverTo(ctx, t.Journal, d); readErr != nil || to != "ECS" || session.IsTaskRun(d.Service) ||
		!errors.As(err, &problem) || t.EnterAccount(ctx, p.Session) != nil || !isAtHook(ctx, t.Account, d) {
		return err
	}
	advised := *problem
	advised.Err = fmt.Errorf("%w; ECS has paused its deployment at a hook", problem.Err)
	advised.Next = "run sluice continue to answer the hook"
	return &advised
}

// findApprovableStage returns the stage to approve and the names of those who have approved
// it already. A number of 0 means the first stage that waits for approval. runs: a process runs the deployment.
func findApprovableStage(ctx context.Context, j *journal.Journal, d journal.Deployment, pl *plan.Plan,
	number int, runs bool) (plan.Stage, []string, error) {
	fail := func(next, format string, args ...any) (plan.Stage, []string, error) {
		return plan.Stage{}, nil, &sluice.Error{Op: "approve", Resource: d.ID, Err: fmt.Errorf(format, args...),
			Next: next}
	}
	if d.State == journal.Ended {
		return fail("run sluice status to see what is running", "the deployment has ended: %s", d.Outcome)
	}
	stages, err := j.Stages(ctx, d.ID)
	if err != nil {
		return plan.Stage{}, nil, err
	}
	rows := map[int]journal.Stage{}
	for _, s := range stages {
		rows[s.Index] = s
	}
	commands, err := j.Commands(ctx, d.ID, 0)
	if err != nil {
		return plan.Stage{}, nil, err
	}
	asked, err := engine.GatesAsked(ctx, j, d.ID)
	if err != nil {
		return plan.Stage{}, nil, err
	}
	early := 0 // the first stage that waits for approval later
	for _, s := range pl.Stages {
		row := rows[s.Index]
		if s.Approvals == 0 && !pl.MayAsk(s.Index) || row.Status == journal.StageDone || number > 0 && s.Index != number-1 {
			continue
		}
		if row.Began.IsZero() { // nobody has seen yet what the approval is about
			if early == 0 && s.Approvals > 0 {
				early = s.Index + 1
			}
			continue
		}
		switch since, asks := asked[s.Index]; {
		case s.Approvals > 0 || asks:
			return s, approverNames(commands, s, since), nil
		case runs:
			return fail("wait for the verdict, or run sluice rollback", "stage %d %s judges its gates until %s; it asks "+
				"only if one has no verdict then", s.Index+1, s.Name, row.Began.Add(s.Duration).UTC().Format("15:04:05 UTC"))
		}
		return fail("run sluice resume "+d.ID+", which judges the gates", "stage %d %s has not asked: no process has "+
			"judged its gates to the end", s.Index+1, s.Name)
	}
	if early > 0 {
		return fail("run sluice status to see what runs, and approve when the stage waits", "stage %d does not wait yet", early)
	}
	if number > 0 {
		if s, _, err := findApprovableStage(ctx, j, d, pl, 0, runs); err == nil {
			return fail(fmt.Sprintf("give --stage %d: that one waits", s.Index+1), "stage %d does not wait for approval", number)
		}
		return fail("run sluice status to list the stages", "stage %d does not wait for approval", number)
	}
	return fail("run sluice status to list the stages", "no stage waits for approval")
}

// approverNames returns who approved the stage since a time.
func approverNames(commands []journal.Command, s plan.Stage, since time.Time) []string {
	var all []string
	for _, c := range commands {
		counts := c.Kind == journal.Approve && c.Stage == strconv.Itoa(s.Index) && !c.At.Before(since)
		if counts && !slices.Contains(all, c.By) {
			all = append(all, c.By)
		}
	}
	return all
}

// refuseApprover refuses a person whom the stage does not list, or who has approved it. named: --by gives the name.
func refuseApprover(d journal.Deployment, s plan.Stage, by string, named bool, yes []string) error {
	fail := func(next, format string, args ...any) error {
		return &sluice.Error{Op: fmt.Sprintf("approve stage %d", s.Index+1), Resource: d.ID,
			Err: fmt.Errorf(format, args...), Next: next}
	}
	if len(s.Approvers) > 0 && !slices.Contains(s.Approvers, by) {
		next := "ask one of them to approve"
		if !named {
			next += ", or give your name of that list with --by"
		}
		return fail(next, "%s is not an approver of this stage (%s)", by, strings.Join(s.Approvers, ", "))
	}
	if slices.Contains(yes, by) {
		return fail("ask another approver", "%s has already approved the stage", by)
	}
	return nil
}

func (p *program) printApproved(d journal.Deployment, s plan.Stage, by string, missing int, runs bool) {
	text := fmt.Sprintf("approved: stage %d %s of %s by %s", s.Index+1, s.Name, d.ID, by)
	if missing > 0 {
		text += "; needs " + sluice.Plural(missing, "more approval")
	}
	p.PrintResult(text)
	if !runs && missing <= 0 {
		p.PrintNext("run sluice resume " + d.ID + " to continue; no process runs the deployment")
	}
}
