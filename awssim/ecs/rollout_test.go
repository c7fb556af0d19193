package ecs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// rolling makes service api with that configuration and awaits its first
// deployment, of sim/web:v1.
func (b *bench) rolling(desired int32, c *ecstypes.DeploymentConfiguration) {
	b.t.Helper()
	in := rollingInput(b.register("sim/web:v1"), desired, b.blue)
	in.DeploymentConfiguration = c
	must(b.CreateService(b.ctx, in))(b.t)
	b.await("first deployment", completed)
}

func completed(s ecstypes.Service) bool {
	return len(s.Deployments) == 1 && s.Deployments[0].RolloutState == "COMPLETED"
}

// deploy starts a deployment of an image and returns its service deployment.
func (b *bench) deploy(image string) string {
	b.t.Helper()
	return *b.update(&awsecs.UpdateServiceInput{TaskDefinition: aws.String(b.register(image))}).CurrentServiceDeployment
}

// update changes service api.
func (b *bench) update(in *awsecs.UpdateServiceInput) *ecstypes.Service {
	b.t.Helper()
	in.Cluster, in.Service = aws.String("web"), aws.String("api")
	return must(b.UpdateService(b.ctx, in))(b.t).Service
}

func (b *bench) rollout(arn string) ecstypes.ServiceDeployment {
	b.t.Helper()
	out := must(b.DescribeServiceDeployments(b.ctx,
		&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{arn}}))(b.t)
	if len(out.ServiceDeployments) != 1 {
		b.t.Fatalf("failures %v", out.Failures)
	}
	return out.ServiceDeployments[0]
}

func (b *bench) ends(arn string) ecstypes.ServiceDeployment {
	b.t.Helper()
	var d ecstypes.ServiceDeployment
	if err := b.Until(2*time.Hour, func() bool { d = b.rollout(arn); return d.FinishedAt != nil }); err != nil {
		b.t.Fatal(err)
	}
	return d
}

func (b *bench) revision(arn *string) ecstypes.ServiceRevision {
	b.t.Helper()
	return must(b.DescribeServiceRevisions(b.ctx,
		&awsecs.DescribeServiceRevisionsInput{ServiceRevisionArns: []string{*arn}}))(b.t).ServiceRevisions[0]
}

func (b *bench) listed(in *awsecs.ListServiceDeploymentsInput) []ecstypes.ServiceDeploymentBrief {
	b.t.Helper()
	in.Cluster, in.Service = aws.String("web"), aws.String("api")
	return must(b.ListServiceDeployments(b.ctx, in))(b.t).ServiceDeployments
}

func breaker(rollback bool) *ecstypes.DeploymentConfiguration {
	return &ecstypes.DeploymentConfiguration{DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: true,
		Rollback: rollback}}
}

func TestARolledBackDeploymentThroughTheAPI(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(2, breaker(true))
	first := b.service().Deployments[0]
	arn := b.deploy("sim/missing:v1-noboot")
	if d := b.rollout(arn); d.Status != "PENDING" || d.StartedAt != nil ||
		d.DeploymentCircuitBreaker.Status != "MONITORING" || d.DeploymentCircuitBreaker.Threshold != 3 ||
		d.Alarms.Status != "DISABLED" || d.Rollback != nil {
		t.Errorf("at first %+v", d)
	}
	s := b.await("the rollback begins", func(s ecstypes.Service) bool { return *s.Deployments[0].Id == *first.Id })
	if s.Deployments[0].RolloutState != "IN_PROGRESS" || *s.Deployments[0].Status != "PRIMARY" ||
		*s.Deployments[1].Status != "ACTIVE" ||
		*s.Deployments[0].RolloutStateReason != "ECS deployment circuit breaker: rolling back to deploymentId "+
			*first.Id+"." || *s.CurrentServiceDeployment != arn {
		t.Errorf("%+v", s.Deployments)
	}
	d := b.ends(arn)
	if d.Status != "ROLLBACK_SUCCESSFUL" ||
		*d.StatusReason != "Service deployment rolled back because the circuit breaker threshold was exceeded." ||
		*d.Rollback.Reason != *d.StatusReason || d.Rollback.StartedAt.After(*d.FinishedAt) || d.StartedAt == nil ||
		d.StoppedAt != nil {
		t.Errorf("%+v", d)
	}
	if c := d.DeploymentCircuitBreaker; c.Status != "TRIGGERED" || c.FailureCount < 3 || c.Threshold != 3 ||
		!d.DeploymentConfiguration.DeploymentCircuitBreaker.Rollback {
		t.Errorf("%+v", c)
	}
	all := b.listed(&awsecs.ListServiceDeploymentsInput{})
	if len(all) != 2 || *all[0].ServiceDeploymentArn != arn ||
		*all[1].TargetServiceRevisionArn != *d.Rollback.ServiceRevisionArn ||
		*d.SourceServiceRevisions[0].Arn != *d.Rollback.ServiceRevisionArn {
		t.Errorf("a rollback is no deployment of its own: %+v", all)
	}
	if r := b.revision(d.TargetServiceRevision.Arn); r.ContainerImages[0].ImageDigest != nil ||
		*r.ResolvedConfiguration.LoadBalancers[0].TargetGroupArn != b.blue ||
		*r.LoadBalancers[0].ContainerPort != 8080 {
		t.Errorf("%+v", r)
	}
	if r := b.revision(d.Rollback.ServiceRevisionArn); *r.ContainerImages[0].Image != "sim/web:v1" ||
		r.ContainerImages[0].ImageDigest == nil || *r.TaskDefinition != *b.service().TaskDefinition {
		t.Errorf("%+v", r)
	}
	if s := b.service(); !completed(s) || s.RunningCount != 2 || len(s.CurrentServiceRevisions) != 1 ||
		s.CurrentServiceRevisions[0].RequestedTaskCount != 2 ||
		*s.CurrentServiceRevisions[0].Arn != *d.Rollback.ServiceRevisionArn {
		t.Errorf("%+v", s)
	}
}

// Each cause of failure shows in stopped tasks, whatever the circuit breaker does.
func TestCausesAreSeenInStoppedTasks(t *testing.T) {
	for image, want := range map[string]string{
		"sim/missing:v1-noboot": "TaskFailedToStart CannotPullContainerError: ",
		"sim/web:v2-no-secret": "TaskFailedToStart ResourceInitializationError: unable to pull " +
			"secrets or registry auth: ",
		"sim/web:v2-no-role":                "TaskFailedToStart ECS was unable to assume the role ",
		"sim/web:v2-exec-format":            "EssentialContainerExited Essential container in task exited 1",
		"sim/web:v2-crash-after-2s-exit-42": "EssentialContainerExited Essential container in task exited 42",
		"sim/web:v2-oom-after-2s": "EssentialContainerExited Essential container in task exited 137 " +
			"OutOfMemoryError: Container killed due to memory usage",
		"sim/web:v2-never-healthy": "ServiceSchedulerInitiated Task failed ELB health checks in " +
			"(target-group ",
		"sim/web:v2-listen-9090": "ServiceSchedulerInitiated Task failed ELB health checks in " +
			"(target-group ",
		"sim/web:v2-crash-after-500ms-exit-0": "EssentialContainerExited Essential container in task exited 0",
	} {
		for _, on := range []bool{true, false} {
			b := newBench(t, world.Options{})
			b.rolling(2, &ecstypes.DeploymentConfiguration{DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: on, Rollback: true}})
			arn := b.deploy(image)
			b.Run(15 * time.Minute)
			if got := b.stopped(b.revisionTasks(arn)); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s", image, got)
			}
			if want := map[bool]string{true: "ROLLBACK_SUCCESSFUL",
				false: "IN_PROGRESS"}[on]; string(b.rollout(arn).Status) != want {
				t.Errorf("%s, breaker %v: %s", image, on, b.rollout(arn).Status)
			}
		}
	}
}

// revisionTasks is the task definition that a service deployment brings.
func (b *bench) revisionTasks(arn string) string {
	return *b.revision(b.rollout(arn).TargetServiceRevision.Arn).TaskDefinition
}

// stopped is what a stopped task of a definition says.
func (b *bench) stopped(definition string) string {
	b.t.Helper()
	arns := must(b.ListTasks(b.ctx, &awsecs.ListTasksInput{Cluster: aws.String("web"),
		DesiredStatus: "STOPPED"}))(b.t).TaskArns
	for _, x := range must(b.DescribeTasks(b.ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("web"),
		Tasks: arns}))(b.t).Tasks {
		if *x.TaskDefinitionArn != definition || x.StopCode == "ServiceSchedulerInitiated" &&
			strings.HasPrefix(*x.StoppedReason, "Scaling") {
			continue
		}
		s := fmt.Sprintf("%s %s", x.StopCode, *x.StoppedReason)
		if c := x.Containers[0]; c.ExitCode != nil {
			s += fmt.Sprintf(" %d %s", *c.ExitCode, aws.ToString(c.Reason))
		}
		return s
	}
	return "nothing"
}

func TestListingServiceDeployments(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(1, breaker(true))
	var arns []string
	for i := range 24 {
		b.Run(time.Hour)
		if i%2 == 1 {
			arns = append(arns, *b.update(
				&awsecs.UpdateServiceInput{ForceNewDeployment: true}).CurrentServiceDeployment)
		} else {
			arns = append(arns, b.deploy("sim/web:v2-noboot"))
		}
		b.ends(arns[i])
	}
	if n := len(b.listed(&awsecs.ListServiceDeploymentsInput{})); n != 20 {
		t.Errorf("a page has %d, want 20", n)
	}
	if n := len(b.listed(&awsecs.ListServiceDeploymentsInput{MaxResults: aws.Int32(100)})); n != 25 {
		t.Errorf("%d in all, want 25", n)
	}
	refused(b.ListServiceDeployments(b.ctx, &awsecs.ListServiceDeploymentsInput{Cluster: aws.String("web"),
		Service: aws.String("api"), MaxResults: aws.Int32(101)}))(t, invalidParameter,
		"MaxResults must be between 1 and 100.")
	pages, n := awsecs.ListServiceDeploymentsInput{Cluster: aws.String("web"), Service: aws.String("api"),
		Status: []ecstypes.ServiceDeploymentStatus{"ROLLBACK_SUCCESSFUL"}, MaxResults: aws.Int32(5)}, 0
	for more := true; more; {
		out := must(b.ListServiceDeployments(b.ctx, &pages))(t)
		for _, d := range out.ServiceDeployments {
			if d.Status != "ROLLBACK_SUCCESSFUL" || d.StatusReason == nil || d.FinishedAt == nil {
				t.Errorf("%+v", d)
			}
			n++
		}
		pages.NextToken, more = out.NextToken, out.NextToken != nil
	}
	if n != 12 {
		t.Errorf("%d rolled back, want 12", n)
	}
	tenth := *b.rollout(arns[10]).CreatedAt
	got := b.listed(&awsecs.ListServiceDeploymentsInput{CreatedAt: &ecstypes.CreatedAt{After: aws.Time(tenth.Add(
		-time.Second)), Before: aws.Time(tenth.Add(2 * time.Hour))}})
	if len(got) < 2 || *got[len(got)-1].ServiceDeploymentArn != arns[10] || *got[0].ServiceDeploymentArn == arns[13] {
		t.Errorf("by time: %d", len(got))
	}
	out := must(b.DescribeServiceDeployments(b.ctx,
		&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{arns[0], arns[0] + "x", "what"}}))(t)
	if len(out.ServiceDeployments) != 1 || len(out.Failures) != 2 || *out.Failures[0].Reason != "MISSING" {
		t.Errorf("%+v", out.Failures)
	}
	refused(b.DescribeServiceDeployments(b.ctx,
		&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: append(arns[:20:20], "x")}))(t, invalidParameter,
		"serviceDeploymentArns must have between 1 and 20 elements.")
}

func TestHistoryEndsAfterNinetyDays(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(1, nil)
	first := b.listed(&awsecs.ListServiceDeploymentsInput{})[0]
	b.Run(91 * 24 * time.Hour)
	if n := len(b.listed(&awsecs.ListServiceDeploymentsInput{})); n != 0 {
		t.Errorf("%d deployments after 91 days", n)
	}
	if r := b.revision(b.service().CurrentServiceRevisions[0].Arn); *r.ServiceRevisionArn != *first.TargetServiceRevisionArn {
		t.Errorf("the revision that runs is %s", *r.ServiceRevisionArn)
	}
	second := b.deploy("sim/web:v2")
	b.ends(second)
	out := must(b.DescribeServiceRevisions(b.ctx,
		&awsecs.DescribeServiceRevisionsInput{ServiceRevisionArns: []string{*first.TargetServiceRevisionArn}}))(t)
	if len(out.Failures) != 1 || *out.Failures[0].Reason != "MISSING" {
		t.Errorf("a revision of long ago: %+v", out)
	}
	must(b.DeleteService(b.ctx, &awsecs.DeleteServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		Force: aws.Bool(true)}))(t)
	b.await("INACTIVE", func(s ecstypes.Service) bool { return *s.Status == "INACTIVE" })
	if out := must(b.DescribeServiceDeployments(b.ctx,
		&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{second}}))(t); len(out.Failures) != 1 {
		t.Errorf("the history of a deleted service: %+v", out)
	}
}

func TestStopServiceDeployment(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(2, nil)
	arn := b.deploy("sim/web:v2-healthy-after-200s")
	b.Run(time.Minute)
	stop := &awsecs.StopServiceDeploymentInput{ServiceDeploymentArn: &arn, StopType: "ABORT"}
	refused(b.StopServiceDeployment(b.ctx, stop))(t, invalidParameter,
		"Invalid stopType: ABORT. The valid value is ROLLBACK.")
	stop.StopType = ""
	if out := must(b.StopServiceDeployment(b.ctx, stop))(t); *out.ServiceDeploymentArn != arn {
		t.Errorf("%s", *out.ServiceDeploymentArn)
	}
	if d := b.rollout(arn); d.Status != "ROLLBACK_REQUESTED" || d.StoppedAt == nil {
		t.Errorf("%+v", d)
	}
	refused(b.StopServiceDeployment(b.ctx, stop))(t, "ConflictException",
		"The service deployment cannot be stopped because it is in the ROLLBACK_REQUESTED state.")
	if d := b.ends(arn); d.Status != "ROLLBACK_SUCCESSFUL" ||
		*d.Rollback.ServiceRevisionArn != *d.SourceServiceRevisions[0].Arn ||
		d.DeploymentCircuitBreaker.Status != "DISABLED" {
		t.Errorf("%+v", d)
	}
	refused(b.StopServiceDeployment(b.ctx, stop))(t, "ConflictException",
		"The service deployment cannot be stopped because it is in the ROLLBACK_SUCCESSFUL state.")
	stop.ServiceDeploymentArn = aws.String(arn + "0")
	refused(b.StopServiceDeployment(b.ctx, stop))(t, "ServiceDeploymentNotFoundException",
		"Service deployment not found.")
}

func TestWhatStartsADeployment(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(1, nil)
	current := *b.service().CurrentServiceDeployment
	for name, in := range map[string]*awsecs.UpdateServiceInput{
		"the same definition":    {TaskDefinition: aws.String("api:1")},
		"the same network":       {NetworkConfiguration: network()},
		"the same platform":      {PlatformVersion: aws.String("LATEST")},
		"the same load balancer": {LoadBalancers: behind(b.blue)},
		"desired count":          {DesiredCount: aws.Int32(2)},
		"configuration":          {DeploymentConfiguration: breaker(true)},
		"grace":                  {HealthCheckGracePeriodSeconds: aws.Int32(5)},
		"exec":                   {EnableExecuteCommand: aws.Bool(true)},
	} {
		if s := b.update(in); *s.CurrentServiceDeployment != current {
			t.Errorf("%s starts a deployment", name)
		}
	}
	for name, in := range map[string]*awsecs.UpdateServiceInput{
		"force": {ForceNewDeployment: true}, "another group": {LoadBalancers: behind(b.green)},
		"none":            {LoadBalancers: []ecstypes.LoadBalancer{}},
		"another network": {NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: worldtest.Subnets[:1]}}},
	} {
		s := b.update(in)
		if *s.CurrentServiceDeployment == current {
			t.Errorf("%s starts no deployment", name)
		}
		current = *s.CurrentServiceDeployment
	}
}

func TestAlarmsAndBakeThroughTheAPI(t *testing.T) {
	b := newBench(t, world.Options{})
	b.Do(func(tx *world.Tx) {
		tx.AddAlarm(&world.Alarm{Name: "5xx", State: "OK", Period: time.Minute, EvaluationPeriods: 2})
	})
	b.rolling(1, &ecstypes.DeploymentConfiguration{Alarms: &ecstypes.DeploymentAlarms{AlarmNames: []string{"5xx"},
		Enable: true, Rollback: true}})
	arn := b.deploy("sim/web:v2")
	b.await("bakes", func(s ecstypes.Service) bool { return len(s.Deployments) == 1 && s.RunningCount == 1 })
	if d := b.rollout(arn); d.Alarms.Status != "MONITORING" || d.Alarms.AlarmNames[0] != "5xx" ||
		d.Status != "IN_PROGRESS" || d.DeploymentCircuitBreaker.Status != "DISABLED" {
		t.Errorf("%+v", d.Alarms)
	}
	b.Do(func(tx *world.Tx) {
		a, _ := tx.Alarms.Get("5xx")
		tx.SetAlarm(a, "ALARM", "too many", "")
	})
	if d := b.ends(arn); d.Status != "ROLLBACK_SUCCESSFUL" || d.Alarms.Status != "TRIGGERED" ||
		d.Alarms.TriggeredAlarmNames[0] != "5xx" {
		t.Errorf("%s %+v", d.Status, d.Alarms)
	}
}

func TestDeploymentConfigurationsAreRefused(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(1, nil)
	type config = ecstypes.DeploymentConfiguration
	threshold := func(kind ecstypes.ThresholdType, n int32) *config {
		return &config{DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{ThresholdConfiguration: &ecstypes.ThresholdConfiguration{Type: kind, Value: n}}}
	}
	early := func(percent *int32, cleanup ecstypes.ServiceRevisionCleanup) *config {
		return &config{MinimumHealthyPercent: aws.Int32(50),
			EarlySuccessCriteria: &ecstypes.DeploymentEarlySuccessCriteria{Enable: true, HealthyPercent: percent,
				SourceServiceRevisionCleanup: cleanup}}
	}
	for _, c := range []struct {
		config *config
		text   string
	}{
		{threshold("BOUNDED_PERCENT", 101), "The value of a BOUNDED_PERCENT threshold must be between 1 and 100."},
		{threshold("UNBOUNDED_PERCENT", 0), "The value of a UNBOUNDED_PERCENT threshold must be between 1 and 100."},
		{threshold("COUNT", 0), "The value of a COUNT threshold must be at least 1."},
		{threshold("HALF", 1), "1 validation error detected: Value 'HALF' at " +
			"'deploymentConfiguration.deploymentCircuitBreaker.thresholdConfiguration.type' failed to satisfy " +
			"constraint: Member must satisfy enum value set: [COUNT, BOUNDED_PERCENT, UNBOUNDED_PERCENT]"},
		{&config{Alarms: &ecstypes.DeploymentAlarms{Enable: true, AlarmNames: []string{}}},
			"alarmNames can not be empty when deployment alarms are enabled."},
		{early(nil, "BLOCKING"), "healthyPercent must be specified when early success criteria are enabled."},
		{early(aws.Int32(101), "BLOCKING"), "healthyPercent must be between 0 and 100."},
		{early(aws.Int32(49), "DEFERRED"), "healthyPercent must be greater than or equal to minimumHealthyPercent."},
		{early(aws.Int32(50), ""), "sourceServiceRevisionCleanup must be BLOCKING or DEFERRED when early success " +
			"criteria are enabled."},
		{&config{BakeTimeInMinutes: aws.Int32(1441)}, "bakeTimeInMinutes must be between 0 and 1440."},
	} {
		refused(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"),
			Service: aws.String("api"), DeploymentConfiguration: c.config}))(t, invalidParameter, c.text)
	}
	s := b.update(&awsecs.UpdateServiceInput{DeploymentConfiguration: early(aws.Int32(50), "DEFERRED")})
	if e := s.DeploymentConfiguration.EarlySuccessCriteria; *e.HealthyPercent != 50 ||
		*s.DeploymentConfiguration.MinimumHealthyPercent != 50 {
		t.Errorf("%+v", e)
	}
	s = b.update(&awsecs.UpdateServiceInput{DeploymentConfiguration: threshold("COUNT", 5)})
	if s.DeploymentConfiguration.DeploymentCircuitBreaker.ThresholdConfiguration.Value != 5 ||
		s.DeploymentConfiguration.EarlySuccessCriteria == nil {
		t.Errorf("%+v", s.DeploymentConfiguration)
	}
}
