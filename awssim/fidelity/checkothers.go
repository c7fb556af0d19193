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

func allChecks() []rowCheck {
	all := append(ecsChecks(), balancerChecks()...)
	all = append(all, mapChecks()...)
	return append(all,
		rowCheck{"Every RegisterScalableTarget", "", checkBounds},
		rowCheck{"A resource without its dimension", "", checkDimensions},
		rowCheck{"Tags of scalable targets", "", checkTargetTags},
		rowCheck{"A new alarm is INSUFFICIENT_DATA", "", checkNewAlarm},
		rowCheck{"StateUpdatedTimestamp moves", "", checkAlarmTimes},
		rowCheck{"An alarm is evaluated every minute", "", checkEvaluation},
		rowCheck{"DescribeAlarms by names", "", checkAlarmNames},
		rowCheck{"DeleteAlarms deletes none", "", checkDeleteAlarms},
		rowCheck{"Periods of 10, 20, 30", "", checkAlarmPeriods},
		rowCheck{"Statistics: the five plain ones", "", checkStatisticNames},
		rowCheck{"GetLogEvents: newest events", "", checkReadLogs},
		rowCheck{"PutLogEvents: chronological", "", checkPutLogs},
		rowCheck{"DescribeLogStreams by name", "", checkStreams},
		rowCheck{"Groups by prefix or pattern", "", checkLogGroups},
		rowCheck{"Lists by pages, batches of 100", "", checkDeployBatches},
		rowCheck{"Predefined and custom canary and linear", "", checkDeployConfigs},
		rowCheck{"Tags of applications and deployment groups", "", checkDeployTags},
		rowCheck{"One deployment at a time per group", "", checkDeployErrors},
	)
}

// registerTarget registers the scalable target of the program's service.
func (s *site) registerTarget(c *rowRun, edit func(*awsaas.RegisterScalableTargetInput)) error {
	id := "service/" + s.clusterName(c) + "/" + s.serviceName(c)
	s.removeLater("scalable target "+id, func(ctx context.Context) error { return s.removeTarget(ctx, id) })
	in := &awsaas.RegisterScalableTargetInput{ServiceNamespace: "ecs", ResourceId: &id,
		ScalableDimension: "ecs:service:DesiredCount", MinCapacity: aws.Int32(0), MaxCapacity: aws.Int32(2)}
	if edit != nil {
		edit(in)
	}
	_, err := s.aas.RegisterScalableTarget(c.ctx, in)
	return err
}

func checkBounds(c *rowRun) {
	c.requireCall("register the scalable target", c.site.registerTarget(c, nil))
	c.requireCall("register it with a suspension alone",
		c.site.registerTarget(c, func(in *awsaas.RegisterScalableTargetInput) {
			in.MinCapacity, in.MaxCapacity, in.SuspendedState = nil, nil,
				&aastypes.SuspendedState{DynamicScalingInSuspended: aws.Bool(true)}
		}))
	out, err := c.site.aas.DescribeScalableTargets(c.ctx, &awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs",
		ResourceIds: []string{"service/" + c.site.clusterName(c) + "/" + c.site.serviceName(c)}})
	c.requireCall("describe the scalable target", err)
	c.expectSame("scalable targets", len(out.ScalableTargets), 1)
	t := out.ScalableTargets[0]
	c.expectSame("bounds that a second registration omits", fmt.Sprint(*t.MinCapacity, *t.MaxCapacity), "0 2")
	c.expectSame("the suspension", aws.ToBool(t.SuspendedState.DynamicScalingInSuspended), true)
	c.expectRefusal("a minimum above the maximum",
		c.site.registerTarget(c, func(in *awsaas.RegisterScalableTargetInput) { in.MinCapacity = aws.Int32(3) }),
		"ValidationException")
}

func checkDimensions(c *rowRun) {
	id := "service/" + c.site.clusterName(c) + "/" + c.site.serviceName(c)
	_, err := c.site.aas.DescribeScalingPolicies(c.ctx, &awsaas.DescribeScalingPoliciesInput{ServiceNamespace: "ecs",
		ResourceId: &id})
	c.requireCall("describe policies of a resource without its dimension", err)
	_, err = c.site.aas.DescribeScalingPolicies(c.ctx, &awsaas.DescribeScalingPoliciesInput{ServiceNamespace: "ecs",
		ScalableDimension: "ecs:service:DesiredCount"})
	c.expectRefusal("policies of a dimension without a resource", err, "ValidationException")
}

func checkTargetTags(c *rowRun) {
	c.expectRefusal("a tag that begins with aws:",
		c.site.registerTarget(c, func(in *awsaas.RegisterScalableTargetInput) { in.Tags = map[string]string{"aws:x": "y"} }), "ValidationException")
}

// createAlarm creates the program's alarm in its initial state and returns its name.
func (s *site) createAlarm(c *rowRun) string {
	name := s.prefix
	s.removeLater("alarm "+name, func(ctx context.Context) error { return s.removeAlarm(ctx, name) })
	_, err := s.cw.PutMetricAlarm(c.ctx, s.alarmInput(60))
	c.requireCall("put the alarm", err)
	return name
}

func (s *site) alarmInput(period int32) *awscw.PutMetricAlarmInput {
	return &awscw.PutMetricAlarmInput{AlarmName: ptr(s.prefix), Namespace: ptr("AwssimFidelity"),
		MetricName: ptr("none"), Statistic: "Sum", Period: &period,
		EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1), ComparisonOperator: "GreaterThanThreshold",
		Tags: []cwtypes.Tag{{Key: ptr(tagKey), Value: ptr(s.prefix)}}}
}

func (c *rowRun) describeAlarms(in *awscw.DescribeAlarmsInput) []cwtypes.MetricAlarm {
	out, err := c.site.cw.DescribeAlarms(c.ctx, in)
	c.requireCall("describe alarms", err)
	return out.MetricAlarms
}

func checkNewAlarm(c *rowRun) {
	all := c.describeAlarms(&awscw.DescribeAlarmsInput{AlarmNames: []string{c.site.createAlarm(c)}})
	c.expectSame("alarms of that name", len(all), 1)
	c.expectSame("state of a new alarm", all[0].StateValue, "INSUFFICIENT_DATA")
	c.expectSame("its reason", aws.ToString(all[0].StateReason), "Unchecked: Initial alarm creation")
}

func checkAlarmTimes(c *rowRun) {
	name := c.site.createAlarm(c)
	set := func() cwtypes.MetricAlarm {
		_, err := c.site.cw.SetAlarmState(c.ctx, &awscw.SetAlarmStateInput{AlarmName: &name, StateValue: "OK",
			StateReason: ptr("fidelity")})
		c.requireCall("set the alarm's state", err)
		c.requireCall("wait", c.site.wait.Sleep(c.ctx, 2*time.Second))
		return c.describeAlarms(&awscw.DescribeAlarmsInput{AlarmNames: []string{name}})[0]
	}
	one, two := set(), set()
	c.expectTrue("StateUpdatedTimestamp moves with the same state",
		two.StateUpdatedTimestamp.After(*one.StateUpdatedTimestamp), two.StateUpdatedTimestamp)
	c.expectSame("StateTransitionedTimestamp with the same state", two.StateTransitionedTimestamp.UTC(),
		one.StateTransitionedTimestamp.UTC())
}

// checkEvaluation sets a state that has no reason in the metric, which has no data.
func checkEvaluation(c *rowRun) {
	name := c.site.createAlarm(c)
	_, err := c.site.cw.SetAlarmState(c.ctx, &awscw.SetAlarmStateInput{AlarmName: &name, StateValue: "ALARM",
		StateReason: ptr("fidelity")})
	c.requireCall("set the alarm's state", err)
	back := c.waitUntil(3*time.Minute, func() bool {
		return c.describeAlarms(&awscw.DescribeAlarmsInput{AlarmNames: []string{name}})[0].StateValue == "INSUFFICIENT_DATA"
	})
	c.expectTrue("the next evaluation overwrites the state", back, "it is still ALARM")
}

func checkAlarmNames(c *rowRun) {
	name := c.site.createAlarm(c)
	c.expectSame("alarms of an unknown and a known name",
		len(c.describeAlarms(&awscw.DescribeAlarmsInput{AlarmNames: []string{name + "-none", name}})), 1)
	c.expectSame("alarms of the prefix", len(c.describeAlarms(&awscw.DescribeAlarmsInput{AlarmNamePrefix: &name})), 1)
	_, err := c.site.cw.DescribeAlarms(c.ctx, &awscw.DescribeAlarmsInput{MaxRecords: aws.Int32(101)})
	c.expectRefusal("101 alarms a page", err, "ValidationError", "InvalidParameterValue")
}

func checkDeleteAlarms(c *rowRun) {
	name := c.site.createAlarm(c)
	_, err := c.site.cw.DeleteAlarms(c.ctx, &awscw.DeleteAlarmsInput{AlarmNames: []string{name, name + "-none"}})
	c.expectRefusal("delete an alarm with one that does not exist", err, "ResourceNotFound",
		"ResourceNotFoundException")
	c.expectSame("alarms afterwards", len(c.describeAlarms(&awscw.DescribeAlarmsInput{AlarmNames: []string{name}})), 1)
}

func checkAlarmPeriods(c *rowRun) {
	for _, p := range []int32{1, 45, 90} {
		_, err := c.site.cw.PutMetricAlarm(c.ctx, c.site.alarmInput(p))
		c.expectRefusal(fmt.Sprintf("a period of %d s", p), err, "ValidationError", "InvalidParameterValue")
	}
}

// checkStatisticNames reads a metric without data.
func checkStatisticNames(c *rowRun) {
	read := func(name string) error {
		_, err := c.site.cw.GetMetricData(c.ctx, &awscw.GetMetricDataInput{StartTime: ptr(c.site.wait.Now().Add(-time.Hour)),
			EndTime: ptr(c.site.wait.Now()), MetricDataQueries: []cwtypes.MetricDataQuery{{Id: ptr("m"),
				MetricStat: &cwtypes.MetricStat{Stat: &name, Period: aws.Int32(60),
					Metric: &cwtypes.Metric{Namespace: ptr("AwssimFidelity"), MetricName: ptr("none")}}}}})
		return err
	}
	for _, name := range []string{"Sum", "p0", "p99.9", "tm90", "IQM", "TC(0.5:)", "PR(:0.5)", "WM(2%:98%)"} {
		err := read(name)
		c.expectTrue("statistic "+name+" is accepted", err == nil, err)
	}
	for _, name := range []string{"sum", "p101", "TC(0.5)", "TC(1%:2)", "PR(:)"} {
		c.expectRefusal("statistic "+name, read(name), "ValidationError")
	}
}

// createLogGroup creates the program's log group with a stream s.
func (s *site) createLogGroup(c *rowRun) string {
	name := s.prefix
	s.removeLater("log group "+name, func(ctx context.Context) error {
		_, err := s.logs.DeleteLogGroup(ctx, &awslogs.DeleteLogGroupInput{LogGroupName: &name})
		return err
	})
	_, err := s.logs.CreateLogGroup(c.ctx, &awslogs.CreateLogGroupInput{LogGroupName: &name,
		Tags: map[string]string{tagKey: name}})
	if err != nil {
		c.expectRefusal("create the log group again", err, "ResourceAlreadyExistsException")
		return name
	}
	_, err = s.logs.CreateLogStream(c.ctx, &awslogs.CreateLogStreamInput{LogGroupName: &name, LogStreamName: ptr("s")})
	c.requireCall("create the log stream", err)
	return name
}

func (c *rowRun) putEvents(at ...time.Time) (*awslogs.PutLogEventsOutput, error) {
	in := &awslogs.PutLogEventsInput{LogGroupName: ptr(c.site.createLogGroup(c)), LogStreamName: ptr("s")}
	for i, t := range at {
		in.LogEvents = append(in.LogEvents, logstypes.InputLogEvent{Timestamp: aws.Int64(t.UnixMilli()),
			Message: ptr(fmt.Sprint(i))})
	}
	return c.site.logs.PutLogEvents(c.ctx, in)
}

func checkPutLogs(c *rowRun) {
	now := c.site.wait.Now()
	out, err := c.putEvents(now.Add(-15*24*time.Hour), now.Add(-15*24*time.Hour+time.Minute))
	c.requireCall("put old events", err)
	if out.RejectedLogEventsInfo == nil {
		c.expectSame("events of 15 days ago", "accepted", "omitted")
	} else {
		c.expectSame("the end of the events that are too old",
			aws.ToInt32(out.RejectedLogEventsInfo.TooOldLogEventEndIndex), 2)
	}
	_, err = c.putEvents(now, now.Add(-time.Minute))
	c.expectRefusal("events that are not chronological", err, "InvalidParameterException")
	_, err = c.putEvents(now.Add(-25*time.Hour), now)
	c.expectRefusal("events of more than 24 hours", err, "InvalidParameterException")
}

func checkReadLogs(c *rowRun) {
	now := c.site.wait.Now()
	_, err := c.putEvents(now.Add(-2*time.Second), now.Add(-time.Second), now)
	c.requireCall("put events", err)
	get := func(token *string) *awslogs.GetLogEventsOutput {
		out, err := c.site.logs.GetLogEvents(c.ctx,
			&awslogs.GetLogEventsInput{LogGroupName: ptr(c.site.createLogGroup(c)), LogStreamName: ptr("s"),
				StartFromHead: aws.Bool(true), NextToken: token})
		c.requireCall("get events", err)
		return out
	}
	c.expectTrue("the events are read back", c.waitUntil(time.Minute, func() bool { return len(get(nil).Events) >= 3 }),
		len(get(nil).Events))
	end := get(get(nil).NextForwardToken)
	c.expectSame("events behind the end", len(end.Events), 0)
	c.expectSame("the forward token at the end", aws.ToString(get(end.NextForwardToken).NextForwardToken),
		aws.ToString(end.NextForwardToken))
}

func checkStreams(c *rowRun) {
	name := c.site.createLogGroup(c)
	_, err := c.site.logs.DescribeLogStreams(c.ctx, &awslogs.DescribeLogStreamsInput{LogGroupName: &name,
		OrderBy: "LastEventTime", LogStreamNamePrefix: ptr("s")})
	c.expectRefusal("streams by the last event and a prefix", err, "InvalidParameterException")
	_, err = c.site.logs.DescribeLogStreams(c.ctx, &awslogs.DescribeLogStreamsInput{LogGroupName: &name,
		Limit: aws.Int32(51)})
	c.expectRefusal("51 streams a page", err, "InvalidParameterException")
}

func checkLogGroups(c *rowRun) {
	name := c.site.createLogGroup(c)
	out, err := c.site.logs.DescribeLogGroups(c.ctx, &awslogs.DescribeLogGroupsInput{LogGroupNamePrefix: &name})
	c.requireCall("describe log groups", err)
	c.expectSame("groups of the prefix", len(out.LogGroups), 1)
	_, err = c.site.logs.PutRetentionPolicy(c.ctx, &awslogs.PutRetentionPolicyInput{LogGroupName: &name,
		RetentionInDays: aws.Int32(2)})
	c.expectRefusal("a retention of two days", err, "InvalidParameterException")
}

// createApplication creates the program's CodeDeploy application.
func (s *site) createApplication(c *rowRun) string {
	name := s.prefix
	s.removeLater("application "+name, func(ctx context.Context) error {
		_, err := s.cd.DeleteApplication(ctx, &awscd.DeleteApplicationInput{ApplicationName: &name})
		return err
	})
	_, err := s.cd.CreateApplication(c.ctx, &awscd.CreateApplicationInput{ApplicationName: &name,
		ComputePlatform: "ECS", Tags: s.deployTags()})
	if err != nil {
		c.expectRefusal("create the application again", err, "ApplicationAlreadyExistsException")
	}
	return name
}

func checkDeployBatches(c *rowRun) {
	name := c.site.createApplication(c)
	var many []string
	for range 101 {
		many = append(many, name)
	}
	_, err := c.site.cd.BatchGetApplications(c.ctx, &awscd.BatchGetApplicationsInput{ApplicationNames: many})
	c.expectRefusal("BatchGetApplications of 101", err, "BatchLimitExceededException")
	out, err := c.site.cd.BatchGetDeploymentGroups(c.ctx, &awscd.BatchGetDeploymentGroupsInput{ApplicationName: &name,
		DeploymentGroupNames: []string{"none"}})
	c.requireCall("get a group that does not exist", err)
	c.expectTrue("errorMessage names unknown groups", aws.ToString(out.ErrorMessage) != "",
		out.DeploymentGroupsInfo)
}

func checkDeployConfigs(c *rowRun) {
	for _, name := range []string{"CodeDeployDefault.ECSAllAtOnce", "CodeDeployDefault.ECSCanary10Percent5Minutes",
		"CodeDeployDefault.ECSLinear10PercentEvery1Minutes"} {
		out, err := c.site.cd.GetDeploymentConfig(c.ctx, &awscd.GetDeploymentConfigInput{DeploymentConfigName: &name})
		c.requireCall("get "+name, err)
		c.expectSame("the platform of "+name, out.DeploymentConfigInfo.ComputePlatform, "ECS")
	}
	name := c.site.prefix
	c.site.removeLater("deployment configuration "+name, func(ctx context.Context) error {
		_, err := c.site.cd.DeleteDeploymentConfig(ctx, &awscd.DeleteDeploymentConfigInput{DeploymentConfigName: &name})
		return err
	})
	in := &awscd.CreateDeploymentConfigInput{DeploymentConfigName: &name, ComputePlatform: "ECS",
		TrafficRoutingConfig: &cdtypes.TrafficRoutingConfig{
			Type: "TimeBasedCanary", TimeBasedCanary: &cdtypes.TimeBasedCanary{CanaryInterval: 1,
				CanaryPercentage: 25}}}
	_, err := c.site.cd.CreateDeploymentConfig(c.ctx, in)
	c.requireCall("create a deployment configuration", err)
	_, err = c.site.cd.CreateDeploymentConfig(c.ctx, in)
	c.expectRefusal("create it again", err, "DeploymentConfigAlreadyExistsException")
	in.DeploymentConfigName, in.TrafficRoutingConfig.TimeBasedCanary.CanaryPercentage = ptr(name+"-x"), 100
	_, err = c.site.cd.CreateDeploymentConfig(c.ctx, in)
	c.expectRefusal("a canary of 100 percent", err, "InvalidTrafficRoutingConfigurationException")
}

func checkDeployTags(c *rowRun) {
	c.site.createApplication(c)
	bad := c.site.prefix + "-x"
	_, err := c.site.cd.CreateApplication(c.ctx, &awscd.CreateApplicationInput{ApplicationName: &bad,
		ComputePlatform: "ECS", Tags: []cdtypes.Tag{{Key: ptr("aws:x"), Value: ptr("y")}}})
	c.expectRefusal("a tag that begins with aws:", err, "InvalidTagsToAddException")
}

func checkDeployErrors(c *rowRun) {
	name := c.site.createApplication(c)
	_, err := c.site.cd.CreateDeployment(c.ctx, &awscd.CreateDeploymentInput{ApplicationName: &name,
		DeploymentGroupName: ptr("none")})
	c.expectRefusal("a deployment of a group that does not exist", err, "DeploymentGroupDoesNotExistException",
		"RevisionRequiredException")
	_, err = c.site.cd.GetDeploymentGroup(c.ctx, &awscd.GetDeploymentGroupInput{ApplicationName: &name,
		DeploymentGroupName: ptr("none")})
	c.expectRefusal("get a group that does not exist", err, "DeploymentGroupDoesNotExistException")
	_, err = c.site.cd.GetDeployment(c.ctx, &awscd.GetDeploymentInput{DeploymentId: ptr("d-000000000")})
	c.expectRefusal("get a deployment that does not exist", err, "DeploymentDoesNotExistException")
}
