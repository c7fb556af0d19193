package mode

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// elbRules are the rules of a load balancer with a target group for each variant.
func elbRules() accessRules {
	return accessRules{access: sluice.ELB, refuse: refuseELB, refuseStage: refuseWithoutGroup, fill: fillNothing,
		planShares: planNoShares, warn: warnELB}
}

func refuseELB(app *appfile.Application, live plan.AWSState, _ Options, problem problemFunc) error {
	if app.Primary == nil || app.Primary.ARN == "" {
		return problem(steeringAdvice(app, live)+", or set accessType: NONE if the service has no callers",
			"accessType ELB needs a primary target group")
	}
	if err := refuseGroups(app, live); err != nil || !Of(app).HasCanaryService() {
		return err
	}
	return refuseServiceGroups(app, live)
}

// warnUnsteeredPaths warns about callers whose traffic the pipeline does not shift.
func warnUnsteeredPaths(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if !slices.ContainsFunc(p.Stages, plan.Stage.ShiftsTraffic) {
		return
	}
	w := accessPathsOf(app, live)
	if w.discovery && p.Access == sluice.ELB && p.Mode().HasCanaryService() {
		addWarning(p, "sluice does not shift callers of service discovery: they reach the primary, whose new tasks "+
			"get requests as soon as they run")
	}
	if w.connect {
		addWarning(p, "sluice does not shift callers of Service Connect: they reach the primary, whose new tasks get "+
			"requests as soon as they are healthy")
	}
}

func refuseGroups(app *appfile.Application, live plan.AWSState) error {
	problem := func(group, next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: group, Kind: sluice.Conflict, Err: fmt.Errorf(format, args...),
			Next: next}
	}
	p, c := live.Primary, live.Canary
	switch {
	case p == nil:
		return errors.New("plan: the primary target group was not read")
	case p.Balancer == "":
		next := "add the group to a listener rule first"
		if len(p.Silent) == 1 {
			next = "forward its requests to the group again: " + p.Silent[0].Repair
		}
		return problem(app.Primary.ARN, next, "the primary target group is not attached to a load balancer; AWS would refuse a "+
			"task set with it%s", silentText(p.Silent))
	case p.Type != "" && !p.Type.IsKnown():
		return problem(p.Balancer, "use an Application Load Balancer or a Network Load Balancer",
			"the load balancer is of type %s, which has no weights", p.Type)
	case c != nil && c.Balancer != "" && c.Balancer != p.Balancer:
		return problem(app.Canary.ARN, "create a canary target group for this load balancer",
			"the canary target group belongs to another load balancer (%s) than the primary", c.Balancer)
	case app.Canary != nil && app.Canary.ARN == app.Primary.ARN:
		return appfile.LocateAt(app.PlaceOfCanaryGroup(), problem("", "give the canary another target group, or create one",
			"primary and canary are the same target group: %s", sluice.TargetGroupName(app.Canary.ARN)))
	}
	if err := balancerRulesOf(p.Type).refuse(app, live); err != nil {
		return err
	}
	return refuseTargetTypes(app, live)
}

// silentText names the rules that may have forwarded to a group before. They respond by themselves.
func silentText(all []plan.SilentRule) string {
	var texts []string
	for _, r := range all {
		texts = append(texts, r.Name+" ("+r.ARN+")")
	}
	switch len(texts) {
	case 0:
		return ""
	case 1:
		return ". The " + texts[0] + " responds by itself (fixed-response) and sends nothing to the group"
	}
	return ". These respond by themselves (fixed-response) and send nothing to the group: " + strings.Join(texts, ", ")
}

// refuseTargetTypes rejects a target group whose type of targets does not fit the network mode of the tasks.
func refuseTargetTypes(app *appfile.Application, live plan.AWSState) error {
	mode := orBridge(app.Task.Input.NetworkMode)
	want := definition.TargetType(mode)
	for _, g := range []*plan.GroupAttachment{live.Primary, live.Canary} {
		if g != nil && g.Target != "" && g.Target != want {
			return &sluice.Error{Op: "plan", Resource: "target group " + g.Name, Kind: sluice.Conflict,
				Err:  fmt.Errorf("its targets are of type %s, and tasks with network mode %s need %s", g.Target, mode, want),
				Next: "create a target group with --target-type " + want + ", and name it under input.targetGroups"}
		}
	}
	return nil
}

// refuseServiceGroups checks that the service is in the primary target group and not in the canary
// target group.
func refuseServiceGroups(app *appfile.Application, live plan.AWSState) error {
	if live.IsFirstDeployment() || live.Service == nil {
		return nil
	}
	problem := func(group, next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: group, Kind: sluice.Conflict, Err: fmt.Errorf(format, args...),
			Next: next}
	}
	switch {
	case len(live.Service.LoadBalancers) == 0:
		return problem(app.Primary.ARN, "add loadBalancers with the primary target group to the service definition",
			"the tasks of the service are in no target group")
	case !usesTargetGroup(live, app.Primary.ARN):
		return errPrimaryElsewhere(app, aws.ToString(live.Service.LoadBalancers[0].TargetGroupArn))
	case app.Canary != nil && usesTargetGroup(live, app.Canary.ARN):
		return problem(app.Canary.ARN, "create a target group for the canary",
			"the tasks of the service are in the canary target group")
	}
	return nil
}

// refusePrimaryElsewhere rejects a pipeline of task sets that gives a share to the primary target group before the primary
// is rolled out, while the tasks that serve are in another group: the requests would be lost. If that is the canary's
// group, the canary would get requests before it is tested, and rules that forward only to that group would reach no tasks
// once the new primary is in the other one.
func refusePrimaryElsewhere(p *plan.Plan, app *appfile.Application, live plan.AWSState) error {
	i := slices.IndexFunc(live.TaskSets, func(ts sluice.TaskSet) bool { return ts.Status == "PRIMARY" })
	if i < 0 || app.Primary == nil {
		return nil
	}
	serving := live.TaskSets[i].TargetGroup
	isCanarys := app.Canary != nil && app.Canary.ARN == serving
	if serving == "" || serving == app.Primary.ARN {
		return nil
	}
	err := errPrimaryElsewhere(app, serving)
	switch {
	case usesFormerPrimary(p, isCanarys):
		return err
	case isCanarys && len(live.Marked) > 0 && app.OnUnhealthyRoute != sluice.AllowRoute &&
		slices.ContainsFunc(p.Stages, plan.Stage.ReplacesPrimary):
		err.Err = fmt.Errorf("%w; the %s forwards only to that group, and sluice does not change this rule: its %s would be "+
			"lost", err.Err, live.Marked[0].Name(), p.Balancer.Unit())
		return err
	}
	return nil
}

// usesFormerPrimary reports whether a stage before the new primary shifts requests to the former one, or starts a canary in
// its group.
func usesFormerPrimary(p *plan.Plan, isCanarys bool) bool {
	for _, s := range p.Stages {
		switch {
		case s.ReplacesPrimary():
			return false
		case isCanarys && s.StartsCanary(), s.ShiftsTraffic() && s.Weights != nil && s.Weights.Primary() > 0:
			return true
		}
	}
	return false
}

// errPrimaryElsewhere is the error of a file whose primary target group is not the one of the tasks that serve.
func errPrimaryElsewhere(app *appfile.Application, serving string) *sluice.Error {
	named, is := sluice.TargetGroupName(app.Primary.ARN), sluice.TargetGroupName(serving)
	err := &sluice.Error{Op: "plan", Resource: app.Primary.ARN, Kind: sluice.Conflict,
		Err:  fmt.Errorf("the tasks that serve are not in the primary target group, %s, but in %s", named, is),
		Next: "name that group under input.targetGroups.primary.targetGroupArn"}
	if app.Canary != nil && app.Canary.ARN == serving {
		err.Err = fmt.Errorf("%w, which the file names as the canary's", err.Err)
		err.Next = "correct input.targetGroups: exchange the ARNs of the primary and the canary"
	}
	return err
}

// refuseWithoutGroup rejects a stage that needs a canary target group if there is none.
func refuseWithoutGroup(p *plan.Plan, problem problemFunc) error {
	if p.Canary == nil || p.Canary.ARN == "" {
		return problem("name the target group under input.targetGroups.canary: targetGroupArn, containerName and containerPort",
			"the stage needs a canary target group, but the file names none")
	}
	return nil
}

// warnELB warns about callers that do not use the load balancer.
func warnELB(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	warnLostRegistry(p, app, live)
	if len(app.Service.Input.ServiceRegistries) > 0 && len(app.Pipeline) > 0 && !p.Mode().HasCanaryService() {
		addWarning(p, "accessType ELB shifts only the traffic of the load balancer: callers that use the name of "+
			"the service registry reach every new task, also of the canary, as soon as it runs")
	}
}
