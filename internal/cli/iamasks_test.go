package cli

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
)

const here = "us-east-1:123456789012:"

func ecsARN(kind string, parts ...*string) string {
	all := []string{kind}
	for _, p := range parts {
		name := aws.ToString(p)
		all = append(all, name[strings.LastIndexByte(name, '/')+1:])
	}
	return "arn:aws:ecs:" + here + strings.Join(all, "/")
}

// asksFor is what IAM checks for a call, by the call alone: its action on each of the
// resources that the Service Authorization Reference names for it, and what is checked
// with it. An input without a row is an action on "*".
func asksFor(input any) []requestedCall {
	on := func(action string, resources ...string) (all []requestedCall) {
		for _, r := range resources {
			all = append(all, requestedCall{action, r})
		}
		return all
	}
	set := func(i *string) *string { // "ecs-svc/1"
		id := aws.ToString(i)
		return aws.String(id[strings.LastIndexByte(id, '/')+1:])
	}
	tagged := func(tags []ecstypes.Tag, resource string) []requestedCall {
		if len(tags) == 0 {
			return nil
		}
		return on("ecs:TagResource", resource)
	}
	passed := func(roles ...*string) (all []requestedCall) {
		for _, r := range roles {
			name := aws.ToString(r)
			if name != "" && !strings.HasPrefix(name, "arn:") {
				name = "arn:aws:iam::123456789012:role/" + name
			}
			if name != "" {
				all = append(all, requestedCall{"iam:PassRole", name})
			}
		}
		return all
	}
	switch i := input.(type) {
	case *awsecs.DescribeServicesInput:
		var all []requestedCall
		for _, s := range i.Services {
			all = append(all, requestedCall{"ecs:DescribeServices", ecsARN("service", i.Cluster, &s)})
		}
		return all
	case *awsecs.CreateServiceInput:
		service := ecsARN("service", i.Cluster, i.ServiceName)
		return append(on("ecs:CreateService", service), append(tagged(i.Tags, service), passed(i.Role)...)...)
	case *awsecs.UpdateServiceInput:
		return on("ecs:UpdateService", ecsARN("service", i.Cluster, i.Service))
	case *awsecs.DeleteServiceInput:
		return on("ecs:DeleteService", ecsARN("service", i.Cluster, i.Service))
	case *awsecs.UpdateServicePrimaryTaskSetInput:
		return on("ecs:UpdateServicePrimaryTaskSet", ecsARN("service", i.Cluster, i.Service))
	case *awsecs.ListServiceDeploymentsInput:
		return on("ecs:ListServiceDeployments", ecsARN("service", i.Cluster, i.Service))
	case *awsecs.CreateTaskSetInput:
		sets := ecsARN("task-set", i.Cluster, i.Service, aws.String("made"))
		return append(on("ecs:CreateTaskSet", sets), tagged(i.Tags, sets)...)
	case *awsecs.UpdateTaskSetInput:
		return on("ecs:UpdateTaskSet", ecsARN("task-set", i.Cluster, i.Service, set(i.TaskSet)))
	case *awsecs.DeleteTaskSetInput:
		return on("ecs:DeleteTaskSet", ecsARN("task-set", i.Cluster, i.Service, set(i.TaskSet)))
	case *awsecs.DescribeTaskSetsInput:
		return on("ecs:DescribeTaskSets", ecsARN("task-set", i.Cluster, i.Service, aws.String("any")))
	case *awsecs.TagResourceInput:
		return on("ecs:TagResource", *i.ResourceArn)
	case *awsecs.UntagResourceInput:
		return on("ecs:UntagResource", *i.ResourceArn)
	case *awsecs.RegisterTaskDefinitionInput:
		definition := ecsARN("task-definition", aws.String(*i.Family+":7"))
		return slices.Concat(on("ecs:RegisterTaskDefinition", definition), tagged(i.Tags, definition),
			passed(i.TaskRoleArn, i.ExecutionRoleArn))
	case *awsecs.RunTaskInput:
		all := append(on("ecs:RunTask", *i.TaskDefinition),
			tagged(i.Tags, ecsARN("task", i.Cluster, aws.String("made")))...)
		if i.Overrides != nil {
			all = append(all, passed(i.Overrides.TaskRoleArn, i.Overrides.ExecutionRoleArn)...)
		}
		return all
	case *awsecs.DescribeTasksInput:
		var all []requestedCall
		for _, t := range i.Tasks {
			all = append(all, requestedCall{"ecs:DescribeTasks", ecsARN("task", i.Cluster, &t)})
		}
		return all
	case *awsecs.StopServiceDeploymentInput:
		return on("ecs:StopServiceDeployment", ofDeployment(*i.ServiceDeploymentArn)...)
	case *awsecs.DescribeServiceDeploymentsInput:
		return on("ecs:DescribeServiceDeployments", ofDeployment(i.ServiceDeploymentArns...)...)
	case *awsecs.DescribeServiceRevisionsInput:
		return on("ecs:DescribeServiceRevisions", ofDeployment(i.ServiceRevisionArns...)...)
	case *awselb.ModifyRuleInput:
		return on("elasticloadbalancing:ModifyRule", *i.RuleArn)
	case *awselb.ModifyListenerInput:
		return on("elasticloadbalancing:ModifyListener", *i.ListenerArn)
	}
	return asksForOthers(input, on)
}

// ofDeployment are service deployments or revisions with their services: IAM checks
// both.
func ofDeployment(arns ...string) (all []string) {
	for _, arn := range arns {
		parts := strings.Split(arn, "/")
		all = append(all, arn, ecsARN("service", &parts[1], &parts[2]))
	}
	return all
}

func asksForOthers(input any, on func(string, ...string) []requestedCall) []requestedCall {
	cloudMap := func(id *string) string { return "arn:aws:servicediscovery:" + here + *id }
	codeDeploy := func(kind string, parts ...*string) string {
		var names []string
		for _, p := range parts {
			names = append(names, aws.ToString(p))
		}
		return "arn:aws:codedeploy:" + here + kind + ":" + strings.Join(names, "/")
	}
	switch i := input.(type) {
	case *awssd.RegisterInstanceInput:
		return append(on("servicediscovery:RegisterInstance", cloudMap(aws.String("service/"+*i.ServiceId))),
			requestedCall{"route53:ChangeResourceRecordSets", "arn:aws:route53:::hostedzone/Z1"},
			requestedCall{"ec2:DescribeInstances", "*"})
	case *awssd.DeregisterInstanceInput:
		return append(on("servicediscovery:DeregisterInstance", cloudMap(aws.String("service/"+*i.ServiceId))),
			requestedCall{"route53:ChangeResourceRecordSets", "arn:aws:route53:::hostedzone/Z1"})
	case *awssd.GetServiceInput:
		return on("servicediscovery:GetService", cloudMap(aws.String("service/"+*i.Id)))
	case *awssd.GetNamespaceInput:
		return on("servicediscovery:GetNamespace", cloudMap(aws.String("namespace/"+*i.Id)))
	case *awsaas.RegisterScalableTargetInput:
		_, service, _ := strings.Cut(*i.ResourceId, "/")
		return append(on("application-autoscaling:RegisterScalableTarget",
			"arn:aws:application-autoscaling:"+here+"scalable-target/0ec5"),
			requestedCall{"ecs:UpdateService", "arn:aws:ecs:" + here + "service/" + service},
			requestedCall{"ecs:DescribeServices", "arn:aws:ecs:" + here + "service/" + service})
	case *awslogs.GetLogEventsInput:
		return on("logs:GetLogEvents",
			"arn:aws:logs:"+here+"log-group:"+*i.LogGroupName+":log-stream:"+*i.LogStreamName)
	case *awsiam.GetRoleInput:
		return on("iam:GetRole", "arn:aws:iam::123456789012:role/"+*i.RoleName)
	case *awscd.CreateDeploymentInput:
		all := append(on("codedeploy:CreateDeployment", codeDeploy("deploymentgroup", i.ApplicationName,
			i.DeploymentGroupName)),
			on("codedeploy:RegisterApplicationRevision", codeDeploy("application", i.ApplicationName))...)
		if i.DeploymentConfigName != nil {
			all = append(all, requestedCall{"codedeploy:GetDeploymentConfig",
				codeDeploy("deploymentconfig", i.DeploymentConfigName)})
		}
		return all
	case *awscd.GetDeploymentConfigInput:
		return on("codedeploy:GetDeploymentConfig", codeDeploy("deploymentconfig", i.DeploymentConfigName))
	case *awscd.BatchGetApplicationsInput:
		return on("codedeploy:BatchGetApplications", codeDeploy("application", &i.ApplicationNames[0]))
	case *awscd.ListDeploymentGroupsInput:
		return on("codedeploy:ListDeploymentGroups", codeDeploy("application", i.ApplicationName))
	case *awscd.GetApplicationRevisionInput:
		return on("codedeploy:GetApplicationRevision", codeDeploy("application", i.ApplicationName))
	case *awscd.BatchGetDeploymentGroupsInput:
		return on("codedeploy:BatchGetDeploymentGroups", codeDeploy("deploymentgroup", i.ApplicationName,
			&i.DeploymentGroupNames[0]))
	case *awscd.GetDeploymentInput:
		return on("codedeploy:GetDeployment", codeDeploy("deploymentgroup", aws.String("any/any")))
	case *awscd.BatchGetDeploymentsInput:
		return on("codedeploy:BatchGetDeployments", codeDeploy("deploymentgroup", aws.String("any/any")))
	case *awscd.ListDeploymentsInput:
		return on("codedeploy:ListDeployments", codeDeploy("deploymentgroup", i.ApplicationName, i.DeploymentGroupName))
	}
	return on(actionOf(input), "*")
}

// iamPrefixes are IAM's names of services, by the packages of the SDK.
var iamPrefixes = map[string]string{"ecs": "ecs", "elasticloadbalancingv2": "elasticloadbalancing",
	"servicediscovery": "servicediscovery", "codedeploy": "codedeploy",
	"applicationautoscaling": "application-autoscaling", "cloudwatchlogs": "logs", "sts": "sts",
	"cloudwatch": "cloudwatch"}

// actionOf is the action of an SDK's input.
func actionOf(input any) string {
	t := reflect.TypeOf(input).Elem()
	return iamPrefixes[path.Base(t.PkgPath())] + ":" + strings.TrimSuffix(t.Name(), "Input")
}
