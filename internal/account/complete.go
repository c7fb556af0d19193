package account

import (
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
var errIncomplete = errors.New("the answer is incomplete")

// missingField returns the name of a field that AWS always sends and the response lacks; "" if the
// response is complete. isAWS means that the response has a request id.
type lacks func(in, out any, isAWS bool) string

// checkComplete returns an error if AWS would never send that response.
func incomplete(operation string, in, out any, meta middleware.Metadata) error {
	lacks, ok := answers[operation]
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
func has[O any](member string, there func(*O) bool) lacks {
	return func(_, out any, _ bool) string {
		if o, ok := out.(*O); ok && o != nil && there(o) {
			return ""
		}
		return member
	}
}

// listsField makes a row for responses that always have a list. AWS may omit an empty list, so a
// request id is enough.
func lists[O any](member string, there func(*O) bool) lacks {
	row := has(member, there)
	return func(in, out any, isAWS bool) string {
		if isAWS {
			return ""
		}
		return row(in, out, isAWS)
	}
}

// eachRequested makes a row for responses that have an entry for each requested resource: the
// resource, or why there is none.
func eachAsked[I, O any](member string, asked func(*I) int, told func(*O) int) lacks {
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
func bare(_, _ any, isAWS bool) string {
	if isAWS {
		return ""
	}
	return "request id"
}

// requiredFields lists what AWS always sends, by operation, for all operations that sluice calls.
// It never changes at run time. Source: the "required" members and examples of each API reference;
// without them, a request id.
var answers = map[string]lacks{
	"ecs:DescribeServices": eachAsked("services or failures", func(i *awsecs.DescribeServicesInput) int { return len(i.Services) },
		func(o *awsecs.DescribeServicesOutput) int { return len(o.Services) + len(o.Failures) }),
	"ecs:DescribeTasks": eachAsked("tasks or failures", func(i *awsecs.DescribeTasksInput) int { return len(i.Tasks) },
		func(o *awsecs.DescribeTasksOutput) int { return len(o.Tasks) + len(o.Failures) }),
	"ecs:DescribeServiceRevisions": eachAsked("serviceRevisions or failures", func(i *awsecs.DescribeServiceRevisionsInput) int { return len(i.ServiceRevisionArns) },
		func(o *awsecs.DescribeServiceRevisionsOutput) int { return len(o.ServiceRevisions) + len(o.Failures) }),
	"ecs:DescribeServiceDeployments": eachAsked("serviceDeployments or failures", func(i *awsecs.DescribeServiceDeploymentsInput) int { return len(i.ServiceDeploymentArns) },
		func(o *awsecs.DescribeServiceDeploymentsOutput) int {
			return len(o.ServiceDeployments) + len(o.Failures)
		}),
	"ecs:DescribeTaskSets":       lists("taskSets", func(o *awsecs.DescribeTaskSetsOutput) bool { return o.TaskSets != nil }),
	"ecs:DescribeTaskDefinition": has("taskDefinition", func(o *awsecs.DescribeTaskDefinitionOutput) bool { return o.TaskDefinition != nil }),
	"ecs:DescribeClusters": eachAsked("clusters or failures", func(i *awsecs.DescribeClustersInput) int { return max(1, len(i.Clusters)) },
		func(o *awsecs.DescribeClustersOutput) int { return len(o.Clusters) + len(o.Failures) }),
	"ecs:ListClusters":           lists("clusterArns", func(o *awsecs.ListClustersOutput) bool { return o.ClusterArns != nil }),
	"ecs:ListServices":           lists("serviceArns", func(o *awsecs.ListServicesOutput) bool { return o.ServiceArns != nil }),
	"ecs:ListServiceDeployments": lists("serviceDeployments", func(o *awsecs.ListServiceDeploymentsOutput) bool { return o.ServiceDeployments != nil }),
	"ecs:ListTaskDefinitions":    lists("taskDefinitionArns", func(o *awsecs.ListTaskDefinitionsOutput) bool { return o.TaskDefinitionArns != nil }),
	"ecs:ListTasks":              lists("taskArns", func(o *awsecs.ListTasksOutput) bool { return o.TaskArns != nil }),

	"ecs:CreateService": has("service", func(o *awsecs.CreateServiceOutput) bool {
		return o.Service != nil && aws.ToString(o.Service.ServiceArn) != ""
	}),
	"ecs:UpdateService": has("service", func(o *awsecs.UpdateServiceOutput) bool {
		return o.Service != nil && aws.ToString(o.Service.ServiceArn) != ""
	}),
	"ecs:DeleteService": has("service", func(o *awsecs.DeleteServiceOutput) bool { return o.Service != nil }),
	"ecs:CreateTaskSet": has("taskSet", func(o *awsecs.CreateTaskSetOutput) bool { return o.TaskSet != nil && aws.ToString(o.TaskSet.Id) != "" }),
	"ecs:UpdateTaskSet": has("taskSet", func(o *awsecs.UpdateTaskSetOutput) bool { return o.TaskSet != nil }),
	"ecs:DeleteTaskSet": has("taskSet", func(o *awsecs.DeleteTaskSetOutput) bool { return o.TaskSet != nil }),
	"ecs:UpdateServicePrimaryTaskSet": has("taskSet", func(o *awsecs.UpdateServicePrimaryTaskSetOutput) bool {
		return o.TaskSet != nil
	}),
	"ecs:RegisterTaskDefinition": has("taskDefinition", func(o *awsecs.RegisterTaskDefinitionOutput) bool {
		return o.TaskDefinition != nil && aws.ToString(o.TaskDefinition.TaskDefinitionArn) != ""
	}),
	"ecs:DeregisterTaskDefinition": has("taskDefinition", func(o *awsecs.DeregisterTaskDefinitionOutput) bool { return o.TaskDefinition != nil }),
	"ecs:RunTask":                  has("tasks or failures", func(o *awsecs.RunTaskOutput) bool { return o.Tasks != nil || o.Failures != nil }),
	"ecs:StopTask":                 has("task", func(o *awsecs.StopTaskOutput) bool { return o.Task != nil }),
	"ecs:StopServiceDeployment":    has("serviceDeploymentArn", func(o *awsecs.StopServiceDeploymentOutput) bool { return aws.ToString(o.ServiceDeploymentArn) != "" }),
	"ecs:ContinueServiceDeployment": has("serviceDeploymentArn", func(o *awsecs.ContinueServiceDeploymentOutput) bool {
		return aws.ToString(o.ServiceDeploymentArn) != ""
	}),
	"ecs:TagResource":   bare,
	"ecs:UntagResource": bare,

	"elasticloadbalancing:DescribeListeners":     lists("Listeners", func(o *awselb.DescribeListenersOutput) bool { return o.Listeners != nil }),
	"elasticloadbalancing:DescribeLoadBalancers": lists("LoadBalancers", func(o *awselb.DescribeLoadBalancersOutput) bool { return o.LoadBalancers != nil }),
	"elasticloadbalancing:DescribeRules":         has("Rules", func(o *awselb.DescribeRulesOutput) bool { return len(o.Rules) > 0 }),
	"elasticloadbalancing:DescribeTargetGroups":  lists("TargetGroups", func(o *awselb.DescribeTargetGroupsOutput) bool { return o.TargetGroups != nil }),
	"elasticloadbalancing:DescribeTargetGroupAttributes": has("Attributes", func(o *awselb.DescribeTargetGroupAttributesOutput) bool {
		return len(o.Attributes) > 0
	}),
	"elasticloadbalancing:DescribeTargetHealth": lists("TargetHealthDescriptions", func(o *awselb.DescribeTargetHealthOutput) bool { return o.TargetHealthDescriptions != nil }),
	"elasticloadbalancing:ModifyRule":           has("Rules", func(o *awselb.ModifyRuleOutput) bool { return len(o.Rules) > 0 }),
	"elasticloadbalancing:ModifyListener":       has("Listeners", func(o *awselb.ModifyListenerOutput) bool { return len(o.Listeners) > 0 }),
	"elasticloadbalancing:CreateRule":           has("Rules", func(o *awselb.CreateRuleOutput) bool { return len(o.Rules) > 0 }),
	"elasticloadbalancing:DeleteRule":           bare,
	"elasticloadbalancing:RegisterTargets":      bare,
	"elasticloadbalancing:DeregisterTargets":    bare,
	"elasticloadbalancing:ModifyTargetGroupAttributes": has("Attributes", func(o *awselb.ModifyTargetGroupAttributesOutput) bool {
		return len(o.Attributes) > 0
	}),
	"elasticloadbalancing:AddTags":    bare,
	"elasticloadbalancing:RemoveTags": bare,

	"servicediscovery:DiscoverInstances":                lists("Instances", func(o *awssd.DiscoverInstancesOutput) bool { return o.Instances != nil }),
	"servicediscovery:GetInstancesHealthStatus":         lists("Status", func(o *awssd.GetInstancesHealthStatusOutput) bool { return o.Status != nil }),
	"servicediscovery:GetNamespace":                     has("Namespace", func(o *awssd.GetNamespaceOutput) bool { return o.Namespace != nil }),
	"servicediscovery:GetOperation":                     has("Operation", func(o *awssd.GetOperationOutput) bool { return o.Operation != nil }),
	"servicediscovery:GetService":                       has("Service", func(o *awssd.GetServiceOutput) bool { return o.Service != nil }),
	"servicediscovery:ListInstances":                    lists("Instances", func(o *awssd.ListInstancesOutput) bool { return o.Instances != nil }),
	"servicediscovery:RegisterInstance":                 has("OperationId", func(o *awssd.RegisterInstanceOutput) bool { return aws.ToString(o.OperationId) != "" }),
	"servicediscovery:DeregisterInstance":               has("OperationId", func(o *awssd.DeregisterInstanceOutput) bool { return aws.ToString(o.OperationId) != "" }),
	"servicediscovery:UpdateInstanceCustomHealthStatus": bare,

	"application-autoscaling:DescribeScalableTargets": lists("ScalableTargets", func(o *applicationautoscaling.DescribeScalableTargetsOutput) bool {
		return o.ScalableTargets != nil
	}),
	"application-autoscaling:RegisterScalableTarget": bare,

	"codedeploy:BatchGetApplications":     lists("applicationsInfo", func(o *awscd.BatchGetApplicationsOutput) bool { return o.ApplicationsInfo != nil }),
	"codedeploy:BatchGetDeploymentGroups": lists("deploymentGroupsInfo", func(o *awscd.BatchGetDeploymentGroupsOutput) bool { return o.DeploymentGroupsInfo != nil }),
	"codedeploy:BatchGetDeploymentTargets": lists("deploymentTargets", func(o *awscd.BatchGetDeploymentTargetsOutput) bool {
		return o.DeploymentTargets != nil
	}),
	"codedeploy:BatchGetDeployments":    lists("deploymentsInfo", func(o *awscd.BatchGetDeploymentsOutput) bool { return o.DeploymentsInfo != nil }),
	"codedeploy:GetApplicationRevision": has("revision", func(o *awscd.GetApplicationRevisionOutput) bool { return o.Revision != nil }),
	"codedeploy:GetDeployment":          has("deploymentInfo", func(o *awscd.GetDeploymentOutput) bool { return o.DeploymentInfo != nil }),
	"codedeploy:ListApplications":       lists("applications", func(o *awscd.ListApplicationsOutput) bool { return o.Applications != nil }),
	"codedeploy:ListDeploymentGroups":   lists("deploymentGroups", func(o *awscd.ListDeploymentGroupsOutput) bool { return o.DeploymentGroups != nil }),
	"codedeploy:ListDeploymentTargets":  lists("targetIds", func(o *awscd.ListDeploymentTargetsOutput) bool { return o.TargetIds != nil }),
	"codedeploy:ListDeployments":        lists("deployments", func(o *awscd.ListDeploymentsOutput) bool { return o.Deployments != nil }),
	"codedeploy:CreateDeployment":       has("deploymentId", func(o *awscd.CreateDeploymentOutput) bool { return aws.ToString(o.DeploymentId) != "" }),
	"codedeploy:StopDeployment":         has("status", func(o *awscd.StopDeploymentOutput) bool { return o.Status != "" }),
	"codedeploy:ContinueDeployment":     bare,

	"cloudwatch:DescribeAlarms":      lists("MetricAlarms", func(o *awscw.DescribeAlarmsOutput) bool { return o.MetricAlarms != nil }),
	"cloudwatch:GetMetricStatistics": lists("Datapoints", func(o *awscw.GetMetricStatisticsOutput) bool { return o.Datapoints != nil }),
	"logs:GetLogEvents":              lists("events", func(o *awslogs.GetLogEventsOutput) bool { return o.Events != nil }),
	"logs:FilterLogEvents":           lists("events", func(o *awslogs.FilterLogEventsOutput) bool { return o.Events != nil }),

	"iam:GetRole": has("Role", func(o *awsiam.GetRoleOutput) bool { return o.Role != nil && aws.ToString(o.Role.Arn) != "" }),
	"iam:SimulatePrincipalPolicy": has("EvaluationResults", func(o *awsiam.SimulatePrincipalPolicyOutput) bool {
		return len(o.EvaluationResults) > 0
	}),

	"sts:GetCallerIdentity":         has("Account", func(o *awssts.GetCallerIdentityOutput) bool { return aws.ToString(o.Account) != "" }),
	"sts:AssumeRole":                has("Credentials", func(o *awssts.AssumeRoleOutput) bool { return o.Credentials != nil }),
	"sts:AssumeRoleWithWebIdentity": has("Credentials", func(o *awssts.AssumeRoleWithWebIdentityOutput) bool { return o.Credentials != nil }),
}
