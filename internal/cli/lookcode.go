package cli

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// codeDeployReport is a CodeDeploy deployment.
type treeCode struct {
	ID          string          `json:"id"`
	Application string          `json:"application"`
	Group       string          `json:"deploymentGroup"`
	Config      string          `json:"deploymentConfig,omitempty"`
	Status      string          `json:"status"`
	Revision    string          `json:"revision,omitempty"` // that it deploys
	RollbackOf  string          `json:"rollbackOf,omitempty"`
	Code        string          `json:"errorCode,omitempty"`
	Message     string          `json:"errorMessage,omitempty"`
	Detail      string          `json:"detail,omitempty"` // progress in words
	URL         string          `json:"console"`
	Lifecycle   []treeLifecycle `json:"lifecycle,omitempty"`
	CreatedAt   time.Time       `json:"createdAt,omitzero"`
	EndedAt     time.Time       `json:"endedAt,omitzero"`
}

type treeLifecycle struct {
	Name     string    `json:"name"`
	Status   string    `json:"status"`
	Function string    `json:"function,omitempty"`
	Message  string    `json:"message,omitempty"`
	Started  time.Time `json:"startedAt,omitzero"`
	Ended    time.Time `json:"endedAt,omitzero"`
}

func (c treeCode) over() bool {
	return slices.Contains([]string{"Succeeded", "Failed", "Stopped"}, c.Status)
}

// readCodeDeploy adds the state of a service that CodeDeploy deploys: the running or last
// deployment, and the targets of each task set.
func (t *tree) lookCode(ctx context.Context, a *account.Account, c clock.Clock) error {
	seen, err := watch.New(a, c).Code(ctx, t.Cluster, t.Service)
	if err != nil {
		return err
	}
	if seen.Code != nil {
		if err := t.code(ctx, a, seen); err != nil {
			return err
		}
	}
	t.explain(seen.Verdict)
	return t.setTargets(ctx, a)
}

func (t *tree) code(ctx context.Context, a *account.Account, seen watch.Seen) error {
	d := seen.Code
	if d.RollbackOf != "" { // d is the rollback of the first deployment
		hand := codedeploy.Hand{API: a.CodeDeploy()}
		first, err := hand.Get(ctx, d.RollbackOf)
		if err != nil {
			return err
		}
		course, err := hand.Target(ctx, d.RollbackOf, t.Cluster, t.Service)
		if err != nil {
			return err
		}
		if first != nil {
			t.Code = append(t.Code, codeOf(a, first, course, seen.Verdict.Revision))
		}
	}
	now := codeOf(a, d, seen.Course, "")
	if d.RollbackOf == "" {
		now.Revision = seen.Verdict.Revision
	}
	if seen.Verdict.State != verdict.Ended {
		now.Detail = seen.Verdict.Detail
	}
	t.Code = append(t.Code, now)
	t.color(seen.Course)
	return nil
}

func codeOf(a *account.Account, d *verdict.CodeDeployment, course *verdict.CodeTarget, revision string) treeCode {
	c := treeCode{ID: d.ID, Application: d.Application, Group: d.Group, Config: d.Config, Status: d.Status, Revision: revision, RollbackOf: d.RollbackOf,
		Code: d.Code, Message: d.Message, URL: codedeploy.ConsoleURL(a.Region(), d.ID), CreatedAt: d.CreatedAt, EndedAt: d.EndedAt}
	if course == nil {
		return c
	}
	for _, e := range course.Events {
		c.Lifecycle = append(c.Lifecycle, treeLifecycle{Name: e.Name, Status: e.Status, Function: e.Function, Message: e.Message, Started: e.StartedAt, Ended: e.EndedAt})
	}
	return c
}

// setColors sets which task sets are blue and green, and their share of the traffic.
func (t *tree) color(course *verdict.CodeTarget) {
	if course == nil {
		return
	}
	for i := range t.Sets {
		s := &t.Sets[i]
		for role, set := range map[string]*verdict.CodeSet{"blue": course.Blue, "green": course.Green} {
			if set != nil && set.ID == s.ID {
				s.Role, s.Weight = role, &set.Weight
			}
		}
	}
}

// addSetTargets reads the target group of each task set and matches the targets with its tasks.
func (t *tree) setTargets(ctx context.Context, a *account.Account) error {
	var groups []string
	for _, s := range t.Sets {
		if s.group != "" && !slices.Contains(groups, s.group) {
			groups = append(groups, s.group)
		}
	}
	for _, group := range groups {
		targets, err := alb.Health(ctx, a.ELB(), group)
		if err != nil {
			return err
		}
		for _, target := range targets {
			if !t.tie(group, target) {
				t.Left = append(t.Left, treeLeft{Group: groupName(group), Address: target.ID, State: targetWords(target)})
			}
		}
	}
	return nil
}
