package policy

import (
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// allowReads allows the reads of the engine: to plan, to deploy, and to name causes.
func (b *builder) allowReads(definitions []plannedDefinition) {
	b.allowActions(readAll, []string{wildcard}, "sts:GetCallerIdentity", "ecs:DescribeTaskDefinition",
		"ecs:ListTaskDefinitions", "ecs:ListTasks")
	b.allowActions(readTasks, b.taskARNs(), "ecs:DescribeTasks")
	b.allowActions(readServices, b.serviceARNs(), "ecs:DescribeServices")
	b.allowActions(readLogs, b.logStreamARNs(definitions), "logs:GetLogEvents")
	if b.plan.Mode().HasService() {
		b.allowActions(readAll, nil, "application-autoscaling:DescribeScalableTargets")
	}
	if b.plan.Mode().HasService() && b.plan.From == "" { // a plan names the services that exist
		b.allowActions(readNames, []string{wildcard}, "ecs:ListServices")
	}
	modeReads[b.plan.Mode()](b)
	if b.hasLoadBalancer() {
		b.allowActions(readAll, nil, "elasticloadbalancing:DescribeListeners",
			"elasticloadbalancing:DescribeLoadBalancers",
			"elasticloadbalancing:DescribeTargetGroupAttributes", "elasticloadbalancing:DescribeTargetGroups",
			"elasticloadbalancing:DescribeTargetHealth")
		if b.plan.Balancer.HasRules() {
			b.allowActions(readAll, nil, "elasticloadbalancing:DescribeRules")
		}
	}
	b.allowRequestReads()
	b.allowGateReads()
	accessReads[b.plan.Access](b)
	if b.plan.KeepDefinitions > 0 { // no task of any cluster may run what is deregistered
		b.allowActions(readAll, nil, "ecs:ListClusters")
		b.allowActions(readTasks, []string{b.resourceARN("ecs", "task/*")}, "ecs:DescribeTasks")
	}
}

// allowRequestReads allows to show the requests of a canary behind a load balancer. IAM has no
// resources for the action.
func (b *builder) allowRequestReads() {
	if b.plan.Canary == nil || len(b.plan.Listeners) == 0 {
		return
	}
	for i := range b.plan.Stages {
		if b.plan.StateAfter(i).CanaryShare() > 0 {
			b.allowActions(readRequests, []string{wildcard}, "cloudwatch:GetMetricData")
			return
		}
	}
}

// IsOptional reports whether a deployment is the same without the permissions of a statement: only
// figures and names for users, or checks of what the deployment does not write, are missing.
func (s Statement) IsOptional() bool {
	return s.Sid == readRequests || s.Sid == readNames || s.Sid == readChecks || s.Sid == readRoles
}

// modeReads are the reads of each way of deploying.
var modeReads = map[plan.Mode]func(*builder){
	plan.ModeTaskSets:      (*builder).allowTaskSetReads,
	plan.ModeCanaryService: (*builder).allowHistoryReads,
	plan.ModeRolling:       (*builder).allowRollingReads,
	plan.ModeCodeDeploy:    (*builder).allowCodeDeployReads,
	plan.ModeTask:          (*builder).allowNoReads,
}

// accessReads are the reads of each access type. Those of load balancers depend on the service.
var accessReads = map[sluice.Access]func(*builder){
	sluice.ELB:              (*builder).allowNoReads,
	sluice.ServiceDiscovery: (*builder).allowRegistryReads,
	sluice.NoAccess:         (*builder).allowNoReads,
}

func (b *builder) allowNoReads() {}

func (b *builder) allowTaskSetReads() {
	b.allowActions(readTaskSets, b.taskSetARNs(), "ecs:DescribeTaskSets")
}

// allowRollingReads also allows the read of a canary service that an earlier pipeline may have left.
func (b *builder) allowRollingReads() {
	b.allowActions(readServices, []string{b.serviceARN(b.canaryName())}, "ecs:DescribeServices")
	b.allowHistoryReads()
}

// allowHistoryReads allows to read the history that ECS keeps of its own deployments.
func (b *builder) allowHistoryReads() {
	b.allowActions(readServices, nil, "ecs:ListServiceDeployments")
	b.allowActions(readHistory, b.serviceARNs("service-deployment", "service-revision"),
		"ecs:DescribeServiceDeployments", "ecs:DescribeServiceRevisions")
}

// allowRegistryReads allows to read the instances under a Cloud Map name.
func (b *builder) allowRegistryReads() {
	if b.plan.Registry == nil {
		return
	}
	b.allowActions(readAll, nil, "servicediscovery:DiscoverInstances", "servicediscovery:GetInstancesHealthStatus",
		"servicediscovery:GetOperation", "servicediscovery:ListInstances")
	b.allowActions(readRegistry, registryARN(b, ""), "servicediscovery:GetService")
	b.allowActions(readNamespaces, []string{b.resourceARN("servicediscovery", "namespace/*")},
		"servicediscovery:GetNamespace")
}

// allowCodeDeployReads allows to search the deployment group of the service and to follow its
// deployments.
func (b *builder) allowCodeDeployReads() {
	b.allowTaskSetReads()
	b.allowActions(readAll, nil, "codedeploy:BatchGetDeploymentTargets", "codedeploy:ListApplications",
		"codedeploy:ListDeploymentTargets")
	b.allowActions(readApplication, []string{b.resourceARN("codedeploy", "application:*")},
		"codedeploy:BatchGetApplications", "codedeploy:GetApplicationRevision", "codedeploy:ListDeploymentGroups")
	b.allowActions(readGroups, []string{b.resourceARN("codedeploy", "deploymentgroup:*")},
		"codedeploy:BatchGetDeploymentGroups", "codedeploy:BatchGetDeployments", "codedeploy:GetDeployment",
		"codedeploy:ListDeployments")
}

// hasLoadBalancer reports whether the service is behind a load balancer, by its files or in AWS.
func (b *builder) hasLoadBalancer() bool {
	if b.plan.Primary != nil || b.plan.Canary != nil {
		return true
	}
	if s := b.state.Service; s != nil && len(s.LoadBalancers) > 0 {
		return true
	}
	service, err := b.plan.DecodeService()
	return err == nil && len(service.Input.LoadBalancers) > 0
}

// hasRegistry reports whether ECS registers the tasks of the service under a Cloud Map name, by its files or in AWS.
func (b *builder) hasRegistry() bool {
	if len(b.plan.Names) > 0 {
		return true
	}
	service, err := b.plan.DecodeService()
	return err == nil && len(service.Input.ServiceRegistries) > 0
}

// logStreamARNs returns the log streams of all containers that log to CloudWatch Logs.
func (b *builder) logStreamARNs(definitions []plannedDefinition) (all []string) {
	add := func(containers []ecstypes.ContainerDefinition) {
		for _, g := range definition.LogGroups(containers, b.plan.Region) {
			all = append(all, b.arnInRegion("logs", g.Region, "log-group:"+g.Name+":log-stream:*"))
		}
	}
	for _, d := range definitions {
		add(d.input.ContainerDefinitions)
	}
	if now := b.state.Definition; now != nil { // a rollback starts it again
		add(now.ContainerDefinitions)
	}
	return all
}

// plannedDefinition is a task definition of the plan.
type plannedDefinition struct {
	family string // as the plan's writes name it: family, or family:revision
	input  *awsecs.RegisterTaskDefinitionInput
}

// planDefinitions returns the task definitions of the deployment and of its steps.
func (b *builder) planDefinitions() (all []plannedDefinition, err error) {
	own, err := b.plan.DecodeTask()
	if err != nil {
		return nil, err
	}
	all = append(all, plannedDefinition{b.plan.To, own.Input})
	for _, s := range b.plan.Stages {
		if s.Task == nil || !s.Task.HasOwnDefinition() {
			continue
		}
		step, err := s.Task.DecodeTask()
		if err != nil {
			return nil, err
		}
		all = append(all, plannedDefinition{s.Task.To, step.Input})
	}
	return all, nil
}
