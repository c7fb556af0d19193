package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// codeDeployReport is a CodeDeploy deployment.
type codeDeployReport struct {
	ID           string            `json:"id"`
	Application  string            `json:"application"`
	Group        string            `json:"deploymentGroup"`
	Config       string            `json:"deploymentConfig,omitempty"`
	Status       string            `json:"status"`
	Revision     string            `json:"revision,omitempty"` // that it deploys
	RollbackOf   string            `json:"rollbackOf,omitempty"`
	ErrorCode    string            `json:"errorCode,omitempty"`
	ErrorMessage string            `json:"errorMessage,omitempty"`
	Detail       string            `json:"detail,omitempty"` // progress in words
	URL          string            `json:"console"`
	Lifecycle    []lifecycleReport `json:"lifecycle,omitempty"`
	CreatedAt    time.Time         `json:"createdAt,omitzero"`
	EndedAt      time.Time         `json:"endedAt,omitzero"`
}

type lifecycleReport struct {
	Name     string    `json:"name"`
	Status   string    `json:"status"`
	Function string    `json:"function,omitempty"`
	Message  string    `json:"message,omitempty"`
	Started  time.Time `json:"startedAt,omitzero"`
	Ended    time.Time `json:"endedAt,omitzero"`
}

func (c codeDeployReport) hasEnded() bool {
	return slices.Contains([]string{"Succeeded", "Failed", "Stopped"}, c.Status)
}

// readCodeDeploy adds the state of a service that CodeDeploy deploys: the running or last
// deployment, and the targets of each task set.
func (t *ServiceReport) readCodeDeploy(ctx context.Context, a *account.Account, c clock.Clock) error {
	seen, err := watch.New(a, c).PollCodeDeploy(ctx, t.Cluster, t.Service)
	if err != nil {
		return err
	}
	if seen.Code != nil {
		if err := t.addCodeDeploy(ctx, a, seen); err != nil {
			return err
		}
	}
	t.copyCauses(seen.Verdict)
	return t.addSetTargets(ctx, a)
}

func (t *ServiceReport) addCodeDeploy(ctx context.Context, a *account.Account, seen watch.Update) error {
	d := seen.Code
	if d.RollbackOf != "" { // d is the rollback of the first deployment
		hand := codedeploy.Client{API: a.CodeDeploy()}
		first, err := hand.GetDeployment(ctx, d.RollbackOf)
		if err != nil {
			return err
		}
		course, err := hand.ReadTarget(ctx, d.RollbackOf, t.Cluster, t.Service)
		if err != nil {
			return err
		}
		if first != nil {
			t.CodeDeploy = append(t.CodeDeploy, reportCodeDeploy(a, first, course, seen.Verdict.Revision))
		}
	}
	now := reportCodeDeploy(a, d, seen.CodeTarget, "")
	if d.RollbackOf == "" {
		now.Revision = seen.Verdict.Revision
	}
	if seen.Verdict.State != verdict.Ended {
		now.Detail = seen.Verdict.Detail
	}
	t.CodeDeploy = append(t.CodeDeploy, now)
	t.setColors(seen.CodeTarget)
	return nil
}

func reportCodeDeploy(a *account.Account, d *verdict.CodeDeployment, course *verdict.CodeTarget,
	revision string) codeDeployReport {
	c := codeDeployReport{ID: d.ID, Application: d.Application, Group: d.Group, Config: d.Config, Status: d.Status,
		Revision: revision, RollbackOf: d.RollbackOf,
		ErrorCode: d.Code, ErrorMessage: d.Message, URL: codedeploy.ConsoleURL(a.Region(), d.ID),
		CreatedAt: d.CreatedAt, EndedAt: d.EndedAt}
	if course == nil {
		return c
	}
	for _, e := range course.Events {
		c.Lifecycle = append(c.Lifecycle, lifecycleReport{Name: e.Name, Status: e.Status, Function: e.Function,
			Message: e.Message, Started: e.StartedAt, Ended: e.EndedAt})
	}
	return c
}

// setColors sets which task sets are blue and green, and their share of the traffic.
func (t *ServiceReport) setColors(course *verdict.CodeTarget) {
	if course == nil {
		return
	}
	for i := range t.TaskSets {
		s := &t.TaskSets[i]
		for role, set := range map[string]*verdict.CodeSet{"blue": course.Blue, "green": course.Green} {
			if set != nil && set.ID == s.ID {
				s.Role, s.Weight = role, &set.Weight
			}
		}
	}
}

// addSetTargets reads the target group of each task set and matches the targets with its tasks.
func (t *ServiceReport) addSetTargets(ctx context.Context, a *account.Account) error {
	var groups []string
	for _, s := range t.TaskSets {
		if s.group != "" && !slices.Contains(groups, s.group) {
			groups = append(groups, s.group)
		}
	}
	for _, group := range groups {
		targets, err := t.readHealth(ctx, a, group)
		if err != nil {
			return err
		}
		for _, target := range targets {
			if !t.matchTarget(group, target) {
				t.OtherTargets = append(t.OtherTargets, targetReport{Group: sluice.TargetGroupName(group), Address: target.ID,
					State: targetText(target)})
			}
		}
	}
	return nil
}
