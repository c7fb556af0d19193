package plan

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Options change which plan is made.
type Options struct {
	QuickSync bool // --quick-sync: all at once, whatever the file says
	Pipeline  bool // --pipeline: the pipeline even on a first deployment
}

// Make plans the deployment of an application onto what AWS has. Its errors are
// about the files or about a state that sluice cannot start from; nothing has
// been written then.
func Make(app *appfile.Application, live Live, o Options) (*Plan, error) {
	if err := refuse(app, live); err != nil {
		return nil, err
	}
	p, err := frame(app, live)
	if err != nil {
		return nil, err
	}
	stages := app.Pipeline
	if o.QuickSync || len(stages) == 0 || live.first() && !o.Pipeline {
		p.QuickSync = true
		stages = []appfile.Stage{{Name: appfile.StageSync, With: appfile.Sync{}, Timeout: app.Timeout}}
	}
	if err := p.check(stages, live); err != nil {
		return nil, err
	}
	for i, s := range stages {
		p.Stages = append(p.Stages, p.stage(i, s, live))
	}
	p.spread()
	p.Rollback = p.rollback(len(stages), live)
	p.Changes = changes(app, live)
	p.warn(app, live)
	return p, nil
}

// frame is the plan without its stages.
func frame(app *appfile.Application, live Live) (*Plan, error) {
	task, err := app.Task.JSON()
	if err != nil {
		return nil, fmt.Errorf("task definition: %w", err)
	}
	service, err := app.Service.JSON()
	if err != nil {
		return nil, fmt.Errorf("service definition: %w", err)
	}
	p := &Plan{
		Schema: Schema, Application: app.Name, Account: live.Account, Region: live.Region,
		Cluster: sluice.ARNName(app.Cluster), Service: aws.ToString(app.Service.Input.ServiceName), Access: app.Access,
		AutoRollback: app.AutoRollback, Recreate: app.Recreate, ProgressDeadline: app.ProgressDeadline, Timeout: app.Timeout,
		Task: task, Digest: definition.Digest(app.Task), Definition: service, Primary: group(app.Primary), Canary: group(app.Canary),
		Named: app.ListenerRules, To: aws.ToString(app.Task.Input.Family), Notes: app.Notes,
	}
	if p.Application == "" {
		p.Application = p.Service
	}
	if p.Cluster == "" {
		p.Cluster = "default"
	}
	if live.Identical != "" {
		p.To = live.Identical
	}
	if ts := live.primary(); ts != nil {
		p.From = ts.Revision
	}
	p.place(live)
	p.Finish = []sluice.Write{{Operation: "ecs:UntagResource", Resource: p.resource()}}
	return p, nil
}

func (p *Plan) place(live Live) {
	p.Extends = len(live.Extend) > 0 && len(live.Steered) == 0
	for _, g := range []*Place{live.Primary, live.Canary} {
		if g != nil {
			p.Drain = max(p.Drain, g.Drain)
		}
	}
	seen := map[string]bool{}
	for _, r := range live.rules() {
		if !seen[r.Listener] {
			seen[r.Listener] = true
			p.Listeners = append(p.Listeners, r.Listener)
		}
	}
}

func (p *Plan) resource() string { return p.Cluster + "/" + p.Service }

func group(g *appfile.TargetGroup) *Group {
	if g == nil {
		return nil
	}
	return &Group{ARN: g.ARN, Container: g.Container, Port: g.Port}
}

// refuse finds what sluice cannot deploy, before anything is looked at closer.
func refuse(app *appfile.Application, live Live) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: app.File, Err: fmt.Errorf(format, args...), Next: next}
	}
	switch {
	case app.Service == nil:
		return problem("give input.serviceDefinitionFile", "standalone tasks are not deployed by this version of sluice")
	case app.Access != sluice.ELB:
		return problem("use accessType ELB with target groups", "access type %s is not deployed by this version of sluice", app.Access)
	case app.Primary == nil || app.Primary.ARN == "":
		return problem("name the target group under input.targetGroups.primary.targetGroupArn", "accessType ELB needs a primary target group")
	}
	if c := app.Service.Input.DeploymentController; c == nil || c.Type != "EXTERNAL" {
		return problem("write `deploymentController: {type: EXTERNAL}` in the service definition",
			"the service definition has deployment controller %s; a canary by task sets needs EXTERNAL", controllerName(c == nil, app))
	}
	if err := refuseService(live); err != nil {
		return err
	}
	return refuseGroups(app, live)
}

func controllerName(absent bool, app *appfile.Application) string {
	if absent {
		return "ECS (AWS's default)"
	}
	return string(app.Service.Input.DeploymentController.Type)
}

func refuseService(live Live) error {
	s := live.Service
	if s == nil || live.status() == "INACTIVE" || s.DeploymentController == nil || s.DeploymentController.Type == "EXTERNAL" {
		return nil
	}
	return &sluice.Error{
		Op: "plan", Resource: aws.ToString(s.ServiceArn), Kind: sluice.Conflict,
		Err: fmt.Errorf("the service runs with deployment controller %s, the file asks for EXTERNAL", s.DeploymentController.Type),
		Next: "AWS can switch it in place while no deployment runs: aws ecs update-service --deployment-controller type=EXTERNAL " +
			"(its running tasks become a task set); or delete and re-create the service",
	}
}

func refuseGroups(app *appfile.Application, live Live) error {
	problem := func(group, next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: group, Kind: sluice.Conflict, Err: fmt.Errorf(format, args...), Next: next}
	}
	p, c := live.Primary, live.Canary
	switch {
	case p == nil:
		return errors.New("plan: the primary target group was not looked up")
	case p.Balancer == "":
		return problem(app.Primary.ARN, "add the group to a listener rule first", "the primary target group is behind no load balancer; AWS would refuse a task set on it")
	case p.Type == "network" || p.Type == "gateway":
		return problem(p.Balancer, "use an Application Load Balancer, or deploy with weights of the NLB by hand",
			"the load balancer is of type %s; sluice steers listener rules of Application Load Balancers", p.Type)
	case c != nil && c.Balancer != "" && c.Balancer != p.Balancer:
		return problem(app.Canary.ARN, "create a canary target group for this load balancer", "the canary target group belongs to another load balancer (%s) than the primary", c.Balancer)
	case app.Canary != nil && app.Canary.ARN == app.Primary.ARN:
		return problem(app.Canary.ARN, "create a second target group", "primary and canary are the same target group")
	}
	return nil
}

// Duration rounds a duration for people.
func Duration(d time.Duration) string {
	if d >= time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
