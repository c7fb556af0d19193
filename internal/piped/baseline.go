package piped

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// keyBaseline is the key under which the baseline is saved, before the first write.
const keyBaseline = "ground"

// baseline is the state of AWS when the deployment began, as far as its plan depends on it. With
// the files of the target commit it gives the same plan in every stage and every attempt. It is
// saved compressed, in a few hundred bytes; the plan would take tens of thousands.
type baseline struct {
	Quick bool `json:"quick,omitempty"`
	// Live is the state that was read. Of the current task definition it contains only the ARN,
	// since the rest may be secret.
	Live                  plan.AWSState `json:"live"`
	RulesErr, DeployerErr string        `json:",omitempty"`
	// Restart is why a new deployment of the PRIMARY revision is started.
	Restart string `json:"restart,omitempty"`
	// Unchanged is the revision that serves, if a quick sync has nothing to change.
	Unchanged string `json:"unchanged,omitempty"`
}

func newBaseline(l plan.AWSState, quick bool) baseline {
	g := baseline{Quick: quick, RulesErr: textOf(l.RulesErr), DeployerErr: textOf(l.DeployerErr)}
	l.RulesErr, l.DeployerErr = nil, nil
	g.Live = l.WithoutContent()
	return g
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func errorOf(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// planInput returns the input of [mode.Make], restored. If the current task definition has the
// revision of the file, the file supplies its content.
func (g baseline) planInput(app *appfile.Application) plan.AWSState {
	l := g.Live
	l.RulesErr, l.DeployerErr = errorOf(g.RulesErr), errorOf(g.DeployerErr)
	if d := l.Definition; d != nil && l.Identical != "" &&
		sluice.RevisionOf(aws.ToString(d.TaskDefinitionArn)) == l.Identical {
		l.Definition = app.Task.AsDescribed()
		l.Definition.TaskDefinitionArn = d.TaskDefinitionArn
	}
	return l
}

// makePlan makes the plan of the deployment without its list of changes: those compare with data
// that the baseline does not contain.
func (g baseline) makePlan(app *appfile.Application) (*plan.Plan, error) {
	p, err := mode.Make(app, g.planInput(app), mode.Options{QuickSync: g.Quick, Pipeline: !g.Quick, Restart: g.Restart})
	if err != nil {
		return nil, err
	}
	p.Changes = nil
	return p, nil
}

// surveyAndPlan reads AWS and makes a plan for an application of PipeCD. It may remove task sets
// that the official plugin left of the application. deployment is the id of the deployment that
// begins; empty: the plan is a preview. It ignores a claim of an earlier deployment of the
// application.
func surveyAndPlan(ctx context.Context, pl *activeTarget, p *plugin, app *appfile.Application, application,
	deployment string, quick bool) (baseline, *plan.Plan, error) {
	live, err := survey.ReadInputs(ctx, pl.account, p.clock, app)
	if err != nil {
		return baseline{}, nil, err
	}
	if deployment != "" && leftoverClaim(live.Claim, application, deployment) != "" {
		live.Claim = ""
	}
	g := newBaseline(live, quick)
	if g.Live.HasTaskSets() {
		service := ecs.Service{API: pl.account.ECS(), Cluster: app.ClusterName(),
			Name: aws.ToString(app.Service.Input.ServiceName)}
		if g.Live.Left, err = service.TaskSetsTagged(ctx, madeByPlugin(application)); err != nil {
			return baseline{}, nil, err
		}
	}
	made, err := g.makePlan(app)
	if err != nil {
		return g, made, err
	}
	now, err := stage.JudgeCurrent(ctx, pl.account, p.clock, made, live)
	if err != nil || now == nil {
		return g, made, err
	}
	if now.Does == plan.DoesNothing && quick && deployment != "" {
		live.Left = g.Live.Left
		g.Unchanged = unchangedRevision(app, live)
	}
	if now.Does != plan.DoesRestart {
		return g, made, err
	}
	g.Restart = now.Detail
	made, err = g.makePlan(app)
	return g, made, err
}

// unchangedRevision returns the revision that serves if a quick sync would change nothing but PipeCD's own tags; empty
// otherwise.
func unchangedRevision(app *appfile.Application, live plan.AWSState) string {
	full, err := mode.Make(withLiveTags(app, live), live, mode.Options{QuickSync: true})
	if err != nil || full.HasChanges() || full.Adopts() {
		return ""
	}
	return full.From
}

// loadBaseline returns the saved baseline; false if the deployment has not begun.
func loadBaseline(ctx context.Context, h *host) (g baseline, ok bool, err error) {
	data, ok, err := h.Load(ctx, keyBaseline)
	if err != nil || !ok {
		return g, false, err
	}
	text, err := decompressText(string(data))
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		return g, false, fmt.Errorf("read the saved value %s: %w", keyBaseline, err)
	}
	return g, true, nil
}

func saveBaseline(ctx context.Context, h *host, g baseline) error {
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	text, err := compressText(data)
	if err != nil {
		return err
	}
	return h.Save(ctx, keyBaseline, []byte(text))
}

// ownIndex returns the index of a stage among the stages of this plugin: piped counts all plugins'
// stages.
func (e *pluginEntry) ownIndex(pipeline []string, index int) int {
	n := 0
	for i, name := range pipeline {
		if i < index && e.runs(name) {
			n++
		}
	}
	return n
}

// beganKey returns the key under which the first begin of a stage is saved.
func beganKey(stageID string) string { return "began " + stageID }

// loadBegin returns when the stage began for the first time, by this plugin's clock, and saves
// that.
func loadBegin(ctx context.Context, h *host, stageID string, now time.Time) (time.Time, error) {
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
