package mode

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Options change which plan is made.
type Options struct {
	QuickSync bool // --quick-sync: no pipeline, whatever the file says
	Pipeline  bool // --pipeline: the pipeline even on a first deployment
	Operates  bool // sluice scale or refresh: a canary, and the rules, stay as they are, see keepsCanary
	Force     bool // --force-new-deployment: a deployment of ECS's or CodeDeploy's even if nothing changes
	Tasks     *int // --tasks: overrides the desired count of the file

	// Restart is the reason for a new deployment of a revision that is PRIMARY already. It is empty
	// if no restart is needed.
	Restart string

	TakeOver string // --take-over: the claim of that deployment, or of that value, may be taken over
	Adopt    bool   // --adopt: a first stage removes leftovers of a deployment whose journal is lost
	Only     bool   // with Adopt: the plan has no other stage
	// Scaling is requested in addition to the settings of the file. The survey of AWS needs it too:
	// see [appfile.Scaling.With].
	Scaling appfile.Scaling
	// RollbackEvents are the events after which CodeDeploy rolls back by itself. Nil keeps the
	// settings of the deployment group.
	RollbackEvents []string
}

// Make plans the deployment of an application onto the current state of AWS. Its errors are about
// the files or about a state that sluice cannot start from. Make writes nothing to AWS.
func Make(app *appfile.Application, live plan.AWSState, o Options) (*plan.Plan, error) {
	p, err := rulesOf(Of(app)).make(app, live, o)
	return p, app.Locate(err)
}

// makeService plans the deployment of a service.
func makeService(app *appfile.Application, live plan.AWSState, o Options) (*plan.Plan, error) {
	if o.leavesPipeline(app, live) {
		live.Problems = withoutPipeline(live.Problems)
	}
	if err := refuseUndeployable(app, live, o); err != nil {
		return nil, err
	}
	asked := withDesiredCount(app, o.Tasks).Service.Input.DesiredCount
	app = withKeptTags(withTagRecords(app, live), live)
	app = withScaledCount(withLeftOut(app, live), live, o.Tasks)
	app = withTargetGroup(withDesiredCount(app, o.Tasks), live)
	p, err := newPlan(app, live)
	if err != nil {
		return nil, err
	}
	stages := app.Pipeline
	if o.leavesPipeline(app, live) {
		p.QuickSync = true
		stages = []appfile.Stage{syncStage(app)}
	}
	if o.keepsCanary(app, live) {
		stages = []appfile.Stage{primaryStage(app)}
	}
	stages = o.withAdoptStage(stages, app, live)
	r := rulesOf(p.Mode())
	if err := r.prepare(p, app, live, o); err != nil {
		return nil, err
	}
	for i, s := range stages {
		p.Stages = append(p.Stages, newStage(app.File, i, s))
	}
	if err := checkStages(p, live); err != nil {
		return nil, err
	}
	if err := checkGates(p, app); err != nil {
		return nil, err
	}
	if err := refuseExternal(app, live, o); err != nil {
		return nil, err
	}
	if err := refuseEarlySuccess(app, live); err != nil {
		return nil, err
	}
	if err := refuseRebalancing(app, live); err != nil {
		return nil, err
	}
	if err := refuseUnhealthyRoute(p, app, live); err != nil {
		return nil, err
	}
	if err := refusePrimaryElsewhere(p, app, live); err != nil {
		return nil, err
	}
	if err := planScaling(p, app.Scaling.With(o.Scaling), live); err != nil {
		return nil, err
	}
	for i := range p.Stages {
		addStageWrites(p, &p.Stages[i], live)
	}
	p.Rollback = planRollback(p, len(stages), live)
	if err := accessRulesOf(p.Access).planShares(p, desiredCount(p, app, live)); err != nil {
		return nil, err
	}
	if !o.Only {
		if err := r.refuseIdle(p, app, live); err != nil {
			return nil, err
		}
		if err := addSteps(p, app, live); err != nil {
			return nil, err
		}
	}
	addGuardWrites(p, live)
	r.finish(p)
	adjustAcrossStages(p)
	p.TakeOver, p.PreviousSet = o.TakeOver, live.LeftoverPrevious()
	listChanges(p, app, live, o)
	planTags(p, app, live)
	if p.Force = o.Force; p.Force {
		p.Changes = append(p.Changes, plan.Change{Of: "service", Path: "forceNewDeployment", Have: "-",
			Want: "a new deployment", Kind: plan.Adds})
	}
	planRestart(p, o)
	if err := refuseRulesBeside(p, app, live); err != nil {
		return nil, err
	}
	p.AsksNoTasks = asked != nil && *asked == 0
	p.Serving = live.FindServing()
	p.Idle = wantsNoTasks(app, live) && !o.Only
	collectWarnings(p, app, live)
	noteGates(p)
	planDeregistration(p, app)
	reduceToScaling(p, app, live, o)
	return p, nil
}

// leavesPipeline reports whether the deployment takes one step instead of the pipeline of the file, if there is one.
func (o Options) leavesPipeline(app *appfile.Application, live plan.AWSState) bool {
	return o.QuickSync || len(app.Pipeline) == 0 || live.IsFirstDeployment() && !o.Pipeline ||
		o.Restart != "" && !o.Pipeline
}

// keepsCanary reports whether the plan only replaces tasks of the primary by tasks of the same revision, beside a canary:
// an operation changes no version, so that neither the canary nor the weights that a person gave it end.
func (o Options) keepsCanary(app *appfile.Application, live plan.AWSState) bool {
	return o.Operates && !o.Adopt && !app.Recreate && accessOf(app) == sluice.ELB && Of(app).HasVariants() &&
		live.Identical != "" && live.Identical == live.ServingRevision() && rulesOf(Of(app)).hasLeftovers(app, live)
}

// withDesiredCount returns the application with another desired count.
func withDesiredCount(app *appfile.Application, tasks *int) *appfile.Application {
	if tasks == nil {
		return app
	}
	a := *app
	a.Service = app.Service.WithCount(int32(*tasks))
	return &a
}

// newPlan returns the plan without its stages.
func newPlan(app *appfile.Application, live plan.AWSState) (*plan.Plan, error) {
	task, err := app.Task.JSON()
	if err != nil {
		return nil, fmt.Errorf("task definition: %w", err)
	}
	service, err := app.Service.JSON()
	if err != nil {
		return nil, fmt.Errorf("service definition: %w", err)
	}
	p := &plan.Plan{
		Schema: plan.Schema, Application: app.Name, Account: live.Account, Region: live.Region, Role: app.Role,
		Cluster: app.ClusterName(), Service: aws.ToString(app.Service.Input.ServiceName),
		Access: accessOf(app), Controller: controllerOf(app), Hosting: Of(app).Hosting(),
		AutoRollback: app.AutoRollback, Gates: app.Gates, OnOutsideChange: app.OnOutsideChange, OnOtherTargets: app.OnOtherTargets,
		OnUnhealthyRoute: app.OnUnhealthyRoute, Callers: live.Callers, Scope: live.Scope, Names: live.Names,
		Failing:  live.Failing,
		Recreate: app.Recreate, ProgressDeadline: app.ProgressDeadline, Bake: app.Bake, Timeout: app.Timeout,
		Task: task, Digest: definition.Digest(app.Task), Definition: service, Hidden: app.Secrets,
		Primary:       newGroup(app.Primary),
		Canary:        newGroup(app.Canary),
		ListenerRules: app.ListenerRules, To: aws.ToString(app.Task.Input.Family), Notes: app.Notes,
	}
	if p.Application == "" {
		p.Application = p.Service
	}
	if live.Identical != "" {
		p.To = live.Identical
	}
	if p.From = live.ServingRevision(); !p.Mode().HasVariants() {
		p.Primary, p.Canary, p.ListenerRules = nil, nil, nil
	}
	if c := app.Service.Input.DeploymentConfiguration; c != nil && c.Strategy != ecstypes.DeploymentStrategyRolling {
		p.Strategy = string(c.Strategy)
	}
	fillRouting(p, live)
	accessRulesOf(app.Access).fill(p, live)
	p.Finish = []sluice.Write{{Operation: "ecs:UntagResource", Resource: p.ServiceResource()}}
	return p, nil
}

func fillRouting(p *plan.Plan, live plan.AWSState) {
	if g := live.Primary; g != nil && g.Type != plan.ApplicationBalancer && g.Type.IsKnown() {
		p.Balancer = g.Type
	}
	p.Extends = len(live.Extend) > 0 && len(live.Steered) == 0
	for _, of := range []struct {
		group *plan.Group
		live  *plan.GroupAttachment
	}{{p.Primary, live.Primary}, {p.Canary, live.Canary}} {
		if of.live != nil {
			p.Drain = max(p.Drain, of.live.Drain)
		}
		if of.live != nil && of.group != nil {
			of.group.Drain = of.live.Drain
		}
	}
	seen := map[string]bool{}
	for _, r := range live.WritableRules() {
		if !seen[r.Listener] {
			seen[r.Listener] = true
			p.Listeners = append(p.Listeners, r.Listener)
		}
	}
}

func newGroup(g *appfile.TargetGroup) *plan.Group {
	if g == nil {
		return nil
	}
	return &plan.Group{ARN: g.ARN, Container: g.Container, Port: g.Port}
}
