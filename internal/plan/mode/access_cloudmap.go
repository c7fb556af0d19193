package mode

import (
	"fmt"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// RegistryOf returns the service registry that the file names, and the port that ECS registers in
// it. The port is given as such or as a container port, which is the same under awsvpc. ok is false
// if sluice does not manage the shares of a registry.
func RegistryOf(app *appfile.Application) (arn string, port int32, ok bool) {
	all := app.Service.Input.ServiceRegistries
	if app.Access != sluice.ServiceDiscovery || len(all) != 1 {
		return "", 0, false
	}
	if all[0].Port != nil {
		return aws.ToString(all[0].RegistryArn), *all[0].Port, true
	}
	return aws.ToString(all[0].RegistryArn), aws.ToInt32(all[0].ContainerPort), true
}

// planShares computes the share that each routing stage achieves with the tasks that will run. It
// also computes the canary tasks that a stage starts beyond the scale.
func planShares(p *plan.Plan, desired int) error {
	canary := 0
	for i := range p.Stages {
		s := &p.Stages[i]
		switch {
		case s.StartsCanary() && s.Share != nil:
			canary = s.Share.Tasks.Canary
		case s.StartsCanary() && p.StateBefore(i).CanaryShare() > 0: // it is not scaled in while it has traffic
			canary = max(canary, plan.ScaledCount(desired, s.Scale))
		case s.StartsCanary():
			canary = plan.ScaledCount(desired, s.Scale)
		case s.EndsCanary():
			canary = 0
		case s.Weights == nil || s.Weights.Canary() == 0:
		default:
			share, err := planShare(p, *s, desired, canary)
			if err != nil {
				return err
			}
			s.Share, canary = share, canary+share.Extra
			if s.Exact {
				rulesOf(p.Mode()).growWrites(p, s)
			}
		}
	}
	return nil
}

func planShare(p *plan.Plan, s plan.Stage, desired, canary int) (*plan.Share, error) {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: s.PlanOp(), Resource: p.ServiceResource(),
			Err: fmt.Errorf(format, args...), Next: next}
	}
	w, pool := *s.Weights, plan.Pool{Primary: desired, Canary: canary, Desired: desired}
	out := &plan.Share{Name: p.Registry.FullName(), Requested: w.Canary()}
	if s.Exact {
		exactly, ok := pool.ExactSplit(w)
		switch {
		case !ok:
			return nil, problem(fmt.Sprintf("remove exact, or raise the desired count to %d", exactly.Primary),
				"exact: true requests exactly %d%%, which needs %d of %d tasks, but the service has %d", w.Canary(),
				exactly.Canary, exactly.Total(), desired)
		case exactly.Canary > desired && p.Mode().HasTaskSets():
			return nil, problem("remove exact, or raise the desired count",
				"exact: true needs %d canary tasks, but a task set has at most the desired count (%d)", exactly.Canary,
				desired)
		}
		out.Extra = max(0, exactly.Canary-canary)
		pool.Canary += out.Extra
	}
	if pool.Canary == 0 {
		return nil, problem("raise the desired count", "the canary has no task: the desired count is %d", desired)
	}
	if w.Primary() == 0 && pool.Canary < desired {
		return nil, problem("start the canary with scale: 100, or set exact: true",
			"the stage registers only the canary, which has %d of the %d tasks that the service needs", pool.Canary,
			desired)
	}
	out.Tasks = pool.NearestSplit(w)
	out.Bound, out.Raised = out.Tasks.Bound(), out.Tasks.Raised(w)
	out.Deregistered = desired - out.Tasks.Primary
	if !out.Tasks.IsExact(w) {
		out.ExactTasks = plan.ExactTaskCount(w)
	}
	return out, nil
}

// registerAtOnce gives each stage that starts a canary the share that the canary has once all of its
// tasks are registered, if no stage of the pipeline shifts traffic. In PipeCD, ECS registers the tasks
// of such a canary when they start. Without a running primary the canary is not registered: the name
// gets its first records from the new primary.
func registerAtOnce(p *plan.Plan, desired int) {
	if p.From == "" || desired == 0 || slices.ContainsFunc(p.Stages, plan.Stage.ShiftsTraffic) {
		return
	}
	for i := range p.Stages {
		s := &p.Stages[i]
		if !s.StartsCanary() {
			continue
		}
		tasks := plan.Split{Primary: desired, Canary: plan.ScaledCount(desired, s.Scale)}
		if b := p.StateBefore(i); b.CanaryShare() > 0 { // a canary is not scaled in while it has traffic
			tasks.Canary = max(tasks.Canary, b.Canary.Tasks(desired))
		}
		share := min(99, max(1, int(math.Round(tasks.Percent()))))
		w := sluice.CanaryShare(share)
		s.Weights = &w
		s.Share = &plan.Share{Name: p.Registry.FullName(), Tasks: tasks, Requested: share, Bound: tasks.Bound()}
	}
}

// addInstanceWrites adds the writes of a stage to Cloud Map. begins is the state in which the stage
// begins. The stage keeps the share of the canary while tasks start and stop.
func addInstanceWrites(p *plan.Plan, s *plan.Stage, begins plan.State) {
	if p.Mode().LeavesNamesToECS() {
		return // ECS's own update registers and deregisters the instances
	}
	const register, deregister = "servicediscovery:RegisterInstance", "servicediscovery:DeregisterInstance"
	steers := begins.CanaryShare() > 0 || s.Weights != nil
	switch {
	case s.ReplacesPrimary(), s.RollsBack(), s.Adopts():
		s.AddWrite(register, plan.PrimaryInstances)
		s.AddWrite(deregister, plan.PrimaryInstances)
	case s.ShiftsTraffic(), s.EndsCanary():
		steers = true
	case s.StartsCanary(), s.IsWait():
	default:
		return
	}
	if p.OnOutsideChange == sluice.ReassertChange && !s.RollsBack() {
		s.AddWrite(register, plan.PrimaryInstances) // an instance that another actor deregistered
	}
	if s.IsWait() && !steers {
		return
	}
	if s.RollsBack() && p.BridgesRollback() {
		s.AddWrite(register, plan.CanaryInstances)
	}
	switch {
	case s.RollsBack() || !steers:
	case p.CanaryServesAtOnce() && !begins.NewPrimary && !s.ReplacesPrimary() && !s.EndsCanary():
		s.AddWrite(register, plan.CanaryInstances) // the primary stays registered
	default:
		s.AddWrite(register, plan.CanaryInstances, plan.PrimaryInstances)
		s.AddWrite(deregister, plan.PrimaryInstances)
	}
	s.AddWrite(deregister, plan.CanaryInstances)
}

// cloudMapRules are the rules of a service that callers resolve with Cloud Map.
func cloudMapRules() accessRules {
	return accessRules{access: sluice.ServiceDiscovery, refuse: refuseDiscovery, refuseStage: allowStage,
		fill:       func(p *plan.Plan, live plan.AWSState) { p.Registry = live.Registry },
		planShares: planDiscovery, warn: warnDiscovery}
}

// planDiscovery completes the stages of a service that callers resolve with Cloud Map.
func planDiscovery(p *plan.Plan, desired int) error {
	if !p.CountsShares() {
		return nil
	}
	registerAtOnce(p, desired)
	for i := range p.Stages {
		addInstanceWrites(p, &p.Stages[i], p.StateBefore(i))
	}
	addInstanceWrites(p, &p.Rollback, p.FinalState())
	return planShares(p, desired)
}

// refuseDiscovery rejects a service whose Cloud Map shares sluice cannot manage.
func refuseDiscovery(app *appfile.Application, live plan.AWSState, _ Options, _ problemFunc) error {
	problem := func(next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: app.File, Kind: sluice.Conflict, Err: fmt.Errorf(format, args...),
			Next: next}
	}
	registries := app.Service.Input.ServiceRegistries
	switch {
	case len(registries) == 0:
		return problem("add serviceRegistries: [{registryArn: …}] to the service definition, or use accessType ELB",
			"access type %s needs a service registry, but the service definition names none", app.Access)
	case len(registries) > 1:
		return problem("name one service registry",
			"the service definition names %d service registries, but ECS accepts one",
			len(registries))
	case app.Task.Input.NetworkMode != ecstypes.NetworkModeAwsvpc:
		return problem("use networkMode: awsvpc, which gives each task its own address, also with launch type EC2",
			"network mode %s registers tasks by the address of their container instance%s, and only in SRV records, "+
				"which sluice does not manage",
			orBridge(app.Task.Input.NetworkMode), hostPortText(app.Task.Input.NetworkMode))
	case live.Registry == nil:
		return problem("run the command again", "the service registry was not read")
	}
	if now := registryARN(live); now != "" && now != live.Registry.ARN {
		return problem("use the service registry of the running service, or create a new service",
			"the service is in service registry %s, but the file names %s: callers of the old name would lose the "+
				"service",
			sluice.ARNName(now), sluice.ARNName(live.Registry.ARN))
	}
	return nil
}

func orBridge(m ecstypes.NetworkMode) ecstypes.NetworkMode {
	if m == "" {
		return ecstypes.NetworkModeBridge
	}
	return m
}

// hostPortText describes the ports of a network mode without task addresses.
func hostPortText(m ecstypes.NetworkMode) string {
	switch m {
	case ecstypes.NetworkModeHost:
		return " and a fixed port, which only one of its tasks can have"
	case ecstypes.NetworkModeNone:
		return ""
	}
	return " and a different port for each task"
}

// registryARN returns the ARN of the registry of the PRIMARY task set or service, or "".
func registryARN(l plan.AWSState) string {
	if l.IsFirstDeployment() {
		return ""
	}
	for _, ts := range l.Service.TaskSets {
		if aws.ToString(ts.Status) == "PRIMARY" && len(ts.ServiceRegistries) > 0 {
			return aws.ToString(ts.ServiceRegistries[0].RegistryArn)
		}
	}
	if len(l.Service.ServiceRegistries) > 0 {
		return aws.ToString(l.Service.ServiceRegistries[0].RegistryArn)
	}
	return ""
}

// warnDiscovery warns about limits of Cloud Map.
func warnDiscovery(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if !p.CountsShares() {
		warnLostRegistry(p, app, live)
		return
	}
	r := p.Registry
	if accessPathsOf(app, live).balancer {
		addWarning(p, "callers through the load balancer reach new tasks of the primary as soon as they are healthy: "+
			"accessType %s shifts only callers of the name", p.Access)
	}
	if !r.HasDNS() {
		addWarning(p, "%s has no DNS records: callers use DiscoverInstances and decide how long they cache the "+
			"result; sluice waits %s before tasks stop", r.FullName(),
			plan.FormatDuration(r.CacheExpiry()))
	}
	if r.Route53 {
		addWarning(p, "instances of %s have a Route 53 health check, which sluice cannot read", r.FullName())
	}
	if len(live.Strangers) > 0 {
		addWarning(p, "%s under %s: not registered by ECS or sluice; they receive a part of the requests",
			sluice.Plural(len(live.Strangers), "instance"), r.FullName())
	}
	warnOtherServices(p, live)
	if len(app.Task.ContainersWithCheck()) == 0 {
		addWarning(p, "no container has a health check: ECS registers new primary tasks in Cloud Map before they are "+
			"known to respond")
	}
	warnShare(p)
	warnRollout(p, app)
}

// warnShare warns about shares that differ from the requested ones.
func warnShare(p *plan.Plan) {
	for _, s := range p.Stages {
		switch {
		case s.Share == nil || s.Share.ExactTasks == 0 && s.Share.Extra == 0:
		case s.Share.Extra > 0:
			addWarning(p, "stage %d starts %s in addition to the scale, so that the share is exactly %d%%", s.Index+1,
				sluice.Plural(s.Share.Extra, "canary task"), s.Share.Requested)
		case s.Share.Raised:
			addWarning(p, "stage %d requests %d%%, less than one task: sluice uses one task (%s)", s.Index+1,
				s.Share.Requested, s.Share)
		case math.Abs(s.Share.Tasks.Percent()-float64(s.Share.Requested)) > s.Share.Bound+1e-9:
			addWarning(p, "stage %d: %s; to get closer, use a larger canary (scale, or exact: true)", s.Index+1,
				s.Share)
		}
	}
}

// warnRollout warns that ECS stops the old tasks of a service with controller ECS. ECS deregisters
// them and sends the stop signal without waiting for callers that still have the address (published
// reports).
func warnRollout(p *plan.Plan, app *appfile.Application) {
	paused := false
	for i, s := range p.Stages {
		weight := p.StateBefore(i).CanaryShare()
		switch {
		case s.IsWait():
			paused = paused || weight > 0
		case rulesOf(p.Mode()).ecsReplacesTasks && weight < 100 && s.ReplacesPrimary():
			addWarning(p, "stage %d: ECS stops old tasks while callers still cache their addresses: requests are lost "+
				"unless the image continues to serve for %s after SIGTERM%s",
				s.Index+1, p.Registry.CacheTimeText(), blueGreenAdvice(p, app))
		}
	}
	if paused {
		addWarning(p, "no process monitors the deployment during --no-wait, a pause or PipeCD's own WAIT. Until the "+
			"next stage, stopped canary tasks stay registered, and ECS registers replacements of primary tasks")
	}
}

func blueGreenAdvice(p *plan.Plan, app *appfile.Application) string {
	text := ""
	for _, c := range app.Task.Input.ContainerDefinitions {
		stop := aws.ToInt32(c.StopTimeout)
		if stop == 0 {
			stop = 30
		}
		if float64(stop) < p.Registry.CacheExpiry().Seconds() {
			text += fmt.Sprintf("; container %s is killed %d s after SIGTERM", aws.ToString(c.Name), stop)
		}
	}
	return text + "; Blue/Green (scale: 100, canary: 100) deregisters them first"
}
