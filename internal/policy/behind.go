package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
)

// allowIndirect allows the indirect actions that AWS checks for the plan's writes, as the same
// caller.
func (b *builder) allowIndirect(definitions []plannedDefinition) error {
	all := Writes(b.plan)
	does := func(operation string) bool {
		return slices.ContainsFunc(all, func(w sluice.Write) bool { return w.Operation == operation })
	}
	for _, d := range definitions {
		b.allowDefinitionRoles(d, all)
	}
	if err := b.allowRunRoles(); err != nil {
		return err
	}
	if err := b.allowServiceRoles(does); err != nil {
		return err
	}
	b.allowRoute53(does)
	if does("application-autoscaling:RegisterScalableTarget") {
		b.allowActions(changeService, ownService(b, ""), "ecs:UpdateService")
	}
	if does("codedeploy:CreateDeployment") {
		b.allowAppSpec()
	}
	return nil
}

// IndirectActions returns the actions that AWS checks in addition to an operation, as the same
// caller. It excludes tags and iam:PassRole, which depend on the request.
func IndirectActions(operation string) []string {
	switch operation {
	case "servicediscovery:RegisterInstance": // AWS Cloud Map Developer Guide, "API permissions reference"
		return []string{"ec2:DescribeInstances", "route53:ChangeResourceRecordSets", "route53:CreateHealthCheck",
			"route53:GetHealthCheck", "route53:UpdateHealthCheck"}
	case "servicediscovery:DeregisterInstance":
		return []string{"route53:ChangeResourceRecordSets", "route53:DeleteHealthCheck", "route53:GetHealthCheck",
			"route53:UpdateHealthCheck"}
	case "codedeploy:CreateDeployment":
		return []string{"codedeploy:GetDeploymentConfig", "codedeploy:RegisterApplicationRevision"}
	// Application Auto Scaling User Guide, "Identity-based policy examples"
	case "application-autoscaling:RegisterScalableTarget":
		return []string{"ecs:UpdateService"}
	}
	return nil
}

// allowDefinitionRoles allows to pass the roles of a task definition to the tasks. A caller that
// registers a task definition or runs a task of it passes these roles.
func (b *builder) allowDefinitionRoles(d plannedDefinition, all []sluice.Write) {
	registers := slices.Contains(all, sluice.Write{Operation: "ecs:RegisterTaskDefinition", Resource: d.family})
	runs := slices.Contains(all, sluice.Write{Operation: "ecs:RunTask", Resource: b.plan.Cluster + "/" + d.family})
	if registers || runs {
		b.allowActions(passToTasks, b.roleARNs(d.input.TaskRoleArn, d.input.ExecutionRoleArn), "iam:PassRole")
	}
	if registers && (len(d.input.Tags) > 0 || b.plan.KeepDefinitions > 0) {
		b.allowActions(tagDefinitions, b.familyARNs(d.family), "ecs:TagResource")
	}
}

// allowRunRoles allows to pass the roles that a RunTask request names, and to set its tags.
func (b *builder) allowRunRoles() error {
	for _, s := range b.plan.Stages {
		if s.Task == nil {
			continue
		}
		run, err := s.Task.DecodeRequest()
		if err != nil {
			return err
		}
		if o := run.Input.Overrides; o != nil {
			b.allowActions(passToTasks, b.roleARNs(o.TaskRoleArn, o.ExecutionRoleArn), "iam:PassRole")
		}
		if len(run.Input.Tags) > 0 {
			b.allowActions(tagTasks, b.taskARNs(), "ecs:TagResource")
		}
		if err := b.allowNamedRoles(s.Task.Request); err != nil {
			return err
		}
	}
	return nil
}

// allowServiceRoles allows to pass the roles with which ECS acts for the service, and to tag the
// resources that are created for it.
func (b *builder) allowServiceRoles(does func(operation string) bool) error {
	service, err := b.plan.DecodeService()
	if err != nil {
		return err
	}
	if does("ecs:CreateTaskSet") && len(service.Input.Tags) > 0 {
		b.allowActions(changeTaskSets, b.taskSetARNs(), "ecs:TagResource")
	}
	if does("ecs:CreateService") {
		b.allowActions(passToECS, b.roleARNs(service.Input.Role), "iam:PassRole")
	}
	if does("ecs:CreateService") || does("ecs:UpdateService") {
		return b.allowNamedRoles(b.plan.Definition)
	}
	return nil
}

// allowRoute53 allows the changes of records and health checks that Cloud Map makes in Route 53 as
// its caller (AWS Cloud Map Developer Guide, "API permissions reference").
func (b *builder) allowRoute53(does func(operation string) bool) {
	r := b.plan.Registry
	registers, deregisters := does("servicediscovery:RegisterInstance"), does("servicediscovery:DeregisterInstance")
	if r == nil || !registers && !deregisters {
		return
	}
	if registers {
		b.allowActions(readAll, nil, "ec2:DescribeInstances")
	}
	if r.HasDNS() {
		b.allowActions(keepRecords, []string{"arn:" + b.partition + ":route53:::hostedzone/*"},
			"route53:ChangeResourceRecordSets")
	}
	if !r.Route53 {
		return
	}
	b.allowActions(keepChecks, []string{"arn:" + b.partition + ":route53:::healthcheck/*"}, "route53:GetHealthCheck",
		"route53:UpdateHealthCheck")
	if registers {
		b.allowActions(createChecks, []string{wildcard}, "route53:CreateHealthCheck")
	}
	if deregisters {
		b.allowActions(keepChecks, nil, "route53:DeleteHealthCheck")
	}
}

// allowAppSpec allows what CreateDeployment does as its caller: register the AppSpec and read the
// deployment configuration (CodeDeploy User Guide, "CodeDeploy permissions reference").
func (b *builder) allowAppSpec() {
	c := b.plan.CodeDeploy
	b.allowActions(registerAppSpec, []string{b.resourceARN("codedeploy", "application:"+c.Application)},
		"codedeploy:RegisterApplicationRevision")
	configs := []string{b.resourceARN("codedeploy", "deploymentconfig:CodeDeployDefault.ECSAllAtOnce")} // of a rollback
	if c.ConfigUsed != "" {
		configs = append(configs, b.resourceARN("codedeploy", "deploymentconfig:"+c.ConfigUsed))
	}
	b.allowActions(readConfigs, configs, "codedeploy:GetDeploymentConfig")
}

// roleARNs returns the ARNs of roles. Definitions name them by ARN or by name.
func (b *builder) roleARNs(given ...*string) (all []string) {
	for _, g := range given {
		switch name := aws.ToString(g); {
		case name == "":
		case strings.HasPrefix(name, "arn:"):
			all = append(all, name)
		default:
			all = append(all, b.arnInRegion("iam", "", "role/"+strings.TrimPrefix(name, "/")))
		}
	}
	return all
}

// allowNamedRoles allows to pass the roles that a request names anywhere as roleArn: for volumes,
// lifecycle hooks, VPC Lattice, the traffic of ECS's own strategies, TLS of Service Connect. ECS
// assumes these roles, the tasks do not.
func (b *builder) allowNamedRoles(request json.RawMessage) error {
	var whole any
	if err := json.Unmarshal(request, &whole); err != nil {
		return err
	}
	walkStrings(whole, func(key, value string) {
		if strings.EqualFold(key, "roleArn") {
			b.allowActions(passToECS, b.roleARNs(&value), "iam:PassRole")
		}
	})
	return nil
}

// walkStrings calls f for every string in a JSON value, with its key.
func walkStrings(v any, f func(key, value string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if s, ok := x.(string); ok {
				f(key, s)
				continue
			}
			walkStrings(x, f)
		}
	case []any:
		for _, x := range v {
			walkStrings(x, f)
		}
	}
}
