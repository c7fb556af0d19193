package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// GroupPrefix begins the name of a task without a service in a plan. It stands in place of the
// service name. AWS gives tasks without a service a group of this form.
const GroupPrefix = "family:"

// TaskGroup returns the group of the application's tasks that belong to no service.
func TaskGroup(app *appfile.Application) string {
	return GroupPrefix + aws.ToString(app.Task.Input.Family)
}

// makeStandalone plans the deployment of an application without a service. It registers the
// definition and, unless the file says otherwise, runs the task.
func makeStandalone(app *appfile.Application, live AWSState, o Options) (*Plan, error) {
	if err := refuseStandalone(app, o); err != nil {
		return nil, err
	}
	if app.Standalone.Run {
		p, err := MakeRun(app, live, RunOptions{})
		if err != nil {
			return nil, err
		}
		return p, p.addSteps(app, live)
	}
	p, err := newTaskPlan(app, live)
	if err != nil {
		return nil, err
	}
	s := Stage{Name: appfile.StageRegister, Timeout: app.Timeout}
	if live.Identical == "" {
		s.addWrite("ecs:RegisterTaskDefinition", p.To)
	}
	p.Stages = []Stage{s}
	p.Notes = append(slices.Clone(p.Notes),
		"the task is not run: runStandaloneTask is false"+defaultText(app)+
			"; to run it, use sluice run, or set runStandaloneTask: true to run it with each deployment")
	if live.Identical == "" {
		p.Changes = appendDifferences(nil, "task definition", diffWithNewest(app, live))
	}
	return p.withRollback(), p.addSteps(app, live)
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
func newTaskPlan(app *appfile.Application, live AWSState) (*Plan, error) {
	task, err := app.Task.JSON()
	if err != nil {
		return nil, fmt.Errorf("task definition: %w", err)
	}
	p := &Plan{
		Schema: Schema, Application: app.Name, Account: live.Account, Region: live.Region, Standalone: true,
		Access:  sluice.NoAccess,
		Cluster: sluice.ARNName(app.Cluster), Service: TaskGroup(app), QuickSync: true,
		ProgressDeadline: app.ProgressDeadline, Timeout: app.Timeout,
		Task: task, Digest: definition.Digest(app.Task), To: aws.ToString(app.Task.Input.Family), Notes: app.Notes,
	}
	if p.Application == "" {
		p.Application = p.To
	}
	if p.Cluster == "" {
		p.Cluster = "default"
	}
	if live.Definition != nil {
		p.From = sluice.RevisionOf(aws.ToString(live.Definition.TaskDefinitionArn))
	}
	if live.Identical != "" {
		p.To = live.Identical
	}
	return p, nil
}

// withRollback adds an empty rollback to a plan of tasks.
func (p *Plan) withRollback() *Plan {
	p.Rollback = Stage{Index: len(p.Stages), Name: appfile.StageRollback}
	return p
}

// diffWithNewest returns the differences between the newest revision and the file.
func diffWithNewest(app *appfile.Application, live AWSState) []definition.Difference {
	if live.Definition == nil {
		return []definition.Difference{{Path: "family", Have: "not registered", Want: *app.Task.Input.Family}}
	}
	return definition.CompareTask(app.Task, live.Definition)
}

// addSteps adds the stages of before and after to those of the plan. Leftovers of a lost deployment
// are removed before any step runs.
func (p *Plan) addSteps(app *appfile.Application, live AWSState) error {
	if len(app.Before)+len(app.After) == 0 {
		return nil
	}
	rest := slices.IndexFunc(p.Stages, func(s Stage) bool { return !s.Adopts() })
	all := slices.Clone(p.Stages[:max(rest, 0)])
	add := func(when string, steps []appfile.Step) error {
		for _, s := range steps {
			t, err := newStepTask(app, when, s)
			if err != nil {
				return err
			}
			if to := live.Steps[StepKey(when, s.Name)]; to != "" {
				t.To = to
			}
			all = append(all, p.newTaskStage(len(all), t, s.Timeout, live))
		}
		return nil
	}
	if err := add(StepBefore, app.Before); err != nil {
		return err
	}
	for _, s := range p.Stages[max(rest, 0):] {
		s.Index = len(all)
		all = append(all, s)
	}
	if err := add(StepAfter, app.After); err != nil {
		return err
	}
	p.Stages = all
	p.Rollback.Index = len(all)
	return nil
}

func newStepTask(app *appfile.Application, when string, s appfile.Step) (*Task, error) {
	t, err := newTask(app, when, s.Task, s.Run, s.WatchContainer)
	if err != nil {
		return nil, fmt.Errorf("step %s: %w", s.Name, err)
	}
	t.Step, t.Rollback = s.Name, s.Rollback
	return t, nil
}

// newTaskStage returns a stage that runs a task, with its writes.
func (p *Plan) newTaskStage(index int, t *Task, timeout time.Duration, live AWSState) Stage {
	s := Stage{Index: index, Name: appfile.StageRunTask, Timeout: timeout, Task: t}
	to, registered := p.To, live.Identical != ""
	if t.HasOwnDefinition() {
		to, registered = t.To, t.IsRegistered()
	}
	if !registered {
		s.addWrite("ecs:RegisterTaskDefinition", to)
	}
	s.addWrite("ecs:RunTask", p.Cluster+"/"+to)
	if !p.Standalone && (t.When == StepAfter || live.serviceStatus() == "ACTIVE") {
		p.addClaimWrites(&s)
	}
	return s
}
