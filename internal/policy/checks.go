package policy

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// allowChecks allows the checks of a plan before the first write (package verify): of the network, the capacity
// providers, the alarms and the registries that the deployment changes, and of images. It also allows to read what
// callers of a Cloud Map name get. Without them, a note says what could not be checked.
func (b *builder) allowChecks() error {
	task, err := b.plan.DecodeTask()
	if err != nil {
		return err
	}
	b.allowTaskChecks(task.Input)
	if !b.plan.Mode().HasService() {
		return nil
	}
	service, err := b.plan.DecodeService()
	if err != nil {
		return err
	}
	in := service.Input
	if n := in.NetworkConfiguration; n != nil && b.changes("networkConfiguration") {
		b.allowActions(readChecks, []string{wildcard}, "ec2:DescribeSubnets")
		if n.AwsvpcConfiguration != nil && len(n.AwsvpcConfiguration.SecurityGroups) > 0 {
			b.allowActions(readChecks, []string{wildcard}, "ec2:DescribeSecurityGroups")
		}
	}
	if len(in.CapacityProviderStrategy) > 0 && b.changes("capacityProviderStrategy") {
		b.allowActions(readChecks, []string{wildcard}, "ecs:DescribeClusters")
	}
	if c := in.DeploymentConfiguration; c != nil && c.Alarms != nil && c.Alarms.Enable {
		b.allowActions(readChecks, []string{wildcard}, "cloudwatch:DescribeAlarms")
	}
	if b.plan.Registry == nil && b.hasRegistry() {
		b.allowActions(readChecks, []string{wildcard}, "servicediscovery:DiscoverInstances", "servicediscovery:GetNamespace",
			"servicediscovery:GetService")
	}
	if _, port := task.FixedHostPort(); port != 0 {
		b.allowActions(readChecks, []string{wildcard}, "ecs:DescribeClusters")
	}
	b.allowImageChecks(task.Input)
	return nil
}

// allowTaskChecks allows to read the roles and log groups that new tasks need and the serving revision does not name.
func (b *builder) allowTaskChecks(task *awsecs.RegisterTaskDefinitionInput) {
	for _, role := range definition.NewRoles(task, b.state.Definition) {
		b.allowActions(readRoles, b.roleARNs(&role), "iam:GetRole")
	}
	if len(definition.NewLogGroups(task, b.state.Definition, b.plan.Region)) > 0 {
		b.allowActions(readChecks, []string{wildcard}, "logs:DescribeLogGroups")
	}
}

// allowImageChecks allows to read images of ECR, and the names of those that exist instead of one that does not.
func (b *builder) allowImageChecks(task *awsecs.RegisterTaskDefinitionInput) {
	for _, c := range task.ContainerDefinitions {
		if i, err := definition.ParseImage(aws.ToString(c.Image)); err == nil && i.IsECR() {
			b.allowActions(readChecks, []string{wildcard}, "ecr:BatchGetImage", "ecr:DescribeImages",
				"ecr:DescribePullThroughCacheRules", "ecr:DescribeRepositories")
		}
	}
}

// changes reports whether the plan changes a member of the service.
func (b *builder) changes(member string) bool {
	for _, c := range b.plan.Changes {
		if c.Of == "service" && c.Member() == member {
			return true
		}
	}
	return b.plan.From == ""
}
