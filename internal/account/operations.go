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

// ResourceOf returns the name of what a write changes, as a plan lists it, from the SDK's
// input (a pointer). operation is "ecs:CreateTaskSet". It returns false for an
// operation without a row below; the gate always refuses such an operation.
//
//   - services: "<cluster>/<service>" by names, "default" for no cluster
//   - task sets: "ecs-svc/N", given as id or as ARN
//   - task definitions: family, or family:revision
//   - RunTask, StopTask: "<cluster>/<family:revision>", "<cluster>/<task id>"
//   - Cloud Map instances: "<service id>/<instance id>"
//   - CodeDeploy: "<application>/<deployment group>" to create, otherwise the deployment's id
//   - the rest: the ARN or id in the request; CreateRule the listener's
func ResourceOf(operation string, input any) (string, bool) {
	row, ok := writes[operation]
	if !ok {
		return "", false
	}
	name := row.resource(input)
	return name, name != ""
}

// writeRow describes one write operation.
type row struct {
	resource func(input any) string // "" for an input of another type
	repeat   func(input any) bool   // whether an attempt without a response may be repeated
}

// newRow makes a row. repeat is nil for a write that must not be repeated after an attempt without
// a response.
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

// alwaysRepeat is for writes that set absolute values or delete something with an identity of its
// own: a second call has no further effect.
func always[I any](*I) bool { return true }

// hasToken is for creates that AWS distinguishes by the client token of the request.
func tokened(token *string) bool { return aws.ToString(token) != "" }

// writeTable lists every write that sluice may make; it never changes at run time. Some writes are
// not repeated after an attempt without a response. These are creates without an identity
// (RegisterTaskDefinition, CreateRule, CreateDeployment, a forced new deployment), steps forward
// (ContinueServiceDeployment, ContinueDeployment), and DeleteService, since a new service may have
// the name by then.
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

// Writes returns all operations that the gate can permit, sorted: "ecs:CreateTaskSet".
func Writes() []string { return slices.Sorted(maps.Keys(writes)) }

// readResource returns the resource of the most frequent reads. It is used in their errors only.
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

// groupName returns "<application>/<deployment group>".
func deploymentGroup(application, group *string) string {
	if aws.ToString(application) == "" || aws.ToString(group) == "" {
		return ""
	}
	return *application + "/" + *group
}

// logName returns "<log group> <streams>".
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

// inCluster puts name under its cluster. An empty name stays empty.
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

// lastPart returns the name at the end of an ARN, or the name itself.
func last(arnOrName *string) string {
	s := aws.ToString(arnOrName)
	return s[strings.LastIndexByte(s, '/')+1:]
}

// taskSetID returns "ecs-svc/N": the last two parts of a task set's ARN, or its id.
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

// joinFew keeps an error readable when a batch has a hundred names.
func few(all []string) string {
	if len(all) > 3 {
		return strings.Join(all[:3], ",") + ",…"
	}
	return strings.Join(all, ",")
}
