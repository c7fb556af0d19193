package mode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/definition/appspec"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// breakerRule says why the circuit breaker is rejected.
const breakerRule = "deploymentConfiguration.deploymentCircuitBreaker is defined, and the deploymentCircuitBreaker " +
	"feature can only be used with ECS rolling updates"

// codeDeployRules are the rules of a service that AWS CodeDeploy deploys.
func codeDeployRules() rules {
	return rules{
		mode: plan.ModeCodeDeploy, make: makeService,
		refuseEarly: refusePipeline, refuse: refuseCodeDeploy, refuseIdle: allowIdle,
		prepare: planCodeDeploy, finish: alignClaims,
		hasLeftovers: hasNoLeftovers, listChanges: listCodeDeployChanges,
		syncWrites: addShiftWrites, canaryWrites: writeNothing, primaryWrites: writeNothing,
		cleanWrites: writeNothing, adoptWrites: writeNothing, rollbackWrites: addShiftBackWrites,
		growWrites: growNothing, guardWrites: guardNothing, // only CodeDeploy changes a deployment that it runs
		replaceTime: (*forecast.Estimate).CodeDeployTime,
		warnService: warnNothing, warn: warnCodeDeploy,
		words: words{
			stages: "Stages", sync: codeDeployText, summary: codeDeployText, canary: noWords,
			primary: "the new revision becomes primary",
			rollback: "stop the deployment with CodeDeploy's rollback if it runs, or deploy the previous revision " +
				"again",
		},
	}
}

// codeDeployText describes the single stage of a service that CodeDeploy deploys.
func codeDeployText(p *plan.Plan, s plan.Stage) string {
	c := p.CodeDeploy
	switch {
	case p.CreatesService():
		return "create the service"
	case !c.Deploys:
		return "change the service's attributes; no CodeDeploy deployment is needed"
	}
	if c.Returns && s.Stop != "" {
		return "stop " + s.Stop + " with CodeDeploy's rollback; if that does not restore " + p.To +
			", CodeDeploy deploys it again"
	}
	if c.Returns {
		return "CodeDeploy deploys " + p.To + " again"
	}
	return "CodeDeploy deploys the new revision with " + c.ConfigUsed
}

func listCodeDeployChanges(app *appfile.Application, live plan.AWSState) []plan.Change {
	return plan.ChangesOf("service", definition.CompareForCodeDeploy(app.Service, live.Service))
}

// refuseCodeDeploy rejects a service that CodeDeploy cannot deploy.
func refuseCodeDeploy(app *appfile.Application, live plan.AWSState, o Options) error {
	in := app.Service.Input
	problem := func(key, next, format string, args ...any) error {
		return appfile.LocateAt(app.PlaceOfKey(key),
			&sluice.Error{Op: "plan", Resource: app.Service.File, Err: fmt.Errorf(format, args...), Next: next})
	}
	if c := in.DeploymentConfiguration; c != nil && c.DeploymentCircuitBreaker != nil {
		return problem("deploymentCircuitBreaker", "delete the entire element deploymentCircuitBreaker", breakerRule)
	}
	if len(in.LoadBalancers) == 0 {
		return problem("deploymentController", "add loadBalancers to the service definition, or use controller ECS",
			"the service has no load balancer, and AWS CodeDeploy needs a target group")
	}
	if live.Service == nil || live.ServiceStatus() != "ACTIVE" {
		return nil
	}
	if fixed := fixedFields(app, live); len(fixed) > 0 {
		return problem(fixed[0], "change the file to match the service: only a new service can have these values",
			"the file changes %s, but AWS cannot change it for a service with deployment controller CODE_DEPLOY, "+
				"neither by UpdateService nor by CodeDeploy", strings.Join(fixed, ", "))
	}
	if live.DeployerErr != nil && (o.forcesDeployment() || needsDeployment(app, live)) {
		return live.DeployerErr // the service's own attributes need no group
	}
	return refuseTargetGroup(app, live)
}

// fixedFields returns the fields that differ and that neither UpdateService nor CodeDeploy changes.
func fixedFields(app *appfile.Application, live plan.AWSState) []string {
	var fixed []string
	for _, d := range definition.CompareForCodeDeploy(app.Service, live.Service) {
		m := definition.TopLevelMember(d.Path)
		if m == "tags" || slices.Contains(definition.UpdatedUnderCodeDeploy(), m) ||
			slices.Contains(definition.InAppSpec(), m) {
			continue
		}
		if !slices.Contains(fixed, m) {
			fixed = append(fixed, m)
		}
	}
	return fixed
}

// refuseTargetGroup rejects a file whose target group is not one of the two of the deployment
// group. The two alternate between deployments, so either is valid.
func refuseTargetGroup(app *appfile.Application, live plan.AWSState) error {
	d := live.Deployer
	if d == nil || len(d.TargetGroups) == 0 {
		return nil
	}
	arn := aws.ToString(app.Service.Input.LoadBalancers[0].TargetGroupArn)
	parts := strings.Split(arn, "/")
	if len(parts) < 2 || slices.Contains(d.TargetGroups, parts[1]) {
		return nil
	}
	return &sluice.Error{Op: "plan", Resource: app.Service.File, Kind: sluice.Conflict,
		Err: fmt.Errorf("target group %s is not in deployment group %s/%s, which has %s", parts[1], d.Application,
			d.Group, strings.Join(d.TargetGroups, ", ")),
		Next: "name one of them under loadBalancers; they alternate, so either is correct"}
}

// planCodeDeploy fills in the request to CodeDeploy and the AppSpec.
func planCodeDeploy(p *plan.Plan, app *appfile.Application, live plan.AWSState, o Options) error {
	c := &plan.CodeDeploy{Config: app.CodeDeploy.Config, RollbackEvents: o.RollbackEvents, Hooks: app.Hooks}
	p.CodeDeploy = c
	if d := live.Deployer; d != nil {
		c.Application, c.Group, c.Ready, c.Keeps = d.Application, d.Group, d.Ready > 0, d.Terminate
		c.ConfigUsed, c.RollsBackOn = c.Config, o.RollbackEvents
		if c.Config == "" {
			c.ConfigUsed = d.Config
		}
		if len(o.RollbackEvents) == 0 {
			c.RollsBackOn = d.RollbackEvents
		}
	}
	spec, err := appspec.New(app.Service.Input, taskARN(live, p.To), app.Hooks)
	if err != nil {
		return err
	}
	if p.IsRegistered() {
		c.AppSpec = spec.SHA256
	}
	c.Deploys = c.Application != "" && (o.forcesDeployment() || needsDeployment(app, live))
	return nil
}

// needsDeployment reports whether a setting that the AppSpec carries differs.
func needsDeployment(app *appfile.Application, live plan.AWSState) bool {
	if live.Definition == nil || len(compareDefinition(app, live)) > 0 {
		return true
	}
	return slices.ContainsFunc(definition.CompareForCodeDeploy(app.Service, live.Service),
		func(d definition.Difference) bool {
			return slices.Contains(definition.InAppSpec(), definition.TopLevelMember(d.Path))
		})
}

// taskARN returns the ARN of a task definition. A definition that is not registered yet gets a
// revision number of usual length.
func taskARN(l plan.AWSState, name string) string {
	if !strings.Contains(name, ":") {
		name += ":1000000"
	}
	partition := "aws"
	if l.Service != nil {
		if parts := strings.Split(aws.ToString(l.Service.ServiceArn), ":"); len(parts) > 1 {
			partition = parts[1]
		}
	}
	return fmt.Sprintf("arn:%s:ecs:%s:%s:task-definition/%s", partition, l.Region, l.Account, name)
}

// addShiftWrites adds the writes of a deployment by CodeDeploy. The claim is needed only if the
// stage writes something else too. CodeDeploy runs one deployment at a time per group, so creating
// it acts as the claim.
func addShiftWrites(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	if createsService(p, live) {
		addCreateWrites(p, s, live)
		return
	}
	if p.CodeDeploy.Deploys && live.Identical == "" {
		s.AddWrite("ecs:RegisterTaskDefinition", p.To)
	}
	if updatesService(p, live) {
		s.AddWrite("ecs:UpdateService", p.ServiceResource())
	}
	if updatesService(p, live) || updatesTags(p, live) || p.Scaling != nil || live.Claim != "" {
		addClaimWrites(p, s)
	}
	if p.CodeDeploy.Deploys {
		s.AddWrite("codedeploy:CreateDeployment", p.CodeDeploy.Name())
	}
	if p.CodeDeploy.Deploys && p.CodeDeploy.Ready {
		s.AddWrite("codedeploy:ContinueDeployment", plan.OwnShift) // sluice approve
	}
}

func createsService(p *plan.Plan, live plan.AWSState) bool {
	return live.Service == nil || live.ServiceStatus() != "ACTIVE"
}

// updatesService reports whether UpdateService has something to change.
func updatesService(p *plan.Plan, live plan.AWSState) bool {
	return hasDifference(p, live,
		func(m string) bool { return slices.Contains(definition.UpdatedUnderCodeDeploy(), m) })
}

func updatesTags(p *plan.Plan, live plan.AWSState) bool {
	return hasDifference(p, live, func(m string) bool { return m == "tags" })
}

func hasDifference(p *plan.Plan, live plan.AWSState, is func(member string) bool) bool {
	service, err := p.DecodeService()
	if err != nil || createsService(p, live) {
		return false
	}
	return slices.ContainsFunc(definition.CompareForCodeDeploy(service, live.Service),
		func(d definition.Difference) bool { return is(definition.TopLevelMember(d.Path)) })
}

// addShiftBackWrites adds the writes of the rollback: it stops the deployment or deploys the
// previous revision again, and it restores attributes.
func addShiftBackWrites(p *plan.Plan, s *plan.Stage, _ plan.AWSState) {
	for _, forward := range p.Stages {
		for _, w := range forward.Writes {
			if w.Operation == "ecs:UpdateService" {
				s.AddWrite(w.Operation, w.Resource)
			}
		}
	}
	if !p.CodeDeploy.Deploys {
		return
	}
	s.AddWrite("codedeploy:StopDeployment", plan.OwnShift)
	s.AddWrite("codedeploy:CreateDeployment", p.CodeDeploy.Name())
	if p.CodeDeploy.ContinuesReturn() {
		s.AddWrite("codedeploy:ContinueDeployment", plan.ReturnShift)
	}
}

// alignClaims lets all stages of a deployment by CodeDeploy keep the claim if one of them needs it.
// If none needs the claim, there is none to release.
func alignClaims(p *plan.Plan) {
	tag := sluice.Write{Operation: "ecs:TagResource", Resource: p.ServiceResource()}
	if !slices.ContainsFunc(p.Stages, func(s plan.Stage) bool { return s.MayWrite(tag) }) {
		p.Finish = nil
		return
	}
	for i := range p.Stages {
		addClaimWrites(p, &p.Stages[i])
	}
	addClaimWrites(p, &p.Rollback)
}

// refusePipeline rejects a pipeline of a CODE_DEPLOY service: CodeDeploy creates task sets and
// shifts traffic itself.
func refusePipeline(app *appfile.Application, o Options) error {
	i := slices.IndexFunc(app.Pipeline, isVariantStage)
	if i < 0 || o.QuickSync {
		return nil
	}
	return &sluice.Error{
		Op: newStage(app.File, i, app.Pipeline[i]).PlanOp(), Resource: *app.Service.Input.ServiceName,
		Err: fmt.Errorf("the service definition has deployment controller CODE_DEPLOY: CodeDeploy manages its task " +
			"sets and traffic; a canary task set of sluice needs EXTERNAL"),
		Next: "use --quick-sync and name a canary under codedeploy.deploymentConfigName, such as " +
			"CodeDeployDefault.ECSCanary10Percent5Minutes; or set `deploymentController: {type: EXTERNAL}` in the " +
			"service definition",
	}
}

// warnCodeDeploy warns about effects of the deployment group that a user may not expect.
func warnCodeDeploy(p *plan.Plan, _ *appfile.Application, live plan.AWSState) {
	c, d := p.CodeDeploy, live.Deployer
	switch {
	case createsService(p, live):
		addWarning(p, "sluice creates the service itself. CodeDeploy deploys it from the next deployment on, once a "+
			"deployment group names the service; a rollback does not change the created service")
		return
	case live.DeployerErr != nil:
		addWarning(p, "a new version cannot be deployed yet: %v", live.DeployerErr)
		return
	case !c.Deploys || d == nil:
		return
	}
	if d.Running != "" {
		addWarning(p, "CodeDeploy deployment %s of %s is running, and a group allows one at a time: this deployment "+
			"is refused until it ends", d.Running, c.Name())
	}
	if strings.Contains(d.Listener, ":listener/net/") && c.ConfigUsed != plan.AllAtOnce {
		addWarning(p, "the listener belongs to a Network Load Balancer, which does not support %s: CodeDeploy shifts "+
			"its traffic only with AllAtOnce", c.ConfigUsed)
	}
	if d.Ready > 0 {
		addWarning(p, "before it shifts traffic, CodeDeploy waits up to %s for an approval, and stops without one: "+
			"sluice approve continues the deployment", plan.FormatDuration(d.Ready))
	}
	if d.Terminate > 0 {
		addWarning(p, "CodeDeploy keeps the original task set for %s after the shift, and the deployment ends only "+
			"then",
			plan.FormatDuration(d.Terminate))
	}
	if d.TestListener == "" &&
		slices.ContainsFunc(c.Hooks, func(h appspec.Hook) bool { return h.Event == "AfterAllowTestTraffic" }) {
		addWarning(p, "the hook AfterAllowTestTraffic is not called: deployment group %s has no test listener",
			c.Name())
	}
}
