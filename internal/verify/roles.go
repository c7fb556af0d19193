package verify

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Services that assume the roles of definitions.
const (
	tasksService = "ecs-tasks.amazonaws.com"
	ecsService   = "ecs.amazonaws.com"
)

// checkRoles checks the roles of the task definition and of the service definition, and that a task which needs an
// execution role has one.
func (c *checker) checkRoles(ctx context.Context) {
	c.requireExecutionRole(c.needsExecutionRole())
	for _, role := range rolesOf(c.app) {
		c.checkRole(ctx, role)
	}
}

// requireExecutionRole records a missing execution role that the task needs for the reason, if there is one.
func (c *checker) requireExecutionRole(why string) {
	if why != "" && aws.ToString(c.task.ExecutionRoleArn) == "" {
		c.fail("execution role", "the task definition has none, and "+why, "set executionRoleArn in "+c.app.Task.File)
	}
}

// pullsWithRole is why Fargate needs an execution role for the image of ECR that the container has.
func pullsWithRole(container string) string {
	return "Fargate pulls the image of container " + container + " from ECR with it"
}

// rolesOf returns the roles of the definitions of an application.
func rolesOf(app *appfile.Application) []Role {
	roles := TaskRoles(app.Task.Input)
	if app.Service != nil {
		roles = append(roles, ServiceRoles(app.Service.Input)...)
	}
	return roles
}

// needsExecutionRole returns why a task needs an execution role, or "" (ECS Developer Guide, "Amazon ECS task execution
// IAM role").
func (c *checker) needsExecutionRole() (why string) {
	c.containers(func(d ecstypes.ContainerDefinition) {
		image, _ := definition.ParseImage(aws.ToString(d.Image))
		name := aws.ToString(d.Name)
		switch {
		case len(d.Secrets) > 0:
			why = "container " + name + " has secrets"
		case d.RepositoryCredentials != nil:
			why = "container " + name + " has credentials of a registry"
		case c.runsOnFargate() && image.IsECR():
			why = pullsWithRole(name)
		case c.runsOnFargate() && d.LogConfiguration != nil && d.LogConfiguration.LogDriver == ecstypes.LogDriverAwslogs:
			why = "Fargate writes the log of container " + name + " with it"
		}
	})
	return why
}

// checkRole requires a role that exists and that the service may assume.
func (c *checker) checkRole(ctx context.Context, role Role) {
	c.at(role.ARN)
	name, service := lastPart(role.ARN, "/"), role.Trusts
	subject := role.Use + " " + name
	if a, err := parseARN(role.ARN); err == nil && a.account != c.aws.Account {
		c.warn(subject, "it belongs to account "+a.account+" and cannot be read", "")
		c.all[len(c.all)-1].IsUnread = true
		return
	}
	document, err := c.aws.Existing.TrustPolicy(ctx, name)
	if !c.judge(subject, err, "it does not exist", "create the role, or correct its ARN") {
		return
	}
	policy, err := parseTrust(document)
	switch {
	case err != nil:
		c.warn(subject, "its trust policy cannot be read: "+err.Error(), "")
	case !policy.allows(service):
		c.fail(subject, "its trust policy does not let "+service+" assume it", trustAdvice(role))
	default:
		c.ok(subject, "trusts "+service)
	}
}
