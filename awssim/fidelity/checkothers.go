package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
)

func allChecks() []checked {
	all := append(ecsChecks(), balancerChecks()...)
	all = append(all, mapChecks()...)
	return append(all,
		checked{"Every RegisterScalableTarget", "", bounds},
		checked{"A resource without its dimension", "", dimensions},
		checked{"Tags of scalable targets", "", targetTags},
		checked{"A new alarm is INSUFFICIENT_DATA", "", newAlarm},
		checked{"StateUpdatedTimestamp moves", "", alarmTimes},
		checked{"DescribeAlarms by names", "", findAlarms},
		checked{"DeleteAlarms deletes none", "", deleteAlarms},
		checked{"Periods of 10, 20, 30", "", periods},
		checked{"GetLogEvents: newest events", "", readLogs},
		checked{"PutLogEvents: chronological", "", putLogs},
		checked{"DescribeLogStreams by name", "", streams},
		checked{"Groups by prefix or pattern", "", logGroups},
		checked{"Lists by pages, batches of 100", "", deployBatches},
		checked{"Predefined and custom canary and linear", "", deployConfigs},
		checked{"Tags of applications and deployment groups", "", deployTags},
		checked{"One deployment at a time per group", "", deployErrors},
	)
}

// registerTarget registers the scalable target of the program's service.
func (s *site) target(c *check, edit func(*awsaas.RegisterScalableTargetInput)) error {
	id := "service/" + s.cluster(c) + "/" + s.service(c)
	s.remove("scalable target "+id, func(ctx context.Context) error { return s.removeTarget(ctx, id) })
	in := &awsaas.RegisterScalableTargetInput{ServiceNamespace: "ecs", ResourceId: &id, ScalableDimension: "ecs:service:DesiredCount", MinCapacity: aws.Int32(0), MaxCapacity: aws.Int32(2)}
	if edit != nil {
		edit(in)
	}
	_, err := s.aas.RegisterScalableTarget(c.ctx, in)
	return err
}

func bounds(c *check) {
	c.must("register the scalable target", c.site.target(c, nil))
	c.must("register it with a suspension alone", c.site.target(c, func(in *awsaas.RegisterScalableTargetInput) {
		in.MinCapacity, in.MaxCapacity, in.SuspendedState = nil, nil, &aastypes.SuspendedState{DynamicScalingInSuspended: aws.Bool(true)}
	}))
	out, err := c.site.aas.DescribeScalableTargets(c.ctx, &awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs", ResourceIds: []string{"service/" + c.site.cluster(c) + "/" + c.site.service(c)}})
	c.must("describe the scalable target", err)
	c.same("scalable targets", len(out.ScalableTargets), 1)
	t := out.ScalableTargets[0]
	c.same("bounds that a second registration leaves out", fmt.Sprint(*t.MinCapacity, *t.MaxCapacity), "0 2")
	c.same("the suspension", aws.ToBool(t.SuspendedState.DynamicScalingInSuspended), true)
	c.refused("a minimum above the maximum", c.site.target(c, func(in *awsaas.RegisterScalableTargetInput) { in.MinCapacity = aws.Int32(3) }), "ValidationException")
}

func dimensions(c *check) {
	id := "service/" + c.site.cluster(c) + "/" + c.site.service(c)
	_, err := c.site.aas.DescribeScalingPolicies(c.ctx, &awsaas.DescribeScalingPoliciesInput{ServiceNamespace: "ecs", ResourceId: &id})
	c.must("describe policies of a resource without its dimension", err)
	_, err = c.site.aas.DescribeScalingPolicies(c.ctx, &awsaas.DescribeScalingPoliciesInput{ServiceNamespace: "ecs", ScalableDimension: "ecs:service:DesiredCount"})
	c.refused("policies of a dimension without a resource", err, "ValidationException")
}

func targetTags(c *check) {
	c.refused("a tag that begins with aws:", c.site.target(c, func(in *awsaas.RegisterScalableTargetInput) { in.Tags = map[string]string{"aws:x": "y"} }), "ValidationException")
}

// createAlarm creates the program's alarm in its initial state and returns its name.
func (s *site) alarm(c *check) string {
	name := s.prefix
	s.remove("alarm "+name, func(ctx context.Context) error { return s.removeAlarm(ctx, name) })
	_, err := s.cw.PutMetricAlarm(c.ctx, s.alarmOf(60))
	c.must("put the alarm", err)
	return name
}

func (s *site) alarmOf(period int32) *awscw.PutMetricAlarmInput {
	return &awscw.PutMetricAlarmInput{AlarmName: ptr(s.prefix), Namespace: ptr("AwssimFidelity"), MetricName: ptr("none"), Statistic: "Sum", Period: &period,
		EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1), ComparisonOperator: "GreaterThanThreshold", Tags: []cwtypes.Tag{{Key: ptr(tagKey), Value: ptr(s.prefix)}}}
}

func (c *check) alarms(in *awscw.DescribeAlarmsInput) []cwtypes.MetricAlarm {
	out, err := c.site.cw.DescribeAlarms(c.ctx, in)
	c.must("describe alarms", err)
	return out.MetricAlarms
}

func newAlarm(c *check) {
	all := c.alarms(&awscw.DescribeAlarmsInput{AlarmNames: []string{c.site.alarm(c)}})
	c.same("alarms of that name", len(all), 1)
	c.same("state of a new alarm", all[0].StateValue, "INSUFFICIENT_DATA")
	c.same("its reason", aws.ToString(all[0].StateReason), "Unchecked: Initial alarm creation")
}

func alarmTimes(c *check) {
	name := c.site.alarm(c)
	set := func() cwtypes.MetricAlarm {
		_, err := c.site.cw.SetAlarmState(c.ctx, &awscw.SetAlarmStateInput{AlarmName: &name, StateValue: "OK", StateReason: ptr("fidelity")})
		c.must("set the alarm's state", err)
		c.must("wait", c.site.wait.Sleep(c.ctx, 2*time.Second))
		return c.alarms(&awscw.DescribeAlarmsInput{AlarmNames: []string{name}})[0]
	}
	one, two := set(), set()
	c.holds("StateUpdatedTimestamp moves with the same state", two.StateUpdatedTimestamp.After(*one.StateUpdatedTimestamp), two.StateUpdatedTimestamp)
	c.same("StateTransitionedTimestamp with the same state", two.StateTransitionedTimestamp.UTC(), one.StateTransitionedTimestamp.UTC())
}

func findAlarms(c *check) {
	name := c.site.alarm(c)
	c.same("alarms of an unknown and a known name", len(c.alarms(&awscw.DescribeAlarmsInput{AlarmNames: []string{name + "-none", name}})), 1)
	c.same("alarms of the prefix", len(c.alarms(&awscw.DescribeAlarmsInput{AlarmNamePrefix: &name})), 1)
	_, err := c.site.cw.DescribeAlarms(c.ctx, &awscw.DescribeAlarmsInput{MaxRecords: aws.Int32(101)})
	c.refused("101 alarms a page", err, "ValidationError", "InvalidParameterValue")
}

func deleteAlarms(c *check) {
	name := c.site.alarm(c)
	_, err := c.site.cw.DeleteAlarms(c.ctx, &awscw.DeleteAlarmsInput{AlarmNames: []string{name, name + "-none"}})
	c.refused("delete an alarm with one that does not exist", err, "ResourceNotFound", "ResourceNotFoundException")
	c.same("alarms afterwards", len(c.alarms(&awscw.DescribeAlarmsInput{AlarmNames: []string{name}})), 1)
}

func periods(c *check) {
	for _, p := range []int32{1, 45, 90} {
		_, err := c.site.cw.PutMetricAlarm(c.ctx, c.site.alarmOf(p))
		c.refused(fmt.Sprintf("a period of %d s", p), err, "ValidationError", "InvalidParameterValue")
	}
}

// createLogGroup creates the program's log group with a stream s.
func (s *site) logGroup(c *check) string {
	name := s.prefix
	s.remove("log group "+name, func(ctx context.Context) error {
		_, err := s.logs.DeleteLogGroup(ctx, &awslogs.DeleteLogGroupInput{LogGroupName: &name})
		return err
	})
	_, err := s.logs.CreateLogGroup(c.ctx, &awslogs.CreateLogGroupInput{LogGroupName: &name, Tags: map[string]string{tagKey: name}})
	if err != nil {
		c.refused("create the log group again", err, "ResourceAlreadyExistsException")
		return name
	}
	_, err = s.logs.CreateLogStream(c.ctx, &awslogs.CreateLogStreamInput{LogGroupName: &name, LogStreamName: ptr("s")})
	c.must("create the log stream", err)
	return name
}

func (c *check) put(at ...time.Time) (*awslogs.PutLogEventsOutput, error) {
	in := &awslogs.PutLogEventsInput{LogGroupName: ptr(c.site.logGroup(c)), LogStreamName: ptr("s")}
	for i, t := range at {
		in.LogEvents = append(in.LogEvents, logstypes.InputLogEvent{Timestamp: aws.Int64(t.UnixMilli()), Message: ptr(fmt.Sprint(i))})
	}
	return c.site.logs.PutLogEvents(c.ctx, in)
}

func putLogs(c *check) {
	now := c.site.wait.Now()
	out, err := c.put(now.Add(-15*24*time.Hour), now.Add(-15*24*time.Hour+time.Minute))
	c.must("put old events", err)
	if out.RejectedLogEventsInfo == nil {
		c.same("events of 15 days ago", "accepted", "left out")
	} else {
		c.same("the end of the events that are too old", aws.ToInt32(out.RejectedLogEventsInfo.TooOldLogEventEndIndex), 2)
	}
	_, err = c.put(now, now.Add(-time.Minute))
	c.refused("events that are not chronological", err, "InvalidParameterException")
	_, err = c.put(now.Add(-25*time.Hour), now)
	c.refused("events of more than 24 hours", err, "InvalidParameterException")
}

func readLogs(c *check) {
	now := c.site.wait.Now()
	_, err := c.put(now.Add(-2*time.Second), now.Add(-time.Second), now)
	c.must("put events", err)
	get := func(token *string) *awslogs.GetLogEventsOutput {
		out, err := c.site.logs.GetLogEvents(c.ctx, &awslogs.GetLogEventsInput{LogGroupName: ptr(c.site.logGroup(c)), LogStreamName: ptr("s"), StartFromHead: aws.Bool(true), NextToken: token})
		c.must("get events", err)
		return out
	}
	c.holds("the events are read back", c.until(time.Minute, func() bool { return len(get(nil).Events) >= 3 }), len(get(nil).Events))
	end := get(get(nil).NextForwardToken)
	c.same("events behind the end", len(end.Events), 0)
	c.same("the forward token at the end", aws.ToString(get(end.NextForwardToken).NextForwardToken), aws.ToString(end.NextForwardToken))
}

func streams(c *check) {
	name := c.site.logGroup(c)
	_, err := c.site.logs.DescribeLogStreams(c.ctx, &awslogs.DescribeLogStreamsInput{LogGroupName: &name, OrderBy: "LastEventTime", LogStreamNamePrefix: ptr("s")})
	c.refused("streams by the last event and a prefix", err, "InvalidParameterException")
	_, err = c.site.logs.DescribeLogStreams(c.ctx, &awslogs.DescribeLogStreamsInput{LogGroupName: &name, Limit: aws.Int32(51)})
	c.refused("51 streams a page", err, "InvalidParameterException")
}

func logGroups(c *check) {
	name := c.site.logGroup(c)
	out, err := c.site.logs.DescribeLogGroups(c.ctx, &awslogs.DescribeLogGroupsInput{LogGroupNamePrefix: &name})
	c.must("describe log groups", err)
	c.same("groups of the prefix", len(out.LogGroups), 1)
	_, err = c.site.logs.PutRetentionPolicy(c.ctx, &awslogs.PutRetentionPolicyInput{LogGroupName: &name, RetentionInDays: aws.Int32(2)})
	c.refused("a retention of two days", err, "InvalidParameterException")
}

// createApplication creates the program's CodeDeploy application.
func (s *site) application(c *check) string {
	name := s.prefix
	s.remove("application "+name, func(ctx context.Context) error {
		_, err := s.cd.DeleteApplication(ctx, &awscd.DeleteApplicationInput{ApplicationName: &name})
		return err
	})
	_, err := s.cd.CreateApplication(c.ctx, &awscd.CreateApplicationInput{ApplicationName: &name, ComputePlatform: "ECS", Tags: s.deployTags()})
	if err != nil {
		c.refused("create the application again", err, "ApplicationAlreadyExistsException")
	}
	return name
}

func deployBatches(c *check) {
	name := c.site.application(c)
	var many []string
	for range 101 {
		many = append(many, name)
	}
	_, err := c.site.cd.BatchGetApplications(c.ctx, &awscd.BatchGetApplicationsInput{ApplicationNames: many})
	c.refused("BatchGetApplications of 101", err, "BatchLimitExceededException")
	out, err := c.site.cd.BatchGetDeploymentGroups(c.ctx, &awscd.BatchGetDeploymentGroupsInput{ApplicationName: &name, DeploymentGroupNames: []string{"none"}})
	c.must("get a group that does not exist", err)
	c.holds("unknown groups are told in errorMessage", aws.ToString(out.ErrorMessage) != "", out.DeploymentGroupsInfo)
}

func deployConfigs(c *check) {
	for _, name := range []string{"CodeDeployDefault.ECSAllAtOnce", "CodeDeployDefault.ECSCanary10Percent5Minutes", "CodeDeployDefault.ECSLinear10PercentEvery1Minutes"} {
		out, err := c.site.cd.GetDeploymentConfig(c.ctx, &awscd.GetDeploymentConfigInput{DeploymentConfigName: &name})
		c.must("get "+name, err)
		c.same("the platform of "+name, out.DeploymentConfigInfo.ComputePlatform, "ECS")
	}
	name := c.site.prefix
	c.site.remove("deployment configuration "+name, func(ctx context.Context) error {
		_, err := c.site.cd.DeleteDeploymentConfig(ctx, &awscd.DeleteDeploymentConfigInput{DeploymentConfigName: &name})
		return err
	})
	in := &awscd.CreateDeploymentConfigInput{DeploymentConfigName: &name, ComputePlatform: "ECS", TrafficRoutingConfig: &cdtypes.TrafficRoutingConfig{
		Type: "TimeBasedCanary", TimeBasedCanary: &cdtypes.TimeBasedCanary{CanaryInterval: 1, CanaryPercentage: 25}}}
	_, err := c.site.cd.CreateDeploymentConfig(c.ctx, in)
	c.must("create a deployment configuration", err)
	_, err = c.site.cd.CreateDeploymentConfig(c.ctx, in)
	c.refused("create it again", err, "DeploymentConfigAlreadyExistsException")
	in.DeploymentConfigName, in.TrafficRoutingConfig.TimeBasedCanary.CanaryPercentage = ptr(name+"-x"), 100
	_, err = c.site.cd.CreateDeploymentConfig(c.ctx, in)
	c.refused("a canary of 100 percent", err, "InvalidTrafficRoutingConfigurationException")
}

func deployTags(c *check) {
	c.site.application(c)
	bad := c.site.prefix + "-x"
	_, err := c.site.cd.CreateApplication(c.ctx, &awscd.CreateApplicationInput{ApplicationName: &bad, ComputePlatform: "ECS", Tags: []cdtypes.Tag{{Key: ptr("aws:x"), Value: ptr("y")}}})
	c.refused("a tag that begins with aws:", err, "InvalidTagsToAddException")
}

func deployErrors(c *check) {
	name := c.site.application(c)
	_, err := c.site.cd.CreateDeployment(c.ctx, &awscd.CreateDeploymentInput{ApplicationName: &name, DeploymentGroupName: ptr("none")})
	c.refused("a deployment of a group that does not exist", err, "DeploymentGroupDoesNotExistException", "RevisionRequiredException")
	_, err = c.site.cd.GetDeploymentGroup(c.ctx, &awscd.GetDeploymentGroupInput{ApplicationName: &name, DeploymentGroupName: ptr("none")})
	c.refused("get a group that does not exist", err, "DeploymentGroupDoesNotExistException")
	_, err = c.site.cd.GetDeployment(c.ctx, &awscd.GetDeploymentInput{DeploymentId: ptr("d-000000000")})
	c.refused("get a deployment that does not exist", err, "DeploymentDoesNotExistException")
}
