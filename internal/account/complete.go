package account

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
)

// errIncomplete is in the error tree of a response without a field that AWS always sends. Such a
// response is not AWS's: a proxy sends an empty body, or {}.
var errIncomplete = errors.New("the response is incomplete")

// missingField returns the name of a field that AWS always sends and the response lacks; "" if the
// response is complete. isAWS means that the response has a request id.
type missingField func(in, out any, isAWS bool) string

// checkComplete returns an error if AWS would never send that response.
func checkComplete(operation string, in, out any, meta middleware.Metadata) error {
	lacks, ok := requiredFields[operation]
	if !ok {
		return nil
	}
	_, isAWS := awsmiddleware.GetRequestIDMetadata(meta)
	if member := lacks(in, out, isAWS); member != "" {
		return fmt.Errorf("%w: it has no %s, which AWS always sends", errIncomplete, member)
	}
	return nil
}

// hasField makes a row for responses that always have a field.
func hasField[O any](member string, there func(*O) bool) missingField {
	return func(_, out any, _ bool) string {
		if o, ok := out.(*O); ok && o != nil && there(o) {
			return ""
		}
		return member
	}
}

// hasMember makes a row for responses of SendWrite that always have a member of JSON.
func hasMember(member string) missingField {
	return func(_, out any, _ bool) string {
		body, _ := out.([]byte)
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) == nil && members[member] != nil {
			return ""
		}
		return member
	}
}

// listsField makes a row for responses that always have a list. AWS may omit an empty list, so a
// request id is enough.
func listsField[O any](member string, there func(*O) bool) missingField {
	row := hasField(member, there)
	return func(in, out any, isAWS bool) string {
		if isAWS {
			return ""
		}
		return row(in, out, isAWS)
	}
}

// eachRequested makes a row for responses that have an entry for each requested resource: the
// resource, or why there is none.
func eachRequested[I, O any](member string, asked func(*I) int, told func(*O) int) missingField {
	return func(in, out any, _ bool) string {
		i, ok := in.(*I)
		o, ok2 := out.(*O)
		if ok && ok2 && o != nil && told(o) >= asked(i) {
			return ""
		}
		return member
	}
}

// noFields is the row of an operation whose response has no fields. Only its request id shows that
// AWS sent it.
func noFields(_, _ any, isAWS bool) string {
	if isAWS {
		return ""
	}
	return "request id"
}

// requiredFields lists what AWS always sends, by operation, for all operations that sluice calls.
// It never changes at run time. Source: the "required" members and examples of each API reference;
// without them, a request id.
var requiredFields = map[string]missingField{
	"ssm:StartSession": hasMember("SessionId"),
	"ecs:DescribeServices": eachRequested("services or failures",
		func(i *awsecs.DescribeServicesInput) int { return len(i.Services) },
		func(o *awsecs.DescribeServicesOutput) int { return len(o.Services) + len(o.Failures) }),
	"ecs:DescribeTasks": eachRequested("tasks or failures",
		func(i *awsecs.DescribeTasksInput) int { return len(i.Tasks) },
		func(o *awsecs.DescribeTasksOutput) int { return len(o.Tasks) + len(o.Failures) }),
	"ecs:DescribeServiceRevisions": eachRequested("serviceRevisions or failures",
		func(i *awsecs.DescribeServiceRevisionsInput) int { return len(i.ServiceRevisionArns) },
		func(o *awsecs.DescribeServiceRevisionsOutput) int { return len(o.ServiceRevisions) + len(o.Failures) }),
	"ecs:DescribeServiceDeployments": eachRequested("serviceDeployments or failures",
		func(i *awsecs.DescribeServiceDeploymentsInput) int { return len(i.ServiceDeploymentArns) },
		func(o *awsecs.DescribeServiceDeploymentsOutput) int {
			return len(o.ServiceDeployments) + len(o.Failures)
		}),
	"ecs:DescribeTaskSets": listsField("taskSets",
		func(o *awsecs.DescribeTaskSetsOutput) bool { return o.TaskSets != nil }),
	"ecs:DescribeTaskDefinition": hasField("taskDefinition",
		func(o *awsecs.DescribeTaskDefinitionOutput) bool { return o.TaskDefinition != nil }),
	"ecs:DescribeClusters": eachRequested("clusters or failures",
		func(i *awsecs.DescribeClustersInput) int { return max(1, len(i.Clusters)) },
		func(o *awsecs.DescribeClustersOutput) int { return len(o.Clusters) + len(o.Failures) }),
	"ecs:ListClusters": listsField("clusterArns",
		func(o *awsecs.ListClustersOutput) bool { return o.ClusterArns != nil }),
	"ecs:ListServices": listsField("serviceArns",
		func(o *awsecs.ListServicesOutput) bool { return o.ServiceArns != nil }),
	"ecs:ListServiceDeployments": listsField("serviceDeployments",
		func(o *awsecs.ListServiceDeploymentsOutput) bool { return o.ServiceDeployments != nil }),
	"ecs:ListTaskDefinitions": listsField("taskDefinitionArns",
		func(o *awsecs.ListTaskDefinitionsOutput) bool { return o.TaskDefinitionArns != nil }),
	"ecs:ListTasks": listsField("taskArns",
		func(o *awsecs.ListTasksOutput) bool { return o.TaskArns != nil }),

	"ecs:CreateService": hasField("service", func(o *awsecs.CreateServiceOutput) bool {
		return o.Service != nil && aws.ToString(o.Service.ServiceArn) != ""
	}),
	"ecs:UpdateService": hasField("service", func(o *awsecs.UpdateServiceOutput) bool {
		return o.Service != nil && aws.ToString(o.Service.ServiceArn) != ""
	}),
	"ecs:DeleteService": hasField("service", func(o *awsecs.DeleteServiceOutput) bool { return o.Service != nil }),
	"ecs:CreateTaskSet": hasField("taskSet", func(o *awsecs.CreateTaskSetOutput) bool {
		return o.TaskSet != nil &&
			aws.ToString(o.TaskSet.Id) != ""
	}),
	"ecs:UpdateTaskSet": hasField("taskSet", func(o *awsecs.UpdateTaskSetOutput) bool { return o.TaskSet != nil }),
	"ecs:DeleteTaskSet": hasField("taskSet", func(o *awsecs.DeleteTaskSetOutput) bool { return o.TaskSet != nil }),
	"ecs:UpdateServicePrimaryTaskSet": hasField("taskSet", func(o *awsecs.UpdateServicePrimaryTaskSetOutput) bool {
		return o.TaskSet != nil
	}),
	"ecs:RegisterTaskDefinition": hasField("taskDefinition", func(o *awsecs.RegisterTaskDefinitionOutput) bool {
		return o.TaskDefinition != nil && aws.ToString(o.TaskDefinition.TaskDefinitionArn) != ""
	}),
	"ecs:DeregisterTaskDefinition": hasField("taskDefinition",
		func(o *awsecs.DeregisterTaskDefinitionOutput) bool { return o.TaskDefinition != nil }),
	"ecs:DeleteTaskDefinitions": hasField("taskDefinitions or failures",
		func(o *awsecs.DeleteTaskDefinitionsOutput) bool { return o.TaskDefinitions != nil || o.Failures != nil }),
	"ecs:RunTask": hasField("tasks or failures",
		func(o *awsecs.RunTaskOutput) bool { return o.Tasks != nil || o.Failures != nil }),
	"ecs:ExecuteCommand": hasField("session", func(o *awsecs.ExecuteCommandOutput) bool { return o.Session != nil }),
	"ecs:StopTask":       hasField("task", func(o *awsecs.StopTaskOutput) bool { return o.Task != nil }),
	"ecs:StopServiceDeployment": hasField("serviceDeploymentArn",
		func(o *awsecs.StopServiceDeploymentOutput) bool { return aws.ToString(o.ServiceDeploymentArn) != "" }),
	"ecs:ContinueServiceDeployment": hasField("serviceDeploymentArn",
		func(o *awsecs.ContinueServiceDeploymentOutput) bool {
			return aws.ToString(o.ServiceDeploymentArn) != ""
		}),
	"ecs:TagResource":   noFields,
	"ecs:UntagResource": noFields,

	"elasticloadbalancing:DescribeListeners": listsField("Listeners",
		func(o *awselb.DescribeListenersOutput) bool { return o.Listeners != nil }),
	"elasticloadbalancing:DescribeLoadBalancers": listsField("LoadBalancers",
		func(o *awselb.DescribeLoadBalancersOutput) bool { return o.LoadBalancers != nil }),
	"elasticloadbalancing:DescribeRules": hasField("Rules",
		func(o *awselb.DescribeRulesOutput) bool { return len(o.Rules) > 0 }),
	"elasticloadbalancing:DescribeTargetGroups": listsField("TargetGroups",
		func(o *awselb.DescribeTargetGroupsOutput) bool { return o.TargetGroups != nil }),
	"elasticloadbalancing:DescribeTargetGroupAttributes": hasField("Attributes",
		func(o *awselb.DescribeTargetGroupAttributesOutput) bool {
			return len(o.Attributes) > 0
		}),
	"elasticloadbalancing:DescribeTargetHealth": listsField("TargetHealthDescriptions",
		func(o *awselb.DescribeTargetHealthOutput) bool { return o.TargetHealthDescriptions != nil }),
	"elasticloadbalancing:ModifyRule": hasField("Rules",
		func(o *awselb.ModifyRuleOutput) bool { return len(o.Rules) > 0 }),
	"elasticloadbalancing:ModifyListener": hasField("Listeners",
		func(o *awselb.ModifyListenerOutput) bool { return len(o.Listeners) > 0 }),
	"elasticloadbalancing:CreateRule": hasField("Rules",
		func(o *awselb.CreateRuleOutput) bool { return len(o.Rules) > 0 }),
	"elasticloadbalancing:DeleteRule":        noFields,
	"elasticloadbalancing:RegisterTargets":   noFields,
	"elasticloadbalancing:DeregisterTargets": noFields,
	"elasticloadbalancing:ModifyTargetGroupAttributes": hasField("Attributes",
		func(o *awselb.ModifyTargetGroupAttributesOutput) bool {
			return len(o.Attributes) > 0
		}),
	"elasticloadbalancing:AddTags":    noFields,
	"elasticloadbalancing:RemoveTags": noFields,

	"servicediscovery:DiscoverInstances": listsField("Instances",
		func(o *awssd.DiscoverInstancesOutput) bool { return o.Instances != nil }),
	"servicediscovery:GetInstancesHealthStatus": listsField("Status",
		func(o *awssd.GetInstancesHealthStatusOutput) bool { return o.Status != nil }),
	"servicediscovery:GetNamespace": hasField("Namespace",
		func(o *awssd.GetNamespaceOutput) bool { return o.Namespace != nil }),
	"servicediscovery:GetOperation": hasField("Operation",
		func(o *awssd.GetOperationOutput) bool { return o.Operation != nil }),
	"servicediscovery:GetService": hasField("Service",
		func(o *awssd.GetServiceOutput) bool { return o.Service != nil }),
	"servicediscovery:ListInstances": listsField("Instances",
		func(o *awssd.ListInstancesOutput) bool { return o.Instances != nil }),
	"servicediscovery:RegisterInstance": hasField("OperationId",
		func(o *awssd.RegisterInstanceOutput) bool { return aws.ToString(o.OperationId) != "" }),
	"servicediscovery:DeregisterInstance": hasField("OperationId",
		func(o *awssd.DeregisterInstanceOutput) bool { return aws.ToString(o.OperationId) != "" }),
	"servicediscovery:UpdateInstanceCustomHealthStatus": noFields,

	"application-autoscaling:DescribeScalableTargets": listsField("ScalableTargets",
		func(o *applicationautoscaling.DescribeScalableTargetsOutput) bool {
			return o.ScalableTargets != nil
		}),
	"application-autoscaling:RegisterScalableTarget": noFields,

	"codedeploy:BatchGetApplications": listsField("applicationsInfo",
		func(o *awscd.BatchGetApplicationsOutput) bool { return o.ApplicationsInfo != nil }),
	"codedeploy:BatchGetDeploymentGroups": listsField("deploymentGroupsInfo",
		func(o *awscd.BatchGetDeploymentGroupsOutput) bool { return o.DeploymentGroupsInfo != nil }),
	"codedeploy:BatchGetDeploymentTargets": listsField("deploymentTargets",
		func(o *awscd.BatchGetDeploymentTargetsOutput) bool {
			return o.DeploymentTargets != nil
		}),
	"codedeploy:BatchGetDeployments": listsField("deploymentsInfo",
		func(o *awscd.BatchGetDeploymentsOutput) bool { return o.DeploymentsInfo != nil }),
	"codedeploy:GetApplicationRevision": hasField("revision",
		func(o *awscd.GetApplicationRevisionOutput) bool { return o.Revision != nil }),
	"codedeploy:GetDeployment": hasField("deploymentInfo",
		func(o *awscd.GetDeploymentOutput) bool { return o.DeploymentInfo != nil }),
	"codedeploy:GetDeploymentConfig": hasField("deploymentConfigInfo",
		func(o *awscd.GetDeploymentConfigOutput) bool { return o.DeploymentConfigInfo != nil }),
	"codedeploy:ListDeploymentConfigs": listsField("deploymentConfigsList",
		func(o *awscd.ListDeploymentConfigsOutput) bool { return o.DeploymentConfigsList != nil }),
	"codedeploy:ListApplications": listsField("applications",
		func(o *awscd.ListApplicationsOutput) bool { return o.Applications != nil }),
	"codedeploy:ListDeploymentGroups": listsField("deploymentGroups",
		func(o *awscd.ListDeploymentGroupsOutput) bool { return o.DeploymentGroups != nil }),
	"codedeploy:ListDeploymentTargets": listsField("targetIds",
		func(o *awscd.ListDeploymentTargetsOutput) bool { return o.TargetIds != nil }),
	"codedeploy:ListDeployments": listsField("deployments",
		func(o *awscd.ListDeploymentsOutput) bool { return o.Deployments != nil }),
	"codedeploy:CreateDeployment": hasField("deploymentId",
		func(o *awscd.CreateDeploymentOutput) bool { return aws.ToString(o.DeploymentId) != "" }),
	"codedeploy:StopDeployment": hasField("status",
		func(o *awscd.StopDeploymentOutput) bool { return o.Status != "" }),
	"codedeploy:ContinueDeployment": noFields,

	"cloudwatch:DescribeAlarms": listsField("MetricAlarms",
		func(o *awscw.DescribeAlarmsOutput) bool { return o.MetricAlarms != nil }),
	"cloudwatch:GetMetricData": listsField("MetricDataResults",
		func(o *awscw.GetMetricDataOutput) bool { return o.MetricDataResults != nil }),
	"cloudwatch:GetMetricStatistics": listsField("Datapoints",
		func(o *awscw.GetMetricStatisticsOutput) bool { return o.Datapoints != nil }),
	"logs:CreateLogStream": noFields,
	"logs:PutLogEvents":    noFields,
	"logs:DescribeLogGroups": listsField("logGroups",
		func(o *awslogs.DescribeLogGroupsOutput) bool { return o.LogGroups != nil }),
	"logs:GetLogEvents": listsField("events",
		func(o *awslogs.GetLogEventsOutput) bool { return o.Events != nil }),
	"logs:FilterLogEvents": listsField("events",
		func(o *awslogs.FilterLogEventsOutput) bool { return o.Events != nil }),

	"iam:GetRole": hasField("Role", func(o *awsiam.GetRoleOutput) bool {
		return o.Role != nil &&
			aws.ToString(o.Role.Arn) != ""
	}),
	"iam:SimulatePrincipalPolicy": hasField("EvaluationResults", func(o *awsiam.SimulatePrincipalPolicyOutput) bool {
		return len(o.EvaluationResults) > 0
	}),

	"sts:GetCallerIdentity": hasField("Account",
		func(o *awssts.GetCallerIdentityOutput) bool { return aws.ToString(o.Account) != "" }),
	"sts:AssumeRole": hasField("Credentials",
		func(o *awssts.AssumeRoleOutput) bool { return o.Credentials != nil }),
	"sts:AssumeRoleWithWebIdentity": hasField("Credentials",
		func(o *awssts.AssumeRoleWithWebIdentityOutput) bool { return o.Credentials != nil }),
}
