package verify

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

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
	execution := aws.ToString(c.task.ExecutionRoleArn)
	if execution != "" {
		c.checkRole(ctx, "execution role", execution, tasksService)
	} else if why := c.needsExecutionRole(); why != "" {
		c.fail("execution role", "the task definition has none, and "+why, "set executionRoleArn in "+c.app.Task.File)
	}
	if role := aws.ToString(c.task.TaskRoleArn); role != "" {
		c.checkRole(ctx, "task role", role, tasksService)
	}
	if c.app.Service == nil {
		return
	}
	roles := c.serviceRoles()
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		c.checkRole(ctx, roles[role], role, ecsService)
	}
}

// serviceRoles returns the roles that ECS assumes for the service, with what they are for.
func (c *checker) serviceRoles() map[string]string {
	all := map[string]string{}
	in := c.app.Service.Input
	for _, b := range in.LoadBalancers {
		if a := b.AdvancedConfiguration; a != nil && aws.ToString(a.RoleArn) != "" {
			all[*a.RoleArn] = "load balancer role"
		}
	}
	if d := in.DeploymentConfiguration; d != nil {
		for _, h := range d.LifecycleHooks {
			if aws.ToString(h.RoleArn) != "" {
				all[*h.RoleArn] = "hook role"
			}
		}
	}
	for _, v := range in.VolumeConfigurations {
		if v.ManagedEBSVolume != nil && aws.ToString(v.ManagedEBSVolume.RoleArn) != "" {
			all[*v.ManagedEBSVolume.RoleArn] = "volume role"
		}
	}
	return all
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
			why = "Fargate pulls the image of container " + name + " from ECR with it"
		case c.runsOnFargate() && d.LogConfiguration != nil && d.LogConfiguration.LogDriver == ecstypes.LogDriverAwslogs:
			why = "Fargate writes the log of container " + name + " with it"
		}
	})
	return why
}

// checkRole requires a role that exists and that the service may assume.
func (c *checker) checkRole(ctx context.Context, what, role, service string) {
	name := lastPart(role, "/")
	subject := what + " " + name
	if a, err := parseARN(role); err == nil && a.account != c.aws.Account {
		c.warn(subject, "it belongs to account "+a.account+" and cannot be read", "")
		return
	}
	document, err := c.aws.Existing.TrustPolicy(ctx, name)
	if !c.judge(subject, err, "it does not exist", "create the role, or correct its ARN") {
		return
	}
	trusts, err := trustsService(document, service)
	switch {
	case err != nil:
		c.warn(subject, "its trust policy cannot be read: "+err.Error(), "")
	case !trusts:
		c.fail(subject, "its trust policy does not let "+service+" assume it",
			"allow sts:AssumeRole to "+service+": aws iam update-assume-role-policy --role-name "+name)
	default:
		c.ok(subject, "trusts "+service)
	}
}

// oneOrMore is a text or a list of texts, as policies have them.
type oneOrMore []string

func (l *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// trustStatement is a statement of a trust policy.
type trustStatement struct {
	Effect    string
	Action    oneOrMore
	Principal json.RawMessage
}

// trustsService reports whether a trust policy, as IAM returns it, lets a service assume the role. It does not
// evaluate conditions.
func trustsService(document, service string) (bool, error) {
	text, err := url.PathUnescape(document)
	if err != nil {
		return false, err
	}
	var policy struct{ Statement json.RawMessage }
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		return false, err
	}
	var all []trustStatement
	if json.Unmarshal(policy.Statement, &all) != nil {
		all = make([]trustStatement, 1)
		if err := json.Unmarshal(policy.Statement, &all[0]); err != nil {
			return false, err
		}
	}
	return slices.ContainsFunc(all, func(s trustStatement) bool { return s.allows(service) }), nil
}

func (s trustStatement) allows(service string) bool {
	assumes := slices.ContainsFunc(s.Action, func(a string) bool {
		return a == "*" || strings.EqualFold(a, "sts:*") || strings.EqualFold(a, "sts:AssumeRole")
	})
	var who struct{ Service oneOrMore }
	return s.Effect == "Allow" && assumes && json.Unmarshal(s.Principal, &who) == nil &&
		slices.Contains(who.Service, service)
}
