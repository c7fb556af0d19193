package mode

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// taskRules are the rules of a task without a service. Its plan has no stage of a service, so most
// of them are empty.
func taskRules() rules {
	return rules{
		mode: plan.ModeTask, make: makeStandalone,
		refuseEarly: refuseRollbackEvents, refuse: refuseNothing, refuseIdle: allowIdle,
		prepare: prepareNothing, finish: finishNothing,
		hasLeftovers: hasNoLeftovers, listChanges: listServiceChanges,
		syncWrites: writeNothing, canaryWrites: writeNothing, primaryWrites: writeNothing,
		cleanWrites: writeNothing, adoptWrites: writeNothing, rollbackWrites: writeNothing,
		growWrites: growNothing, guardWrites: guardNothing, replaceTime: (*forecast.Estimate).NoTime,
		warnService: warnNothing, warn: warnNothing,
		words: words{
			stages: "Stages", sync: noWords, summary: noWords, canary: noWords,
			primary: "the task runs", rollback: "the effects of a task cannot be rolled back",
		},
	}
}

// makeStandalone plans the deployment of an application without a service. It registers the
// definition and, unless the file says otherwise, runs the task.
func makeStandalone(app *appfile.Application, live plan.AWSState, o Options) (*plan.Plan, error) {
	if err := refuseStandalone(app, o); err != nil {
		return nil, err
	}
	if app.Standalone.Run {
		p, err := MakeRun(app, live, RunOptions{})
		if err != nil {
			return nil, err
		}
		return p, addSteps(p, app, live)
	}
	p, err := newTaskPlan(app, live)
	if err != nil {
		return nil, err
	}
	s := newRegisterStage(app)
	if live.Identical == "" {
		s.AddWrite("ecs:RegisterTaskDefinition", p.To)
	}
	p.Stages = []plan.Stage{s}
	p.Notes = append(slices.Clone(p.Notes),
		"the task is not run: runStandaloneTask is false"+defaultText(app)+
			"; to run it, use sluice run, or set runStandaloneTask: true to run it with each deployment")
	if live.Identical == "" {
		p.Changes = plan.ChangesOf("task definition", compareDefinition(app, live))
	}
	return withRollback(p), addSteps(p, app, live)
}

// defaultText notes that not running the task is the default of PipeCD v1.
func defaultText(app *appfile.Application) string {
	if app.Format == appfile.PipeCDv1 {
		return " (PipeCD v1's default)"
	}
	return ""
}

func refuseStandalone(app *appfile.Application, o Options) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: app.File, Err: fmt.Errorf(format, args...), Next: next}
	}
	switch {
	case o.Tasks != nil:
		return problem("use sluice run --count N", "a task without a service has no desired count")
	case o.Force:
		return problem("remove the flag: each deployment runs the task", "--force-new-deployment is for services")
	}
	for i, s := range app.Pipeline {
		if _, ok := s.With.(appfile.Sync); !ok && !o.QuickSync {
			return problem("remove the pipeline, or set input.serviceDefinitionFile if there is a service",
				"stage %d %s: a task without a service is only registered and run", i+1, s.Name)
		}
	}
	return nil
}

// newTaskPlan returns the plan of a task without its stages.
func newTaskPlan(app *appfile.Application, live plan.AWSState) (*plan.Plan, error) {
	task, err := app.Task.JSON()
	if err != nil {
		return nil, fmt.Errorf("task definition: %w", err)
	}
	p := &plan.Plan{
		Schema: plan.Schema, Application: app.Name, Account: live.Account, Region: live.Region, Role: app.Role, Standalone: true,
		Access:  sluice.NoAccess,
		Cluster: app.ClusterName(), Service: plan.TaskGroup(app), QuickSync: true,
		ProgressDeadline: app.ProgressDeadline, Timeout: app.Timeout,
		Task: task, Digest: definition.Digest(app.Task), To: aws.ToString(app.Task.Input.Family), Notes: app.Notes,
		Hidden: app.Secrets,
	}
	if p.Application == "" {
		p.Application = p.To
	}
	if live.Definition != nil {
		p.From = sluice.RevisionOf(aws.ToString(live.Definition.TaskDefinitionArn))
	}
	if live.Identical != "" {
		p.To = live.Identical
	}
	warnProblems(p, app, live)
	return p, nil
}

// withRollback adds an empty rollback to a plan of tasks.
func withRollback(p *plan.Plan) *plan.Plan {
	p.Rollback = newRollbackStage(len(p.Stages))
	return p
}

// compareDefinition returns the differences between the file and the revision that serves, or the newest one of a
// standalone task.
func compareDefinition(app *appfile.Application, live plan.AWSState) []definition.Difference {
	if live.Definition == nil {
		return app.Task.Members()
	}
	return append(definition.CompareTask(app.Task, live.Definition),
		definition.CompareTags(app.Task, live.DefinitionTags)...)
}

// addSteps adds the stages of before and after to those of the plan. Leftovers of a lost deployment
// are removed before any step runs.
func addSteps(p *plan.Plan, app *appfile.Application, live plan.AWSState) error {
	if len(app.Before)+len(app.After) == 0 {
		return nil
	}
	rest := slices.IndexFunc(p.Stages, func(s plan.Stage) bool { return !s.Adopts() })
	all := slices.Clone(p.Stages[:max(rest, 0)])
	add := func(when string, steps []appfile.Step) error {
		for _, s := range steps {
			t, err := plan.NewStepTask(app, when, s)
			if err != nil {
				return err
			}
			if to := live.Steps[plan.StepKey(when, s.Name)]; to != "" {
				t.To = to
			}
			all = append(all, newTaskStage(p, len(all), t, s.Timeout, live))
		}
		return nil
	}
	if err := add(plan.StepBefore, app.Before); err != nil {
		return err
	}
	for _, s := range p.Stages[max(rest, 0):] {
		s.Index = len(all)
		all = append(all, s)
	}
	if err := add(plan.StepAfter, app.After); err != nil {
		return err
	}
	p.Stages = all
	p.Rollback.Index = len(all)
	return nil
}

// newTaskStage returns a stage that runs a task, with its writes.
func newTaskStage(p *plan.Plan, index int, t *plan.Task, timeout time.Duration, live plan.AWSState) plan.Stage {
	s := newRunStage(index, t, timeout)
	to, registered := p.To, live.Identical != ""
	if t.HasOwnDefinition() {
		to, registered = t.To, t.IsRegistered()
	}
	if !registered {
		s.AddWrite("ecs:RegisterTaskDefinition", to)
	}
	s.AddWrite("ecs:RunTask", p.Cluster+"/"+to)
	if p.Mode().HasService() && (t.When == plan.StepAfter || live.ServiceStatus() == "ACTIVE") {
		addClaimWrites(p, &s)
	}
	return s
}

// RunOptions say how a user wants tasks to be run now.
type RunOptions struct {
	Given *definition.Run // overrides the files; nil: no overrides
	Watch string          // the container whose exit code decides
	// Command overrides the command of that container. Empty keeps the container's own.
	Command []string
}

// MakeRun plans a run of the application's task. The application may have a service.
func MakeRun(app *appfile.Application, live plan.AWSState, o RunOptions) (*plan.Plan, error) {
	p, err := newTaskPlan(app, live)
	if err != nil {
		return nil, err
	}
	if o.Given == nil {
		o.Given = &definition.Run{Input: &awsecs.RunTaskInput{}}
	}
	o.Watch = cmp.Or(o.Watch, app.Standalone.WatchContainer)
	if len(o.Command) > 0 {
		o.Given = withCommand(o.Given, cmp.Or(o.Watch, plan.FirstEssential(app.Task)), o.Command)
	}
	t, err := plan.NewTask(app, "", nil, o.Given, o.Watch)
	if err != nil {
		return nil, err
	}
	p.Stages = []plan.Stage{newTaskStage(p, 0, t, app.Timeout, live)}
	p.Changes = append(plan.ChangesOf("task definition", compareDefinition(app, live)),
		plan.Change{Of: "task", Path: "run", Have: "-", Want: plan.TaskCountText(t.Count) + " of " + p.To,
			Kind: plan.Adds})
	return withRollback(p), nil
}

// withCommand returns the request with another command for one container.
func withCommand(given *definition.Run, name string, words []string) *definition.Run {
	over := &awsecs.RunTaskInput{Overrides: &ecstypes.TaskOverride{
		ContainerOverrides: []ecstypes.ContainerOverride{{Name: &name, Command: words}}}}
	return &definition.Run{Input: plan.MergeRunInput(given.Input, over)}
}
