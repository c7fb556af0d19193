package piped

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// keyGround is where the ground is saved, before the first write.
const keyGround = "ground"

// ground is what AWS had when the deployment began, as far as its plan depends on
// it. With the files of the target commit it gives the same plan in every stage and
// every attempt, in a few hundred bytes where the plan would take tens of thousands.
type ground struct {
	Quick   bool   `json:"quick,omitempty"`
	Account string `json:"account"`
	Region  string `json:"region"`

	Status     string  `json:"status,omitempty"` // of the service; empty: there is none
	ARN        string  `json:"arn,omitempty"`
	Controller string  `json:"controller,omitempty"`
	Desired    int32   `json:"desired,omitempty"`
	Sets       []given `json:"sets,omitempty"`
	Serving    string  `json:"serving,omitempty"`   // ARN of the task definition
	Identical  string  `json:"identical,omitempty"` // newest revision, if it is the file's

	Primary  *plan.Place   `json:"primary,omitempty"`
	Canary   *plan.Place   `json:"canary,omitempty"`
	Steered  []sluice.Rule `json:"steered,omitempty"`
	Extend   []sluice.Rule `json:"extend,omitempty"`
	RulesErr string        `json:"rulesErr,omitempty"`

	Scaling  *plan.LiveScaling `json:"scaling,omitempty"`
	Registry *plan.Registry    `json:"registry,omitempty"`
}

// given is a task set that there was.
type given struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Revision string `json:"revision"`
	By       string `json:"by,omitempty"`
	Group    string `json:"group,omitempty"`
	Running  int    `json:"running,omitempty"`
}

func groundOf(l plan.Live, quick bool) ground {
	g := ground{Quick: quick, Account: l.Account, Region: l.Region, Identical: l.Identical,
		Primary: l.Primary, Canary: l.Canary, Steered: l.Steered, Extend: l.Extend, Scaling: l.Scaling, Registry: l.Registry}
	if l.RulesErr != nil {
		g.RulesErr = l.RulesErr.Error()
	}
	if s := l.Service; s != nil {
		g.Status, g.ARN, g.Desired, g.Controller = aws.ToString(s.Status), aws.ToString(s.ServiceArn), s.DesiredCount, "ECS"
		if s.DeploymentController != nil {
			g.Controller = string(s.DeploymentController.Type)
		}
	}
	for _, ts := range l.TaskSets {
		g.Sets = append(g.Sets, given{ID: ts.ID, Status: ts.Status, Revision: ts.Revision, By: ts.ExternalID, Group: ts.TargetGroup, Running: ts.Running})
	}
	if l.Definition != nil {
		g.Serving = aws.ToString(l.Definition.TaskDefinitionArn)
	}
	return g
}

// live is what [plan.Make] is given again.
func (g ground) live() plan.Live {
	l := plan.Live{Account: g.Account, Region: g.Region, Identical: g.Identical,
		Primary: g.Primary, Canary: g.Canary, Steered: g.Steered, Extend: g.Extend, Scaling: g.Scaling, Registry: g.Registry}
	if g.RulesErr != "" {
		l.RulesErr = errors.New(g.RulesErr)
	}
	if g.Status != "" {
		l.Service = &ecstypes.Service{Status: aws.String(g.Status), ServiceArn: aws.String(g.ARN), DesiredCount: g.Desired,
			DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerType(g.Controller)}}
	}
	for _, s := range g.Sets {
		l.TaskSets = append(l.TaskSets, sluice.TaskSet{ID: s.ID, Status: s.Status, Revision: s.Revision, ExternalID: s.By, TargetGroup: s.Group, Running: s.Running})
	}
	if g.Serving != "" {
		l.Definition = &ecstypes.TaskDefinition{TaskDefinitionArn: aws.String(g.Serving)}
	}
	return l
}

// plan makes the plan of the deployment. Its list of changes is left out: it
// compares with what the ground does not hold.
func (g ground) plan(app *appfile.Application) (*plan.Plan, error) {
	p, err := plan.Make(app, g.live(), plan.Options{QuickSync: g.Quick, Pipeline: !g.Quick})
	if err != nil {
		return nil, err
	}
	p.Changes = nil
	return p, nil
}

// take looks at AWS and makes a plan; nothing is saved if there can be none.
func take(ctx context.Context, pl *place, p *plugin, app *appfile.Application, quick bool) (ground, *plan.Plan, error) {
	live, err := stage.Survey(ctx, pl.account, p.clock, app)
	if err != nil {
		return ground{}, nil, err
	}
	g := groundOf(live, quick)
	made, err := g.plan(app)
	return g, made, err
}

// loadGround is the ground that was saved; false if the deployment has not begun.
func loadGround(ctx context.Context, h *host) (g ground, ok bool, err error) {
	data, ok, err := h.Load(ctx, keyGround)
	if err != nil || !ok {
		return g, false, err
	}
	if err := json.Unmarshal(data, &g); err != nil {
		return g, false, fmt.Errorf("read what was saved as %s: %w", keyGround, err)
	}
	return g, true, nil
}

func saveGround(ctx context.Context, h *host, g ground) error {
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return h.Save(ctx, keyGround, data)
}

// indexOf is the place of a stage among ours: piped counts all plugins' stages.
func indexOf(pipeline []string, index int) int {
	n := 0
	for i, name := range pipeline {
		if i < index && slices.Contains(ourStages, name) {
			n++
		}
	}
	return n
}

// beganKey is where the first begin of a stage is saved.
func beganKey(stageID string) string { return "began " + stageID }

// began is when the stage began for the first time, by our clock.
func began(ctx context.Context, h *host, stageID string, now time.Time) (time.Time, error) {
	data, ok, err := h.Load(ctx, beganKey(stageID))
	if err != nil {
		return now, err
	}
	if ok {
		if at, err := time.Parse(time.RFC3339Nano, string(data)); err == nil {
			return at, nil
		}
	}
	return now, h.Save(ctx, beganKey(stageID), []byte(now.UTC().Format(time.RFC3339Nano)))
}
