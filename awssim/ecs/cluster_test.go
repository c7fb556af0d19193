package ecs_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestClusters(t *testing.T) {
	b := newBench(t, world.Options{})
	for i := range 105 {
		must(b.CreateCluster(b.ctx, &awsecs.CreateClusterInput{ClusterName: aws.String(fmt.Sprintf("c%d", i))}))(t)
	}
	n := 0
	for p := awsecs.NewListClustersPaginator(b.Client, &awsecs.ListClustersInput{}); p.HasMorePages(); {
		n += len(must(p.NextPage(b.ctx))(t).ClusterArns)
	}
	if n != 106 {
		t.Errorf("%d clusters", n)
	}
	must(b.PutClusterCapacityProviders(b.ctx, &awsecs.PutClusterCapacityProvidersInput{Cluster: aws.String("web"),
		CapacityProviders: []string{"FARGATE", "FARGATE_SPOT"},
		DefaultCapacityProviderStrategy: []ecstypes.CapacityProviderStrategyItem{{CapacityProvider: aws.String(
			"FARGATE_SPOT"), Weight: 1}}}))(t)
	must(b.UpdateClusterSettings(b.ctx, &awsecs.UpdateClusterSettingsInput{Cluster: aws.String("web"),
		Settings: []ecstypes.ClusterSetting{{Name: "containerInsights", Value: aws.String("enhanced")}}}))(t)
	must(b.DeleteCluster(b.ctx, &awsecs.DeleteClusterInput{Cluster: aws.String("c1")}))(t)
	out := must(b.DescribeClusters(b.ctx, &awsecs.DescribeClustersInput{Clusters: []string{"web", "c1", "none"},
		Include: []ecstypes.ClusterField{"SETTINGS"}}))(t)
	if len(out.Clusters) != 2 || *out.Clusters[0].Settings[0].Value != "enhanced" ||
		len(out.Clusters[0].CapacityProviders) != 2 || *out.Clusters[1].Status != "INACTIVE" ||
		*out.Failures[0].Reason != "MISSING" {
		t.Errorf("%+v", out)
	}
	b.register("sim/job:v1")
	in := runInput("api", 1)
	in.LaunchType = ""
	if x := must(b.RunTask(b.ctx, in))(t).Tasks[0]; aws.ToString(x.CapacityProviderName) != "FARGATE_SPOT" ||
		x.LaunchType != "FARGATE" {
		t.Errorf("by the default strategy: %+v", x)
	}
	refused(b.DeleteCluster(b.ctx, &awsecs.DeleteClusterInput{Cluster: aws.String("web")}))(t,
		"ClusterContainsTasksException", "The Cluster cannot be deleted while Tasks are active.")
}

func TestCapacityProviders(t *testing.T) {
	b := newBench(t, world.Options{})
	must(b.CreateCapacityProvider(b.ctx, &awsecs.CreateCapacityProviderInput{Name: aws.String("mine"),
		AutoScalingGroupProvider: &ecstypes.AutoScalingGroupProvider{AutoScalingGroupArn: aws.String(
			"arn:aws:autoscaling:x")}}))(t)
	out := must(b.DescribeCapacityProviders(b.ctx, &awsecs.DescribeCapacityProvidersInput{}))(t)
	if len(out.CapacityProviders) != 3 || *out.CapacityProviders[0].Name != "FARGATE" {
		t.Errorf("%+v", out.CapacityProviders)
	}
	must(b.DeleteCapacityProvider(b.ctx, &awsecs.DeleteCapacityProviderInput{CapacityProvider: aws.String("mine")}))(t)
	refused(b.DeleteCapacityProvider(b.ctx,
		&awsecs.DeleteCapacityProviderInput{CapacityProvider: aws.String("FARGATE")}))(t, invalidParameter,
		"The specified capacity provider cannot be changed: it is reserved.")
}

func TestAccountSettings(t *testing.T) {
	b := newBench(t, world.Options{})
	if out := must(b.ListAccountSettings(b.ctx, &awsecs.ListAccountSettingsInput{}))(t); len(out.Settings) != 0 {
		t.Errorf("set from the start: %v", out.Settings)
	}
	value := func() string {
		t.Helper()
		out := must(b.ListAccountSettings(b.ctx, &awsecs.ListAccountSettingsInput{EffectiveSettings: true,
			Name: "containerInsights"}))(t)
		return *out.Settings[0].Value
	}
	if v := value(); v != "disabled" {
		t.Errorf("by default %s", v)
	}
	must(b.PutAccountSettingDefault(b.ctx, &awsecs.PutAccountSettingDefaultInput{Name: "containerInsights",
		Value: aws.String("enabled")}))(t)
	must(b.PutAccountSetting(b.ctx, &awsecs.PutAccountSettingInput{Name: "containerInsights",
		Value: aws.String("enhanced")}))(t)
	if v := value(); v != "enhanced" {
		t.Errorf("after both %s", v)
	}
	must(b.DeleteAccountSetting(b.ctx, &awsecs.DeleteAccountSettingInput{Name: "containerInsights"}))(t)
	if v := value(); v != "enabled" {
		t.Errorf("after the deletion %s", v)
	}
}

func TestTags(t *testing.T) {
	b := newBench(t, world.Options{})
	v1 := b.register("sim/web:v1")
	svc := b.external(1)
	ts := b.set(v1, b.blue, 100)
	b.steady(1)
	task := must(b.ListTasks(b.ctx, &awsecs.ListTasksInput{Cluster: aws.String("web")}))(t).TaskArns[0]
	tag := func(k, v string) []ecstypes.Tag { return []ecstypes.Tag{{Key: &k, Value: &v}} }
	host := b.fleet(1)[0]
	for _, arn := range []string{*svc.ClusterArn, *svc.ServiceArn, *ts.TaskSetArn, v1, task, host} {
		must(b.TagResource(b.ctx, &awsecs.TagResourceInput{ResourceArn: &arn, Tags: tag("a", "1")}))(t)
		must(b.TagResource(b.ctx, &awsecs.TagResourceInput{ResourceArn: &arn, Tags: tag("b", "2")}))(t)
		must(b.TagResource(b.ctx, &awsecs.TagResourceInput{ResourceArn: &arn, Tags: tag("a", "3")}))(t)
		must(b.UntagResource(b.ctx, &awsecs.UntagResourceInput{ResourceArn: &arn, TagKeys: []string{"b", "never"}}))(t)
		out := must(b.ListTagsForResource(b.ctx, &awsecs.ListTagsForResourceInput{ResourceArn: &arn}))(t)
		if len(out.Tags) != 1 || *out.Tags[0].Value != "3" {
			t.Errorf("%s: %v", arn, out.Tags)
		}
		refused(b.TagResource(b.ctx, &awsecs.TagResourceInput{ResourceArn: &arn, Tags: tag("aws:x", "1")}))(t,
			invalidParameter, "Tag keys cannot start with aws: (aws:x).")
		refused(b.UntagResource(b.ctx, &awsecs.UntagResourceInput{ResourceArn: &arn, TagKeys: []string{"aws:x"}}))(t,
			invalidParameter, "Tag keys cannot start with aws: (aws:x).")
	}
	if s := b.service(); len(s.Tags) != 0 || len(b.instances()[host].Tags) != 0 {
		t.Error("tags are shown unasked")
	}
	services := must(b.DescribeServices(b.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
		Services: []string{"api"}, Include: []ecstypes.ServiceField{"TAGS"}}))(t).Services
	if len(services) != 1 || len(services[0].Tags) != 1 || *services[0].Tags[0].Value != "3" {
		t.Errorf("%+v", services)
	}
	hosts := must(b.DescribeContainerInstances(b.ctx, &awsecs.DescribeContainerInstancesInput{
		Cluster: aws.String("web"), ContainerInstances: []string{host},
		Include: []ecstypes.ContainerInstanceField{"TAGS"}}))(t).ContainerInstances
	if len(hosts) != 1 || len(hosts[0].Tags) != 1 || *hosts[0].Tags[0].Value != "3" {
		t.Errorf("%+v", hosts)
	}
	var many []ecstypes.Tag
	for i := range 50 {
		many = append(many, tag(fmt.Sprint(i), "")...)
	}
	refused(b.TagResource(b.ctx, &awsecs.TagResourceInput{ResourceArn: svc.ServiceArn, Tags: many}))(t,
		invalidParameter, "Too many tags: at most 50 are allowed on a resource.")
}

// Tags that were asked for are a list, also without any.
func TestNoTagsAreAnEmptyList(t *testing.T) {
	b := newBench(t, world.Options{})
	v1 := b.register("sim/web:v1")
	b.external(1)
	b.set(v1, b.blue, 0)
	services := must(b.DescribeServices(b.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
		Services: []string{"api"}, Include: []ecstypes.ServiceField{"TAGS"}}))(t).Services
	sets := must(b.DescribeTaskSets(b.ctx, &awsecs.DescribeTaskSetsInput{Cluster: aws.String("web"),
		Service: aws.String("api"), Include: []ecstypes.TaskSetField{"TAGS"}}))(t).TaskSets
	for _, list := range [][]ecstypes.Tag{services[0].Tags, sets[0].Tags} {
		if list == nil || len(list) > 0 {
			t.Errorf("tags %v", list)
		}
	}
	sets = must(b.DescribeTaskSets(b.ctx, &awsecs.DescribeTaskSetsInput{Cluster: aws.String("web"),
		Service: aws.String("api")}))(t).TaskSets
	if s := b.service(); s.Tags != nil || sets[0].Tags != nil {
		t.Error("tags are shown unasked")
	}
}

func TestNoContainerInstances(t *testing.T) {
	b := newBench(t, world.Options{})
	if out := must(b.ListContainerInstances(b.ctx,
		&awsecs.ListContainerInstancesInput{Cluster: aws.String("web")}))(t); len(out.ContainerInstanceArns) != 0 {
		t.Errorf("%v", out.ContainerInstanceArns)
	}
	out := must(b.DescribeContainerInstances(b.ctx, &awsecs.DescribeContainerInstancesInput{Cluster: aws.String("web"),
		ContainerInstances: []string{"x"}}))(t)
	if *out.Failures[0].Reason != "MISSING" {
		t.Errorf("%+v", out)
	}
}

func TestWhatIsNotSimulatedIsSaid(t *testing.T) {
	b := newBench(t, world.Options{})
	refused(b.GetTaskProtection(b.ctx, &awsecs.GetTaskProtectionInput{Cluster: aws.String("web")}))(t,
		"UnknownOperationException", "ecs:GetTaskProtection: not simulated.")
}
