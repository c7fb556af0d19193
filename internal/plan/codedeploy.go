package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Deployer is the deployment group of CodeDeploy that deploys a service, as AWS returns it.
type Deployer struct {
	Application, Group, Config string

	TargetGroups   []string // the names of both
	Listener       string   // ARN
	TestListener   string   // ARN; empty: there is none
	RollbackEvents []string // after which it rolls back by itself
	Alarms         []string
	Ready          time.Duration // how long it waits for a user to continue; 0: it does not wait
	Terminate      time.Duration // how long the original task set is kept
	Running        string        // id of its deployment that has not ended; empty: none
}

// CodeDeploy describes the deployment that sluice requests from CodeDeploy.
type CodeDeploy struct {
	Application    string            `json:"application,omitempty"` // empty: the service is created without CodeDeploy
	Group          string            `json:"deploymentGroup,omitempty"`
	Config         string            `json:"deploymentConfig,omitempty"` // empty: the group's
	ConfigUsed     string            `json:"deploymentConfigUsed,omitempty"`
	RollbackEvents []string          `json:"rollbackEvents,omitempty"` // nil: the group's settings apply
	RollsBackOn    []string          `json:"rollsBackOn,omitempty"`    // the events that apply
	Hooks          []definition.Hook `json:"hooks,omitempty"`
	// SHA-256 of its content in hex, if the revision is registered
	AppSpec string `json:"appSpec,omitempty"`
	// a deployment is needed; otherwise only attributes change
	Deploys bool `json:"deploys,omitempty"`
	Ready   bool `json:"waitsForReady,omitempty"` // the group waits for a user to continue
	// how long the original task set stays after the shift
	Keeps time.Duration `json:"keepsOriginal,omitempty"`
	// to an earlier revision: see makeCodeDeployReturn
	Returns bool `json:"returns,omitempty"`
}

// Name returns "<application>/<deployment group>", the resource name of the group in writes.
func (c CodeDeploy) Name() string { return c.Application + "/" + c.Group }

// ByCodeDeploy reports whether the service is deployed by AWS CodeDeploy.
func (p *Plan) ByCodeDeploy() bool { return p.Controller == controllerCodeDeploy }

// breakerRule says why the circuit breaker is rejected.
const breakerRule = "deploymentConfiguration.deploymentCircuitBreaker is defined, and the deploymentCircuitBreaker " +
	"feature can only be used with ECS rolling updates"

// refuseCodeDeploy rejects a service that CodeDeploy cannot deploy.
func refuseCodeDeploy(app *appfile.Application, live AWSState, o Options) error {
	in := app.Service.Input
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: app.Service.File, Err: fmt.Errorf(format, args...), Next: next}
	}
	if c := in.DeploymentConfiguration; c != nil && c.DeploymentCircuitBreaker != nil {
		return problem("delete the entire element deploymentCircuitBreaker", breakerRule)
	}
	if len(in.LoadBalancers) == 0 {
		return problem("add loadBalancers to the service definition, or use controller ECS",
			"the service has no load balancer, and AWS CodeDeploy needs a target group")
	}
	if live.Service == nil || live.serviceStatus() != "ACTIVE" {
		return nil
	}
	if fixed := fixedFields(app, live); len(fixed) > 0 {
		return problem("change the file to match the service, or delete the service and create it again",
			"the file changes %s, but AWS cannot change it for a service with deployment controller CODE_DEPLOY, "+
				"neither by UpdateService nor by CodeDeploy", strings.Join(fixed, ", "))
	}
	if live.DeployerErr != nil && (o.forcesDeployment() || needsDeployment(app, live)) {
		return live.DeployerErr // the service's own attributes need no group
	}
	return refuseTargetGroup(app, live)
}

// fixedFields returns the fields that differ and that neither UpdateService nor CodeDeploy changes.
func fixedFields(app *appfile.Application, live AWSState) []string {
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
func refuseTargetGroup(app *appfile.Application, live AWSState) error {
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
func (p *Plan) planCodeDeploy(app *appfile.Application, live AWSState, o Options) error {
	c := &CodeDeploy{Config: app.CodeDeploy.Config, RollbackEvents: o.RollbackEvents, Hooks: app.Hooks}
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
	spec, err := definition.NewAppSpec(app.Service.Input, live.taskARN(p.To), app.Hooks)
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
func needsDeployment(app *appfile.Application, live AWSState) bool {
	if live.Definition == nil || len(definition.CompareTask(app.Task, live.Definition)) > 0 {
		return true
	}
	return slices.ContainsFunc(definition.CompareForCodeDeploy(app.Service, live.Service),
		func(d definition.Difference) bool {
			return slices.Contains(definition.InAppSpec(), definition.TopLevelMember(d.Path))
		})
}

// taskARN returns the ARN of a task definition. A definition that is not registered yet gets a
// revision number of usual length.
func (l AWSState) taskARN(name string) string {
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
func (p *Plan) addShiftWrites(s *Stage, live AWSState) {
	if p.createsService(live) {
		p.addCreateWrites(s, live)
		return
	}
	if p.CodeDeploy.Deploys && live.Identical == "" {
		s.addWrite("ecs:RegisterTaskDefinition", p.To)
	}
	if p.updatesService(live) {
		s.addWrite("ecs:UpdateService", p.serviceResource())
	}
	if p.updatesService(live) || p.updatesTags(live) || p.Scaling != nil || live.Claim != "" {
		p.addClaimWrites(s)
	}
	if p.CodeDeploy.Deploys {
		s.addWrite("codedeploy:CreateDeployment", p.CodeDeploy.Name())
	}
	if p.CodeDeploy.Deploys && p.CodeDeploy.Ready {
		s.addWrite("codedeploy:ContinueDeployment", OwnShift) // sluice approve
	}
}

func (p *Plan) createsService(live AWSState) bool {
	return live.Service == nil || live.serviceStatus() != "ACTIVE"
}

// updatesService reports whether UpdateService has something to change.
func (p *Plan) updatesService(live AWSState) bool {
	return p.hasDifference(live, func(m string) bool { return slices.Contains(definition.UpdatedUnderCodeDeploy(), m) })
}

func (p *Plan) updatesTags(live AWSState) bool {
	return p.hasDifference(live, func(m string) bool { return m == "tags" })
}

func (p *Plan) hasDifference(live AWSState, is func(member string) bool) bool {
	service, err := p.DecodeService()
	if err != nil || p.createsService(live) {
		return false
	}
	return slices.ContainsFunc(definition.CompareForCodeDeploy(service, live.Service),
		func(d definition.Difference) bool { return is(definition.TopLevelMember(d.Path)) })
}

// addShiftBackWrites adds the writes of the rollback: it stops the deployment or deploys the
// previous revision again, and it restores attributes.
func (p *Plan) addShiftBackWrites(s *Stage) {
	for _, forward := range p.Stages {
		for _, w := range forward.Writes {
			if w.Operation == "ecs:UpdateService" {
				s.addWrite(w.Operation, w.Resource)
			}
		}
	}
	if !p.CodeDeploy.Deploys {
		return
	}
	s.addWrite("codedeploy:StopDeployment", OwnShift)
	s.addWrite("codedeploy:CreateDeployment", p.CodeDeploy.Name())
	if p.CodeDeploy.Ready {
		s.addWrite("codedeploy:ContinueDeployment", ReturnShift)
	}
}

// alignClaims lets all stages of a deployment by CodeDeploy keep the claim if one of them needs it.
// If none needs the claim, there is none to release.
func (p *Plan) alignClaims() {
	if !p.ByCodeDeploy() {
		return
	}
	tag := sluice.Write{Operation: "ecs:TagResource", Resource: p.serviceResource()}
	if !slices.ContainsFunc(p.Stages, func(s Stage) bool { return s.MayWrite(tag) }) {
		p.Finish = nil
		return
	}
	for i := range p.Stages {
		p.addClaimWrites(&p.Stages[i])
	}
	p.addClaimWrites(&p.Rollback)
}
