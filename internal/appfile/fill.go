package appfile

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// DefaultTimeout is the timeout of deployments and of stages whose file gives none, as in PipeCD.
const DefaultTimeout = 6 * time.Hour

// Further defaults for keys that the file omits.
const (
	defaultLaunchType   = "FARGATE"
	defaultProgressTime = 10 * time.Minute // PipeCD v0's wait for a task set
	defaultOnOutside    = sluice.StopOnChange
	defaultOnTargets    = sluice.StopOnTargets
)

// fillApplication reads the values of a checked file. If the file has problems, the values are not
// used: Load returns the problems.
func (l *loader) fillApplication(spec *definition.Node) {
	app, ecs := l.app, spec
	if app.Format == PipeCDv1 {
		ecs = pluginOf(spec)
	}
	input := ecs.Get("input")

	app.Name = values.Text(spec.Get("name"))
	app.Region, app.Role = values.Text(spec.Get("region")), values.Text(spec.Get("role"))
	app.Labels = values.Map(spec.Get("labels"))
	app.Timeout = values.SpanOr(spec.Get("timeout"), DefaultTimeout)
	app.ProgressDeadline = values.SpanOr(spec.Get("progressDeadline"),
		values.SpanOr(input.Get("progressDeadline"), defaultProgressTime))
	app.Bake = values.SpanOr(spec.Get("bake"), values.SpanOr(input.Get("bake"), 0))
	app.Scaling.Suspend = values.FlagOr(spec.Get("suspendAutoScaling"),
		values.FlagOr(input.Get("suspendAutoScaling"), false))
	app.KeepDefinitions = int(values.IntegerOr(input.Get("keepTaskDefinitions"), 0))
	app.OnOutsideChange = sluice.OnOutside(values.TextOr(spec.Get("onOutsideChange"),
		values.TextOr(input.Get("onOutsideChange"), string(defaultOnOutside))))
	app.OnOtherTargets = sluice.OnTargets(values.TextOr(spec.Get("onOtherTargets"),
		values.TextOr(input.Get("onOtherTargets"), string(defaultOnTargets))))
	app.OnUnhealthyRoute = sluice.OnRoute(values.TextOr(spec.Get("onUnhealthyRoute"),
		values.TextOr(input.Get("onUnhealthyRoute"), string(sluice.StopOnRoute))))
	app.Recreate = values.FlagOr(ecs.Get("quickSync").Get("recreate"), false)
	app.Access = accessOf(input)
	app.AccessGiven = values.IsGiven(input.Get("accessType")) || values.IsGiven(input.Get("ecsAccessType"))
	app.Hosting = Hosting(values.Text(input.Get("hosting")))
	app.Primary = groupOf(input.Get("targetGroups").Get("primary"))
	app.Canary = groupOf(input.Get("targetGroups").Get("canary"))
	app.ListenerRules = values.Texts(input.Get("listenerRules"))
	app.Standalone = standaloneOf(input, app.Format)
	app.Rehearsal = l.readRehearsal(ecs.Get("rehearse"))
	l.fillStandaloneRun(input)
	l.openRoot(spec.Get("root"))
	l.openEcspresso(spec, input)
	steps, at := spec, ""
	if app.Format != Sluice {
		steps, at = input, "input."
	}
	app.Before = l.readSteps(steps.Get("before"), at+"before")
	app.After = l.readSteps(steps.Get("after"), at+"after")
	app.IgnoredDrift = ignoredFields(spec.Get("driftDetection").Get("ignoreFields"))
	l.fillCodeDeploy(spec, input)

	l.fillAutoRollback(spec, input)
	l.fillPipeline(spec)
	l.loadDefinitions(spec, input)
	l.fillCount(spec.Get("desiredCount"))
	l.fillClusterOf(spec)
	l.checkTargetGroups(input.Get("targetGroups"))
	l.checkListenerRules(input.Get("listenerRules"))
	l.checkWaits(spec.Get("pipeline").Get("stages"))
}

// checkWaits refuses waits that together take longer than the deployment's timeout.
func (l *loader) checkWaits(list *definition.Node) {
	if list == nil {
		return
	}
	left := l.app.Timeout
	for i, s := range l.app.Pipeline {
		var d time.Duration
		switch with := s.With.(type) {
		case Wait:
			d = with.Duration
		case Analysis:
			d = with.Duration
		}
		if d > left {
			l.addProblem(l.src.At(list.Items[i],
				"the %s stages together take longer than the timeout of the deployment (%s)", s.Name, l.app.Timeout))
			return
		}
		left -= d
	}
}

func pluginOf(spec *definition.Node) *definition.Node {
	if n := spec.Get("plugins"); n != nil {
		if e, ok := ecsPlugin(n); ok {
			return e.Value
		}
	}
	return nil
}

func accessOf(input *definition.Node) sluice.Access {
	switch values.TextOr(input.Get("accessType"), values.Text(input.Get("ecsAccessType"))) {
	case "SERVICE_DISCOVERY", "ECS_SERVICE_DISCOVERY":
		return sluice.ServiceDiscovery
	case "NONE":
		return sluice.NoAccess
	}
	return sluice.ELB
}

func groupOf(n *definition.Node) *TargetGroup {
	if !values.IsGiven(n) {
		return nil
	}
	return &TargetGroup{
		ARN:              values.Text(n.Get("targetGroupArn")),
		Container:        values.Text(n.Get("containerName")),
		Port:             int32(values.IntegerOr(n.Get("containerPort"), 0)),
		LoadBalancerName: values.Text(n.Get("loadBalancerName")),
	}
}

func standaloneOf(input *definition.Node, f Format) Standalone {
	vpc := input.Get("awsvpcConfiguration")
	return Standalone{
		Run:            values.FlagOr(input.Get("runStandaloneTask"), f != PipeCDv1),
		ClusterARN:     values.Text(input.Get("clusterArn")),
		LaunchType:     values.TextOr(input.Get("launchType"), defaultLaunchType),
		Subnets:        values.Texts(vpc.Get("subnets")),
		SecurityGroups: values.Texts(vpc.Get("securityGroups")),
		AssignPublicIP: values.Text(vpc.Get("assignPublicIp")),
		WatchContainer: values.Text(input.Get("watchContainer")),
	}
}

// fillAutoRollback prefers PipeCD v0's old key over the planner's, as PipeCD v0 does for ECS. It
// adds a note if the two differ.
func (l *loader) fillAutoRollback(spec, input *definition.Node) {
	planner := spec.Get("planner").Get("autoRollback")
	l.app.AutoRollback = values.FlagOr(input.Get("autoRollback"), values.FlagOr(planner, true))
	if values.IsGiven(planner) && values.FlagOr(planner, true) != l.app.AutoRollback {
		l.app.Notes = append(l.app.Notes, fmt.Sprintf(
			"input.autoRollback (%t) overrides planner.autoRollback (%t)", l.app.AutoRollback, !l.app.AutoRollback))
	}
}

func (l *loader) fillPipeline(spec *definition.Node) {
	gates := l.newGateReader(spec)
	l.app.Gates = gates.readGates(spec.Get("gates"), true)
	list := spec.Get("pipeline").Get("stages")
	if list == nil {
		return
	}
	for _, item := range list.Items {
		with := item.Get("with")
		st := Stage{
			Name:    values.Text(item.Get("name")),
			Desc:    values.Text(item.Get("desc")),
			Timeout: values.SpanOr(item.Get("timeout"), values.SpanOr(with.Get("timeout"), DefaultTimeout)),
			Line:    item.Line,
		}
		st.With = l.stageOptions(st, with, gates)
		l.app.Pipeline = append(l.app.Pipeline, st)
	}
}

func (l *loader) stageOptions(st Stage, with *definition.Node, gates *gateReader) Options {
	switch st.Name {
	case StageSync:
		return Sync{}
	case StageCanaryRollout:
		scale, _ := values.Percent(with.Get("scale"))
		return CanaryRollout{Scale: scale}
	case StageTrafficRouting:
		return l.routingOptions(st, with)
	case StagePrimaryRollout:
		return PrimaryRollout{KeepOld: values.FlagOr(with.Get("keepOld"), false)}
	case StageCanaryClean:
		return CanaryClean{}
	case StageWait:
		return gates.readWait(with)
	case StageAnalysis:
		return gates.readAnalysis(with)
	case StageApproval:
		return Approval{
			Approvers:    values.Texts(with.Get("approvers")),
			MinApprovers: int(values.IntegerOr(with.Get("minApproverNum"), 1)),
		}
	}
	return nil
}

// routingOptions reads the weights. It adds a note if PipeCD would have set other weights.
func (l *loader) routingOptions(st Stage, with *definition.Node) Options {
	weights, ok := weightsOf(with)
	if !ok {
		return TrafficRouting{}
	}
	if weights.Primary() == 0 && !values.IsGiven(with.Get("canary")) && l.app.Format != Sluice {
		l.app.Notes = append(l.app.Notes, fmt.Sprintf(
			"line %d: primary 0 sends all traffic to the canary; PipeCD uses primary 100, canary 0", st.Line))
	}
	return TrafficRouting{Weights: weights, Exact: values.FlagOr(with.Get("exact"), false)}
}
