package policy

import (
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// allowReads allows the reads of the engine: to plan, to deploy, and to name causes.
func (b *builder) read(definitions []definitionOf) {
	b.allow(readAll, []string{everything}, "sts:GetCallerIdentity", "ecs:DescribeTaskDefinition", "ecs:ListTaskDefinitions", "ecs:ListTasks")
	b.allow(readTasks, b.tasks(), "ecs:DescribeTasks")
	b.allow(readServices, b.ofServices(), "ecs:DescribeServices")
	b.allow(readLogs, b.logs(definitions), "logs:GetLogEvents")
	if !b.plan.Standalone {
		b.allow(readAll, nil, "application-autoscaling:DescribeScalableTargets")
	}
	if b.plan.Rolls() {
		b.allow(readServices, nil, "ecs:ListServiceDeployments")
		b.allow(readHistory, b.ofServices("service-deployment", "service-revision"), "ecs:DescribeServiceDeployments", "ecs:DescribeServiceRevisions")
	} else if !b.plan.Standalone {
		b.allow(readTaskSets, b.taskSets(), "ecs:DescribeTaskSets")
	}
	if b.balanced() {
		b.allow(readAll, nil, "elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeLoadBalancers", "elasticloadbalancing:DescribeRules",
			"elasticloadbalancing:DescribeTargetGroupAttributes", "elasticloadbalancing:DescribeTargetGroups", "elasticloadbalancing:DescribeTargetHealth")
	}
	if b.plan.Discovered() {
		b.allow(readAll, nil, "servicediscovery:DiscoverInstances", "servicediscovery:GetInstancesHealthStatus", "servicediscovery:GetOperation", "servicediscovery:ListInstances")
		b.allow(readRegistry, registry(b, ""), "servicediscovery:GetService")
		b.allow(readNamespaces, []string{b.arn("servicediscovery", "namespace/*")}, "servicediscovery:GetNamespace")
	}
	if b.plan.ByCodeDeploy() {
		b.readCodeDeploy()
	}
	if b.plan.KeepDefinitions > 0 { // no task of any cluster may run what is deregistered
		b.allow(readAll, nil, "ecs:ListClusters")
		b.allow(readTasks, []string{b.arn("ecs", "task/*")}, "ecs:DescribeTasks")
	}
}

// allowCodeDeployReads allows to search the deployment group of the service and to follow its
// deployments.
func (b *builder) readCodeDeploy() {
	b.allow(readAll, nil, "codedeploy:BatchGetDeploymentTargets", "codedeploy:ListApplications", "codedeploy:ListDeploymentTargets")
	b.allow(readApplication, []string{b.arn("codedeploy", "application:*")},
		"codedeploy:BatchGetApplications", "codedeploy:GetApplicationRevision", "codedeploy:ListDeploymentGroups")
	b.allow(readGroups, []string{b.arn("codedeploy", "deploymentgroup:*")},
		"codedeploy:BatchGetDeploymentGroups", "codedeploy:BatchGetDeployments", "codedeploy:GetDeployment", "codedeploy:ListDeployments")
}

// hasLoadBalancer reports whether the service is behind a load balancer, by its files or in AWS.
func (b *builder) balanced() bool {
	if b.plan.Primary != nil || b.plan.Canary != nil || b.plan.ByCodeDeploy() {
		return true
	}
	if s := b.live.Service; s != nil && len(s.LoadBalancers) > 0 {
		return true
	}
	service, err := b.plan.DecodeService()
	return err == nil && len(service.Input.LoadBalancers) > 0
}

// logStreamARNs returns the log streams of all containers that log to CloudWatch Logs.
func (b *builder) logs(definitions []definitionOf) (all []string) {
	add := func(containers []ecstypes.ContainerDefinition) {
		for _, c := range containers {
			l := c.LogConfiguration
			if l == nil || l.LogDriver != ecstypes.LogDriverAwslogs || l.Options["awslogs-group"] == "" {
				continue
			}
			region := l.Options["awslogs-region"]
			if region == "" {
				region = b.plan.Region
			}
			all = append(all, b.arnIn("logs", region, "log-group:"+l.Options["awslogs-group"]+":log-stream:*"))
		}
	}
	for _, d := range definitions {
		add(d.input.ContainerDefinitions)
	}
	if now := b.live.Definition; now != nil { // a rollback starts it again
		add(now.ContainerDefinitions)
	}
	return all
}

// plannedDefinition is a task definition of the plan.
type definitionOf struct {
	family string // as the plan's writes name it: family, or family:revision
	input  *awsecs.RegisterTaskDefinitionInput
}

// planDefinitions returns the task definitions of the deployment and of its steps.
func (b *builder) definitions() (all []definitionOf, err error) {
	own, err := b.plan.DecodeTask()
	if err != nil {
		return nil, err
	}
	all = append(all, definitionOf{b.plan.To, own.Input})
	for _, s := range b.plan.Stages {
		if s.Task == nil || !s.Task.Own() {
			continue
		}
		step, err := s.Task.DecodeTask()
		if err != nil {
			return nil, err
		}
		all = append(all, definitionOf{s.Task.To, step.Input})
	}
	return all, nil
}
