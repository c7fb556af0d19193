package piped

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/aymanbagabas/go-udiff"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// GetPlanPreview describes the effect of a change: the difference of the files between the commits,
// and the weights after each stage. It writes nothing.
func (p *plugin) GetPlanPreview(ctx context.Context,
	r *contract.GetPlanPreviewRequest) (*contract.GetPlanPreviewResponse, error) {
	target, err := p.entry.loadApplication(r.GetTargetDeploymentSource())
	if err != nil {
		return nil, grpcError(err)
	}
	var running *appfile.Application
	if r.GetRunningDeploymentSource() != nil {
		if was, err := p.entry.loadApplication(r.GetRunningDeploymentSource()); err == nil {
			running = was.app
		}
	}
	changes := 0
	head := "first deployment"
	if running != nil {
		changes = len(compareApplications(running, target.app))
		head = sluice.Plural(changes, "change")
	}
	diff, err := diffOf(running, target.app)
	if err != nil {
		return nil, grpcError(err)
	}
	answer := &contract.GetPlanPreviewResponse{}
	for _, name := range r.GetDeployTargets() {
		answer.Results = append(answer.Results, &contract.PlanPreviewResult{DeployTarget: name, Summary: head,
			NoChange:     running != nil && changes == 0,
			Details:      []byte(diff + p.previewStages(ctx, name, r.GetApplicationId(), target)),
			DiffLanguage: "diff"})
	}
	if len(answer.Results) == 0 {
		return nil, grpcError(&sluice.Error{Op: "preview", Resource: r.GetApplicationName(),
			Err:  fmt.Errorf("the application has no deploy target of plugin %s", p.entry.Name),
			Next: "choose one in PipeCD's settings of the application"})
	}
	return answer, nil
}

// diffOf returns the unified diff of the two definitions in AWS's format, without values that may
// be secret.
func diffOf(running, target *appfile.Application) (string, error) {
	var b strings.Builder
	for _, part := range []struct {
		name string
		of   func(*appfile.Application) ([]byte, error)
	}{{"task definition", taskJSON}, {"service definition", serviceJSON}} {
		was, err := yamlTree(running, part.of)
		if err != nil {
			return "", err
		}
		now, err := yamlTree(target, part.of)
		if err != nil {
			return "", err
		}
		was, now = hideSecrets(was, now)
		b.WriteString(udiff.Unified("running "+part.name, "target "+part.name, yamlText(was), yamlText(now)))
	}
	return b.String(), nil
}

// previewStages lists the stages with the weights after each, and the warnings. It numbers them as
// PipeCD does: from 0, with the stages of other plugins.
func (p *plugin) previewStages(ctx context.Context, target, application string, app *loadedApp) string {
	made, err := p.previewPlan(ctx, target, application, app.app)
	if err != nil {
		return "\n# no plan for " + target + ": " + strings.ReplaceAll(explainError(err), "\n", "\n# ") + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n# on %s, now %s:\n", target, orNone(made.From))
	number, others := 0, app.pipeline
	if made.QuickSync {
		others = nil
	}
	writeOthers := func() {
		for ; number < len(others) && !p.entry.runs(others[number]); number++ {
			fmt.Fprintf(&b, "#   %d %s, a stage of another plugin\n", number, others[number])
		}
	}
	for _, s := range made.Stages {
		if isOwnStage(s) {
			writeStage(&b, "-", s)
			continue
		}
		writeOthers()
		writeStage(&b, strconv.Itoa(number), s)
		number++
	}
	writeOthers()
	for _, w := range made.Warnings {
		fmt.Fprintf(&b, "# warning: %s\n", withoutCommands(w))
	}
	return b.String()
}

// writeStage writes a stage of this plugin with the weights or the registered tasks after it.
func writeStage(b *strings.Builder, number string, s plan.Stage) {
	fmt.Fprintf(b, "#   %s %s%s\n", number, s.Name, optionText(s))
	for _, r := range s.Routes {
		fmt.Fprintf(b, "#       %s: %s\n", r.Name, r.Weights)
	}
	if s.Share != nil {
		fmt.Fprintf(b, "#       %s\n", s.Share)
	}
}

func optionText(s plan.Stage) string {
	if s.Task != nil && s.Task.Step != "" {
		return ": step " + s.Task.Step + ", " + sluice.Plural(s.Task.Count, "task") + ", until it stops"
	}
	if s.Task != nil {
		return ": " + sluice.Plural(s.Task.Count, "task") + ", until it stops"
	}
	if s.Scale > 0 {
		return fmt.Sprintf(" %d%%", s.Scale)
	}
	return ""
}

func (p *plugin) previewPlan(ctx context.Context, target, application string, app *appfile.Application) (*plan.Plan,
	error) {
	pl, err := p.targets.openTarget(ctx, target)
	if err != nil {
		return nil, err
	}
	_, made, err := surveyAndPlan(ctx, pl, p, app, application, "", len(app.Pipeline) == 0)
	return made, err
}

func orNone(s string) string {
	if s == "" {
		return "no running version"
	}
	return s
}

func taskJSON(a *appfile.Application) ([]byte, error) { return a.Task.JSON() }

func serviceJSON(a *appfile.Application) ([]byte, error) {
	if a.Service == nil {
		return nil, nil
	}
	return a.Service.JSON()
}

// yamlTree returns a definition as a tree; nil if there is none.
func yamlTree(a *appfile.Application, of func(*appfile.Application) ([]byte, error)) (any, error) {
	if a == nil {
		return nil, nil
	}
	data, err := of(a)
	if err != nil || data == nil {
		return nil, err
	}
	var tree any
	err = yaml.Unmarshal(data, &tree)
	return tree, err
}

func yamlText(tree any) string {
	if tree == nil {
		return ""
	}
	out, err := yaml.Marshal(tree)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
