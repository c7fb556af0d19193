package account

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
)

// ResourceOf names what a write changes, as a plan lists it, from the SDK's
// input (a pointer). operation is "ecs:CreateTaskSet". It is false for an
// operation without a row below, which the gate therefore always refuses.
//
//   - services: "<cluster>/<service>" by names, "default" for no cluster
//   - task sets: "ecs-svc/N", given as id or as ARN
//   - task definitions: family, or family:revision
//   - RunTask, StopTask: "<cluster>/<family:revision>", "<cluster>/<task id>"
//   - Cloud Map instances: "<service id>/<instance id>"
//   - CodeDeploy: "<application>/<deployment group>" to create, then the deployment's id
//   - the rest: the ARN or id in the request; CreateRule the listener's
func ResourceOf(operation string, input any) (string, bool) {
	row, ok := writes[operation]
	if !ok {
		return "", false
	}
	name := row.resource(input)
	return name, name != ""
}

// row is what the gate knows of one write.
type row struct {
	resource func(input any) string // "" for an input of another type
	repeat   func(input any) bool   // whether an unanswered attempt may be repeated
}

// write makes a row. repeat is nil for what an unanswered attempt must not be
// repeated.
func write[I any](resource func(*I) string, repeat func(*I) bool) row {
	return row{
		resource: func(input any) string {
			if in, ok := input.(*I); ok && in != nil {
				return resource(in)
			}
			return ""
		},
		repeat: func(input any) bool {
			in, ok := input.(*I)
			return ok && repeat != nil && repeat(in)
		},
	}
}

// always is for what sets absolute values or takes away something that has an
// identity of its own: twice is the same as once.
func always[I any](*I) bool { return true }

// tokened is for creates that AWS tells apart by a token of ours.
func tokened(token *string) bool { return aws.ToString(token) != "" }

// writes is the one table of what may be written at all, never changed at run
// time. Not repeated when unanswered: what makes something without identity
// (RegisterTaskDefinition, CreateRule, CreateDeployment, a forced new deployment),
// what steps forward (ContinueServiceDeployment, ContinueDeployment), and DeleteService, whose name could by
// then be a new service's.
var writes = map[string]row{
	"ecs:CreateService": write(func(i *awsecs.CreateServiceInput) string { return service(i.Cluster, i.ServiceName) },
		func(i *awsecs.CreateServiceInput) bool { return tokened(i.ClientToken) }),
	"ecs:UpdateService": write(func(i *awsecs.UpdateServiceInput) string { return service(i.Cluster, i.Service) },
		func(i *awsecs.UpdateServiceInput) bool { return !i.ForceNewDeployment }),
	"ecs:DeleteService": write(func(i *awsecs.DeleteServiceInput) string { return service(i.Cluster, i.Service) }, nil),
	"ecs:CreateTaskSet": write(func(i *awsecs.CreateTaskSetInput) string { return service(i.Cluster, i.Service) },
		func(i *awsecs.CreateTaskSetInput) bool { return tokened(i.ClientToken) }),
	"ecs:UpdateTaskSet": write(func(i *awsecs.UpdateTaskSetInput) string { return taskSet(i.TaskSet) }, always),
	"ecs:DeleteTaskSet": write(func(i *awsecs.DeleteTaskSetInput) string { return taskSet(i.TaskSet) }, always),
	"ecs:UpdateServicePrimaryTaskSet": write(func(i *awsecs.UpdateServicePrimaryTaskSetInput) string { return taskSet(i.PrimaryTaskSet) },
		always),
	"ecs:RegisterTaskDefinition":   write(func(i *awsecs.RegisterTaskDefinitionInput) string { return aws.ToString(i.Family) }, nil),
	"ecs:DeregisterTaskDefinition": write(func(i *awsecs.DeregisterTaskDefinitionInput) string { return last(i.TaskDefinition) }, always),
	"ecs:RunTask": write(func(i *awsecs.RunTaskInput) string { return within(i.Cluster, last(i.TaskDefinition)) },
		func(i *awsecs.RunTaskInput) bool { return tokened(i.ClientToken) }),
	"ecs:StopTask":                  write(func(i *awsecs.StopTaskInput) string { return within(i.Cluster, last(i.Task)) }, always),
	"ecs:StopServiceDeployment":     write(func(i *awsecs.StopServiceDeploymentInput) string { return aws.ToString(i.ServiceDeploymentArn) }, nil),
	"ecs:ContinueServiceDeployment": write(func(i *awsecs.ContinueServiceDeploymentInput) string { return aws.ToString(i.ServiceDeploymentArn) }, nil),
	"ecs:TagResource":               write(func(i *awsecs.TagResourceInput) string { return aws.ToString(i.ResourceArn) }, always),
	"ecs:UntagResource":             write(func(i *awsecs.UntagResourceInput) string { return aws.ToString(i.ResourceArn) }, always),

	"elasticloadbalancing:ModifyRule":     write(func(i *awselb.ModifyRuleInput) string { return aws.ToString(i.RuleArn) }, always),
	"elasticloadbalancing:ModifyListener": write(func(i *awselb.ModifyListenerInput) string { return aws.ToString(i.ListenerArn) }, always),
	"elasticloadbalancing:CreateRule":     write(func(i *awselb.CreateRuleInput) string { return aws.ToString(i.ListenerArn) }, nil),
	"elasticloadbalancing:DeleteRule":     write(func(i *awselb.DeleteRuleInput) string { return aws.ToString(i.RuleArn) }, always),
	"elasticloadbalancing:RegisterTargets": write(func(i *awselb.RegisterTargetsInput) string { return aws.ToString(i.TargetGroupArn) },
		always),
	"elasticloadbalancing:DeregisterTargets": write(func(i *awselb.DeregisterTargetsInput) string { return aws.ToString(i.TargetGroupArn) },
		always),
	"elasticloadbalancing:ModifyTargetGroupAttributes": write(func(i *awselb.ModifyTargetGroupAttributesInput) string {
		return aws.ToString(i.TargetGroupArn)
	}, always),
	"elasticloadbalancing:AddTags":    write(func(i *awselb.AddTagsInput) string { return strings.Join(i.ResourceArns, ",") }, always),
	"elasticloadbalancing:RemoveTags": write(func(i *awselb.RemoveTagsInput) string { return strings.Join(i.ResourceArns, ",") }, always),

	"servicediscovery:RegisterInstance":   write(func(i *awssd.RegisterInstanceInput) string { return instance(i.ServiceId, i.InstanceId) }, always),
	"servicediscovery:DeregisterInstance": write(func(i *awssd.DeregisterInstanceInput) string { return instance(i.ServiceId, i.InstanceId) }, always),
	"servicediscovery:UpdateInstanceCustomHealthStatus": write(func(i *awssd.UpdateInstanceCustomHealthStatusInput) string {
		return instance(i.ServiceId, i.InstanceId)
	}, always),

	"application-autoscaling:RegisterScalableTarget": write(func(i *applicationautoscaling.RegisterScalableTargetInput) string {
		return aws.ToString(i.ResourceId)
	}, always),

	"codedeploy:CreateDeployment": write(func(i *awscd.CreateDeploymentInput) string {
		return deploymentGroup(i.ApplicationName, i.DeploymentGroupName)
	}, nil),
	"codedeploy:StopDeployment":     write(func(i *awscd.StopDeploymentInput) string { return aws.ToString(i.DeploymentId) }, always),
	"codedeploy:ContinueDeployment": write(func(i *awscd.ContinueDeploymentInput) string { return aws.ToString(i.DeploymentId) }, nil),
}

// Writes are all operations that the gate lets out at all, sorted: "ecs:CreateTaskSet".
func Writes() []string { return slices.Sorted(maps.Keys(writes)) }

// read names the resource of the commonest reads, for their errors only.
func read(input any) string {
	switch i := input.(type) {
	case *awsecs.DescribeServicesInput:
		return within(i.Cluster, names(i.Services))
	case *awsecs.DescribeTaskSetsInput:
		return service(i.Cluster, i.Service)
	case *awsecs.DescribeTasksInput:
		return within(i.Cluster, names(i.Tasks))
	case *awsecs.ListTasksInput:
		return service(i.Cluster, i.ServiceName)
	case *awsecs.DescribeTaskDefinitionInput:
		return last(i.TaskDefinition)
	case *awsecs.DescribeClustersInput:
		return names(i.Clusters)
	case *awselb.DescribeTargetHealthInput:
		return aws.ToString(i.TargetGroupArn)
	case *awselb.DescribeTargetGroupsInput:
		return few(append(slices.Clone(i.TargetGroupArns), i.Names...))
	case *awselb.DescribeRulesInput:
		return cmp.Or(aws.ToString(i.ListenerArn), few(i.RuleArns))
	case *awselb.DescribeListenersInput:
		return cmp.Or(aws.ToString(i.LoadBalancerArn), few(i.ListenerArns))
	case *awscw.DescribeAlarmsInput:
		return cmp.Or(few(i.AlarmNames), aws.ToString(i.AlarmNamePrefix))
	case *awslogs.GetLogEventsInput:
		return logs(i.LogGroupName, i.LogGroupIdentifier, aws.ToString(i.LogStreamName))
	case *awslogs.FilterLogEventsInput:
		return logs(i.LogGroupName, i.LogGroupIdentifier, few(i.LogStreamNames))
	case *awslogs.DescribeLogStreamsInput:
		return logs(i.LogGroupName, i.LogGroupIdentifier, "")
	case *awsiam.SimulatePrincipalPolicyInput:
		return aws.ToString(i.PolicySourceArn)
	case *awscd.GetDeploymentInput:
		return aws.ToString(i.DeploymentId)
	case *awscd.BatchGetDeploymentsInput:
		return few(i.DeploymentIds)
	case *awscd.BatchGetDeploymentTargetsInput:
		return aws.ToString(i.DeploymentId)
	case *awscd.ListDeploymentsInput:
		return deploymentGroup(i.ApplicationName, i.DeploymentGroupName)
	}
	return ""
}

// deploymentGroup is "<application>/<deployment group>".
func deploymentGroup(application, group *string) string {
	if aws.ToString(application) == "" || aws.ToString(group) == "" {
		return ""
	}
	return *application + "/" + *group
}

// logs is "<log group> <streams>".
func logs(name, identifier *string, streams string) string {
	return strings.TrimSpace(cmp.Or(aws.ToString(name), aws.ToString(identifier)) + " " + streams)
}

func service(cluster, name *string) string { return within(cluster, last(name)) }

func instance(serviceID, instanceID *string) string {
	if aws.ToString(serviceID) == "" || aws.ToString(instanceID) == "" {
		return ""
	}
	return last(serviceID) + "/" + aws.ToString(instanceID)
}

// within puts name under its cluster. An empty name stays empty.
func within(cluster *string, name string) string {
	if name == "" {
		return ""
	}
	c := last(cluster)
	if c == "" {
		c = "default"
	}
	return c + "/" + name
}

// last is the name at the end of an ARN, or the name itself.
func last(arnOrName *string) string {
	s := aws.ToString(arnOrName)
	return s[strings.LastIndexByte(s, '/')+1:]
}

// taskSet is "ecs-svc/N": the last two parts of a task set's ARN, or its id.
func taskSet(arnOrID *string) string {
	parts := strings.Split(aws.ToString(arnOrID), "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

func names(arnsOrNames []string) string {
	short := make([]string, 0, len(arnsOrNames))
	for _, a := range arnsOrNames {
		short = append(short, last(&a))
	}
	return few(short)
}

// few keeps an error readable when a batch of a hundred is named.
func few(all []string) string {
	if len(all) > 3 {
		return strings.Join(all[:3], ",") + ",…"
	}
	return strings.Join(all, ",")
}
