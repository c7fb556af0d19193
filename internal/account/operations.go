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
//   - RunTask, StopTask, ExecuteCommand, StartSession: "<cluster>/<family:revision>", "<cluster>/<task id>"
//   - Cloud Map instances: "<service id>/<instance id>"
//   - CodeDeploy: "<application>/<deployment group>" to create, otherwise the deployment's id
//   - the rest: the ARN or id in the request; CreateRule the listener's
func ResourceOf(operation string, input any) (string, bool) {
	row, ok := writeTable[operation]
	if !ok {
		return "", false
	}
	name := row.resource(input)
	return name, name != ""
}

// writeRow describes one write operation.
type writeRow struct {
	resource  func(input any) string // "" for an input of another type
	canRepeat func(input any) bool   // whether an attempt without a response may be repeated
}

// newRow makes a row. repeat is nil for a write that must not be repeated after an attempt without
// a response.
func newRow[I any](resource func(*I) string, repeat func(*I) bool) writeRow {
	return writeRow{
		resource: func(input any) string {
			if in, ok := input.(*I); ok && in != nil {
				return resource(in)
			}
			return ""
		},
		canRepeat: func(input any) bool {
			in, ok := input.(*I)
			return ok && repeat != nil && repeat(in)
		},
	}
}

// alwaysRepeat is for writes that set absolute values or delete something with an identity of its
// own: a second call has no further effect.
func alwaysRepeat[I any](*I) bool { return true }

// hasToken is for creates that AWS distinguishes by the client token of the request.
func hasToken(token *string) bool { return aws.ToString(token) != "" }

// writeTable lists every write that sluice may make; it never changes at run time. Some writes are
// not repeated after an attempt without a response. These are creates without an identity
// (RegisterTaskDefinition, CreateRule, CreateDeployment, a forced new deployment), steps forward
// (ContinueServiceDeployment, ContinueDeployment), and DeleteService, since a new service may have
// the name by then.
var writeTable = map[string]writeRow{
	"ecs:CreateService": newRow(func(i *awsecs.CreateServiceInput) string {
		return serviceName(i.Cluster,
			i.ServiceName)
	},
		func(i *awsecs.CreateServiceInput) bool { return hasToken(i.ClientToken) }),
	"ecs:UpdateService": newRow(func(i *awsecs.UpdateServiceInput) string { return serviceName(i.Cluster, i.Service) },
		func(i *awsecs.UpdateServiceInput) bool { return !i.ForceNewDeployment }),
	"ecs:DeleteService": newRow(func(i *awsecs.DeleteServiceInput) string { return serviceName(i.Cluster, i.Service) },
		nil),
	"ecs:CreateTaskSet": newRow(func(i *awsecs.CreateTaskSetInput) string { return serviceName(i.Cluster, i.Service) },
		func(i *awsecs.CreateTaskSetInput) bool { return hasToken(i.ClientToken) }),
	"ecs:UpdateTaskSet": newRow(func(i *awsecs.UpdateTaskSetInput) string { return taskSetID(i.TaskSet) },
		alwaysRepeat),
	"ecs:DeleteTaskSet": newRow(func(i *awsecs.DeleteTaskSetInput) string { return taskSetID(i.TaskSet) },
		alwaysRepeat),
	"ecs:UpdateServicePrimaryTaskSet": newRow(
		func(i *awsecs.UpdateServicePrimaryTaskSetInput) string { return taskSetID(i.PrimaryTaskSet) },
		alwaysRepeat),
	"ecs:RegisterTaskDefinition": newRow(
		func(i *awsecs.RegisterTaskDefinitionInput) string { return aws.ToString(i.Family) }, nil),
	"ecs:DeregisterTaskDefinition": newRow(
		func(i *awsecs.DeregisterTaskDefinitionInput) string { return lastPart(i.TaskDefinition) }, alwaysRepeat),
	"ecs:DeleteTaskDefinitions": newRow(func(i *awsecs.DeleteTaskDefinitionsInput) string {
		var names []string
		for _, arn := range i.TaskDefinitions {
			names = append(names, lastPart(&arn))
		}
		return strings.Join(names, ",")
	}, alwaysRepeat),
	"ecs:RunTask": newRow(func(i *awsecs.RunTaskInput) string {
		return inCluster(i.Cluster,
			lastPart(i.TaskDefinition))
	},
		func(i *awsecs.RunTaskInput) bool { return hasToken(i.ClientToken) }),
	"ecs:StopTask": newRow(func(i *awsecs.StopTaskInput) string {
		return inCluster(i.Cluster,
			lastPart(i.Task))
	}, alwaysRepeat),
	"ecs:ExecuteCommand": newRow(func(i *awsecs.ExecuteCommandInput) string {
		return inCluster(i.Cluster,
			lastPart(i.Task))
	}, nil),
	"ssm:StartSession": newRow(func(i *namedCall) string { return i.resource }, nil),
	"ecs:StopServiceDeployment": newRow(
		func(i *awsecs.StopServiceDeploymentInput) string { return aws.ToString(i.ServiceDeploymentArn) }, nil),
	"ecs:ContinueServiceDeployment": newRow(
		func(i *awsecs.ContinueServiceDeploymentInput) string { return aws.ToString(i.ServiceDeploymentArn) }, nil),
	"ecs:TagResource": newRow(
		func(i *awsecs.TagResourceInput) string { return aws.ToString(i.ResourceArn) }, alwaysRepeat),
	"ecs:UntagResource": newRow(
		func(i *awsecs.UntagResourceInput) string { return aws.ToString(i.ResourceArn) }, alwaysRepeat),

	"elasticloadbalancing:ModifyRule": newRow(
		func(i *awselb.ModifyRuleInput) string { return aws.ToString(i.RuleArn) }, alwaysRepeat),
	"elasticloadbalancing:ModifyListener": newRow(
		func(i *awselb.ModifyListenerInput) string { return aws.ToString(i.ListenerArn) }, alwaysRepeat),
	"elasticloadbalancing:CreateRule": newRow(
		func(i *awselb.CreateRuleInput) string { return aws.ToString(i.ListenerArn) }, nil),
	"elasticloadbalancing:DeleteRule": newRow(
		func(i *awselb.DeleteRuleInput) string { return aws.ToString(i.RuleArn) }, alwaysRepeat),
	"elasticloadbalancing:RegisterTargets": newRow(
		func(i *awselb.RegisterTargetsInput) string { return aws.ToString(i.TargetGroupArn) },
		alwaysRepeat),
	"elasticloadbalancing:DeregisterTargets": newRow(
		func(i *awselb.DeregisterTargetsInput) string { return aws.ToString(i.TargetGroupArn) },
		alwaysRepeat),
	"elasticloadbalancing:ModifyTargetGroupAttributes": newRow(func(i *awselb.ModifyTargetGroupAttributesInput) string {
		return aws.ToString(i.TargetGroupArn)
	}, alwaysRepeat),
	"elasticloadbalancing:AddTags": newRow(func(i *awselb.AddTagsInput) string {
		return strings.Join(i.ResourceArns,
			",")
	}, alwaysRepeat),
	"elasticloadbalancing:RemoveTags": newRow(
		func(i *awselb.RemoveTagsInput) string { return strings.Join(i.ResourceArns, ",") }, alwaysRepeat),

	"servicediscovery:RegisterInstance": newRow(
		func(i *awssd.RegisterInstanceInput) string { return instanceName(i.ServiceId, i.InstanceId) }, alwaysRepeat),
	"servicediscovery:DeregisterInstance": newRow(
		func(i *awssd.DeregisterInstanceInput) string { return instanceName(i.ServiceId, i.InstanceId) }, alwaysRepeat),
	"servicediscovery:UpdateInstanceCustomHealthStatus": newRow(
		func(i *awssd.UpdateInstanceCustomHealthStatusInput) string {
			return instanceName(i.ServiceId, i.InstanceId)
		}, alwaysRepeat),

	"application-autoscaling:RegisterScalableTarget": newRow(
		func(i *applicationautoscaling.RegisterScalableTargetInput) string {
			return aws.ToString(i.ResourceId)
		}, alwaysRepeat),

	"logs:CreateLogStream": newRow(
		func(i *awslogs.CreateLogStreamInput) string {
			return logName(i.LogGroupName, nil, aws.ToString(i.LogStreamName))
		}, alwaysRepeat),
	"logs:PutLogEvents": newRow(
		func(i *awslogs.PutLogEventsInput) string {
			return logName(i.LogGroupName, nil, aws.ToString(i.LogStreamName))
		}, nil),

	"codedeploy:CreateDeployment": newRow(func(i *awscd.CreateDeploymentInput) string {
		return groupName(i.ApplicationName, i.DeploymentGroupName)
	}, nil),
	"codedeploy:StopDeployment": newRow(
		func(i *awscd.StopDeploymentInput) string { return aws.ToString(i.DeploymentId) }, alwaysRepeat),
	"codedeploy:ContinueDeployment": newRow(
		func(i *awscd.ContinueDeploymentInput) string { return aws.ToString(i.DeploymentId) }, nil),
}

// Writes returns all operations that the gate can permit, sorted: "ecs:CreateTaskSet".
func Writes() []string { return slices.Sorted(maps.Keys(writeTable)) }

// readResource returns the resource of the most frequent reads. It is used in their errors only.
func readResource(input any) string {
	switch i := input.(type) {
	case *namedCall:
		return i.resource
	case *awsecs.DescribeServicesInput:
		return inCluster(i.Cluster, shortNames(i.Services))
	case *awsecs.DescribeTaskSetsInput:
		return serviceName(i.Cluster, i.Service)
	case *awsecs.DescribeTasksInput:
		return inCluster(i.Cluster, shortNames(i.Tasks))
	case *awsecs.ListTasksInput:
		return serviceName(i.Cluster, i.ServiceName)
	case *awsecs.DescribeTaskDefinitionInput:
		return lastPart(i.TaskDefinition)
	case *awsecs.DescribeClustersInput:
		return shortNames(i.Clusters)
	case *awselb.DescribeTargetHealthInput:
		return aws.ToString(i.TargetGroupArn)
	case *awselb.DescribeTargetGroupsInput:
		return joinFew(append(slices.Clone(i.TargetGroupArns), i.Names...))
	case *awselb.DescribeRulesInput:
		return cmp.Or(aws.ToString(i.ListenerArn), joinFew(i.RuleArns))
	case *awselb.DescribeListenersInput:
		return cmp.Or(aws.ToString(i.LoadBalancerArn), joinFew(i.ListenerArns))
	case *awscw.DescribeAlarmsInput:
		return cmp.Or(joinFew(i.AlarmNames), aws.ToString(i.AlarmNamePrefix))
	case *awslogs.GetLogEventsInput:
		return logName(i.LogGroupName, i.LogGroupIdentifier, aws.ToString(i.LogStreamName))
	case *awslogs.FilterLogEventsInput:
		return logName(i.LogGroupName, i.LogGroupIdentifier, joinFew(i.LogStreamNames))
	case *awslogs.DescribeLogStreamsInput:
		return logName(i.LogGroupName, i.LogGroupIdentifier, "")
	case *awsiam.SimulatePrincipalPolicyInput:
		return aws.ToString(i.PolicySourceArn)
	case *awscd.GetDeploymentInput:
		return aws.ToString(i.DeploymentId)
	case *awscd.BatchGetDeploymentsInput:
		return joinFew(i.DeploymentIds)
	case *awscd.BatchGetDeploymentTargetsInput:
		return aws.ToString(i.DeploymentId)
	case *awscd.ListDeploymentsInput:
		return groupName(i.ApplicationName, i.DeploymentGroupName)
	}
	return ""
}

// groupName returns "<application>/<deployment group>".
func groupName(application, group *string) string {
	if aws.ToString(application) == "" || aws.ToString(group) == "" {
		return ""
	}
	return *application + "/" + *group
}

// logName returns "<log group> <streams>".
func logName(name, identifier *string, streams string) string {
	return strings.TrimSpace(cmp.Or(aws.ToString(name), aws.ToString(identifier)) + " " + streams)
}

func serviceName(cluster, name *string) string { return inCluster(cluster, lastPart(name)) }

func instanceName(serviceID, instanceID *string) string {
	if aws.ToString(serviceID) == "" || aws.ToString(instanceID) == "" {
		return ""
	}
	return lastPart(serviceID) + "/" + aws.ToString(instanceID)
}

// inCluster puts name under its cluster. An empty name stays empty.
func inCluster(cluster *string, name string) string {
	if name == "" {
		return ""
	}
	c := lastPart(cluster)
	if c == "" {
		c = "default"
	}
	return c + "/" + name
}

// lastPart returns the name at the end of an ARN, or the name itself.
func lastPart(arnOrName *string) string {
	s := aws.ToString(arnOrName)
	return s[strings.LastIndexByte(s, '/')+1:]
}

// taskSetID returns "ecs-svc/N": the last two parts of a task set's ARN, or its id.
func taskSetID(arnOrID *string) string {
	parts := strings.Split(aws.ToString(arnOrID), "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

func shortNames(arnsOrNames []string) string {
	short := make([]string, 0, len(arnsOrNames))
	for _, a := range arnsOrNames {
		short = append(short, lastPart(&a))
	}
	return joinFew(short)
}

// joinFew keeps an error readable when a batch has a hundred names.
func joinFew(all []string) string {
	if len(all) > 3 {
		return strings.Join(all[:3], ", ") + ", …"
	}
	return strings.Join(all, ", ")
}
