package ecs_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// call sends a request whose input is given as JSON, and returns "code: text" of the refusal.
func (b *bench) call(operation, input string) string {
	b.t.Helper()
	f := reflect.ValueOf(b.Client).MethodByName(operation)
	in := reflect.New(f.Type().In(1).Elem())
	if err := json.Unmarshal([]byte(input), in.Interface()); err != nil {
		b.t.Fatalf("%s %s: %v", operation, input, err)
	}
	out := f.Call([]reflect.Value{reflect.ValueOf(b.ctx), in})
	err, _ := out[1].Interface().(error)
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return api.ErrorCode() + ": " + api.ErrorMessage()
	}
	return err.Error()
}

// containers is a task definition with members in its container app and others beside it.
func containers(app, more string) string {
	c := `{"Family": "f", "ContainerDefinitions": [{"Name": "app", "Image": "app", "Memory": 128` + comma(app) + `}`
	return c + more + `}`
}

// onFargate is a task definition for Fargate with members in its container.
func onFargate(app string) string {
	return containers(app, `], "RequiresCompatibilities": ["FARGATE"], "NetworkMode": "awsvpc", "Cpu": "256",
		"Memory": "512"`)
}

func comma(s string) string {
	if s == "" {
		return ""
	}
	return ", " + s
}

const (
	secretOf = `"Secrets": [{"Name": "KEY", "ValueFrom": "key"}]`
	withRole = `], "ExecutionRoleArn": "arn:aws:iam::123456789012:role/x"`
	awslogs  = `"LogConfiguration": {"LogDriver": "awslogs", "Options": {"awslogs-group": "g", "awslogs-region": "r"}}`
)

// refusedDefinitions are registrations with AWS's answer; "" is success.
var refusedDefinitions = []struct{ input, answer string }{
	{containers(`"Memory": 3`, `]`),
		"ClientException: Invalid setting for container 'app'. 'memory' must be at least 4."},
	{containers(`"DependsOn": [{"ContainerName": "db", "Condition": "START"}]`, `]`),
		"ClientException: Container 'app' depends on container 'db', which is not in the task definition."},
	{containers(`"DependsOn": [{"ContainerName": "app", "Condition": "START"}]`, `]`),
		"ClientException: There is a cycle in the dependencies of container 'app'."},
	{containers(`"DependsOn": [{"ContainerName": "b", "Condition": "START"}]`,
		`, {"Name": "b", "Image": "b", "Memory": 64, "DependsOn": [{"ContainerName": "app", "Condition": "START"}]}]`),
		"ClientException: There is a cycle in the dependencies of container 'app'."},
	{containers(`"DependsOn": [{"ContainerName": "b", "Condition": "SUCCESS"}]`,
		`, {"Name": "b", "Image": "b", "Memory": 64}]`),
		"ClientException: A dependency container with SUCCESS or COMPLETE condition cannot be an essential container"},
	{containers(`"DependsOn": [{"ContainerName": "b", "Condition": "SUCCESS"}]`,
		`, {"Name": "b", "Image": "b", "Memory": 64, "Essential": false}]`), ""},
	{containers(`"DependsOn": [{"ContainerName": "b", "Condition": "HEALTHY"}]`,
		`, {"Name": "b", "Image": "b", "Memory": 64}]`),
		"ClientException: Container 'app' depends on the health of container 'b', which has no health check."},
	{strings.Replace(onFargate(""), `"Image": "app"`, `"Image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/app:v1"`, 1),
		"ClientException: Fargate requires task definition to have execution role ARN to support ECR images."},
	{containers(`"VolumesFrom": [{"SourceContainer": "db"}]`, `]`),
		"ClientException: Unknown container 'db' in volumesFrom of container 'app'."},
	{containers(`"Links": ["db:database"]`, `]`),
		"ClientException: Unknown container 'db' in links of container 'app'."},
	{containers(`"Links": ["app"]`, `], "NetworkMode": "awsvpc"`),
		"ClientException: Links are not supported when networkMode=awsvpc"},
	{containers(secretOf, `]`), "ClientException: When you are specifying container secrets, you must also specify a " +
		"value for 'executionRoleArn'."},
	{containers(secretOf, withRole), ""},
	{containers(secretOf+`, "Environment": [{"Name": "KEY", "Value": "1"}]`, withRole),
		"ClientException: The secret name must be unique and not shared with any new or existing environment variables " +
			"set on the container, such as 'KEY'."},
	{containers(`"LogConfiguration": {"LogDriver": "awslogs", "Options": {"awslogs-group": "g"}}`, `]`),
		"ClientException: Log driver awslogs requires options: awslogs-region, awslogs-group"},
	{containers(awslogs, `]`), ""},
	{containers(`"LogConfiguration": {"LogDriver": "awsfirelens"}`, `]`),
		"ClientException: Container 'app': the log driver awsfirelens requires a container with a firelensConfiguration."},
	{containers(`"LogConfiguration": {"LogDriver": "awsfirelens"}`,
		`, {"Name": "log", "Image": "log", "Memory": 64, "FirelensConfiguration": {"Type": "fluentbit"}}]`), ""},
	{containers(`"Ulimits": [{"Name": "nofile", "SoftLimit": 2, "HardLimit": 1}]`, `]`),
		"ClientException: Container 'app': the soft limit of ulimit 'nofile' is greater than its hard limit."},
	{containers(`"PortMappings": [{"ContainerPort": 80, "Name": "Web"}]`, `]`),
		"ClientException: Container 'app': the port mapping name 'Web' can have 1 to 64 lowercase letters, numbers, " +
			"underscores and hyphens, and cannot start with a hyphen."},
	{containers(`"PortMappings": [{"ContainerPort": 80, "Name": "web"}, {"ContainerPort": 81, "Name": "web"}]`, `]`),
		"ClientException: Port mapping names must be unique: web."},
	{onFargate(`"Memory": 1024`),
		"ClientException: The 'memory' setting for container 'app' is greater than for the task."},
	{onFargate(`"Cpu": 512`), "ClientException: The sum of all container 'cpu' values cannot be greater than the value " +
		"of the task 'cpu'."},
	{containers("", `], "Volumes": [{"Name": "v", "Host": {"SourcePath": "/v"},
		"EfsVolumeConfiguration": {"FileSystemId": "fs"}}]`),
		"ClientException: Volume 'v' can have only one configuration."},
}

func TestContainersAreCompared(t *testing.T) {
	b := newBench(t, world.Options{})
	for _, c := range refusedDefinitions {
		if got := b.call("RegisterTaskDefinition", c.input); got != c.answer {
			t.Errorf("%s\n got  %s\n want %s", c.input, got, c.answer)
		}
	}
}

const mustForce = "InvalidParameterException: When switching from launch type to capacity provider strategy on an " +
	"existing service, or making a change to a capacity provider strategy on a service that is already using one, you " +
	"must force a new deployment."

// refusedCalls are requests in their order, with AWS's answer; "" is success.
var refusedCalls = []struct{ operation, input, answer string }{
	{"CreateCluster", `{"ClusterName": "a", "Settings": [{"Name": "containerInsights", "Value": "on"}]}`,
		"InvalidParameterException: Invalid value for the setting containerInsights: on."},
	{"CreateCluster", `{"ClusterName": "a", "Settings": [{"Name": "containerInsights", "Value": "enhanced"}]}`, ""},
	{"UpdateCluster", `{"Cluster": "a", "Settings": [{"Name": "containerInsights", "Value": "on"}]}`,
		"InvalidParameterException: Invalid value for the setting containerInsights: on."},
	{"UpdateClusterSettings", `{"Cluster": "a", "Settings": [{"Name": "containerInsights", "Value": "on"}]}`,
		"InvalidParameterException: Invalid value for the setting containerInsights: on."},
	{"CreateCluster", `{"ClusterName": "b", "Tags": [{"Key": "who", "Value": "bot[1]"}]}`, "InvalidParameterException: " +
		"Some tags contain invalid characters. Valid characters: UTF-8 letters, spaces, numbers and _ . / = + - : @."},
	{"CreateCluster", `{"ClusterName": "b", "Tags": [{"Key": "größe", "Value": "a b/c=d+e-f:g@h.i_1"}]}`, ""},
	{"CreateCapacityProvider", `{"Name": "ecs-fleet", "AutoScalingGroupProvider": {"AutoScalingGroupArn": "x"}}`,
		"InvalidParameterException: Invalid capacity provider name."},
	{"CreateCapacityProvider", `{"Name": "FargateLike", "AutoScalingGroupProvider": {"AutoScalingGroupArn": "x"}}`,
		"InvalidParameterException: Invalid capacity provider name."},
	{"CreateCapacityProvider", `{"Name": "fleet", "AutoScalingGroupProvider": {"AutoScalingGroupArn": "x",
		"ManagedScaling": {"TargetCapacity": 101}}}`,
		"InvalidParameterException: The managed scaling targetCapacity must be between 1 and 100."},
	{"CreateCapacityProvider", `{"Name": "fleet", "AutoScalingGroupProvider": {"AutoScalingGroupArn": "x",
		"ManagedTerminationProtection": "ENABLED"}}`,
		"InvalidParameterException: Managed termination protection requires managed scaling to be enabled."},
	{"CreateCapacityProvider", `{"Name": "fleet", "AutoScalingGroupProvider": {"AutoScalingGroupArn": "x"}}`, ""},
	{"UpdateCapacityProvider", `{"Name": "fleet", "AutoScalingGroupProvider": {"ManagedScaling":
		{"Status": "ENABLED", "MinimumScalingStepSize": 0}}}`,
		"InvalidParameterException: The managed scaling minimumScalingStepSize must be between 1 and 10000."},
	{"PutAccountSetting", `{"Name": "containerInsights", "Value": "on"}`,
		"InvalidParameterException: Invalid setting 'value'"},
	{"ListAccountSettings", `{"Name": "unknown"}`, "InvalidParameterException: unknown should be one of " +
		"[serviceLongArnFormat,taskLongArnFormat,containerInstanceLongArnFormat,awsvpcTrunking,containerInsights," +
		"fargateFIPSMode,tagResourceAuthorization,fargateTaskRetirementWaitPeriod,guardDutyActivate," +
		"defaultLogDriverMode,fargateEventWindows]"},
	{"PutAccountSettingDefault", `{"Name": "fargateTaskRetirementWaitPeriod", "Value": "14"}`, ""},
	{"ListAccountSettings", `{"Value": "enabled"}`,
		"InvalidParameterException: A setting name must be specified together with a setting value."},
	{"DeregisterTaskDefinition", `{"TaskDefinition": "api"}`, "ClientException: Revision is missing."},
	{"DeregisterTaskDefinition", `{"TaskDefinition": "api:one"}`,
		"InvalidParameterException: Invalid revision number. Number: one"},
	{"DescribeContainerInstances", `{"Cluster": "web", "ContainerInstances": []}`,
		"InvalidParameterException: Container instance cannot be empty."},
	{"ListServices", `{"Cluster": "web", "SchedulingStrategy": "ONCE"}`,
		"InvalidParameterException: Scheduling strategy should be one of [REPLICA,DAEMON]"},
	{"RunTask", `{"Cluster": "web", "TaskDefinition": "f", "LaunchType": "Fargate"}`, "InvalidParameterException: " +
		"launch type should be one of [EC2,FARGATE,EXTERNAL,FMI,MANAGED_INSTANCES]"},

	{"CreateService", service("s1", `"AvailabilityZoneRebalancing": "ENABLED", "DeploymentConfiguration":
		{"MinimumHealthyPercent": 50, "MaximumPercent": 100}`),
		"InvalidParameterException: AvailabilityZoneRebalancing does not support maximumPercent <= 100"},
	{"CreateService", service("s1", `"DesiredCount": -1`),
		"InvalidParameterException: DesiredCount can not be lesser than 0"},
	{"CreateService", `{"Cluster": "web", "ServiceName": "s1", "TaskDefinition": "api", "LaunchType": "FARGATE",
		"SchedulingStrategy": "DAEMON"}`, "InvalidParameterException: The daemon scheduling strategy does not support " +
		"the FARGATE launch type. Change the launch type and try again"},
	{"CreateService", service("s1", `"LoadBalancers": [{"LoadBalancerName": "old", "ContainerName": "app",
		"ContainerPort": 80}]`), "UnsupportedFeatureException: Classic load balancers: not simulated."},
	{"CreateService", service("s1", `"PlacementStrategy": [{"Type": "binpack", "Field": "disk"}]`),
		"InvalidParameterException: The field of the placement strategy binpack must be cpu or memory."},
	{"CreateService", service("s1", `"PlacementStrategy": [{"Type": "random", "Field": "cpu"}]`),
		"InvalidParameterException: The placement strategy random cannot have a field."},
	{"CreateService", service("s1", `"PlacementStrategy": [`+strings.Repeat(`{"Type": "random"}, `, 5)+
		`{"Type": "random"}]`),
		"InvalidParameterException: placement strategies can have at most 5 items."},
	{"CreateService", service("s1", `"PlacementConstraints": [{"Type": "distinctInstance", "Expression": "x"}]`),
		"InvalidParameterException: A placement constraint of type distinctInstance cannot have an expression."},
	{"CreateService", service("s1", `"PlacementConstraints": [{"Type": "memberOf"}]`),
		"InvalidParameterException: A placement constraint of type memberOf must have an expression."},
	{"CreateService", service("s1", `"EnableExecuteCommand": true`), "InvalidParameterException: The service couldn't " +
		"be created because a valid taskRoleArn is not being used. Specify a valid task role in your task definition and " +
		"try again."},
	{"CreateService", service("s1", `"PlacementStrategy": [{"Type": "spread", "Field": "instanceId"}, {"Type": "binpack",
		"Field": "MEMORY"}], "PlacementConstraints": [{"Type": "distinctInstance"}]`), ""},
	{"UpdateService", `{"Cluster": "web", "Service": "s1", "DesiredCount": -1}`,
		"InvalidParameterException: Task count can not be lesser than 0"},
	{"UpdateService", `{"Cluster": "web", "Service": "s1", "PlacementStrategy": [{"Type": "binpack"}]}`,
		"InvalidParameterException: The field of the placement strategy binpack must be cpu or memory."},
	{"UpdateService", `{"Cluster": "web", "Service": "s1", "EnableExecuteCommand": true}`, "InvalidParameterException: " +
		"The service couldn't be updated because a valid taskRoleArn is not being used. Specify a valid task role in your " +
		"task definition and try again."},
	{"UpdateService", `{"Cluster": "web", "Service": "s1", "HealthCheckGracePeriodSeconds": 10}`,
		"InvalidParameterException: Health check grace period is only valid for services configured to use load balancers"},
	{"PutClusterCapacityProviders", `{"Cluster": "web", "CapacityProviders": ["fleet"],
		"DefaultCapacityProviderStrategy": []}`, ""},
	{"UpdateService", `{"Cluster": "web", "Service": "s1", "CapacityProviderStrategy": [{"CapacityProvider": "fleet",
		"Weight": 1}]}`, mustForce},
	{"UpdateService", `{"Cluster": "web", "Service": "s1", "ForceNewDeployment": true, "CapacityProviderStrategy":
		[{"CapacityProvider": "fleet", "Weight": 1}]}`, ""},
	{"UpdateService", `{"Cluster": "web", "Service": "s1", "CapacityProviderStrategy": [{"CapacityProvider": "fleet",
		"Weight": 1}]}`, ""},
	{"UpdateService", `{"Cluster": "web", "Service": "s1", "CapacityProviderStrategy": [{"CapacityProvider": "fleet",
		"Weight": 2}]}`, mustForce},
	{"RunTask", `{"Cluster": "web", "TaskDefinition": "f", "EnableExecuteCommand": true}`, "InvalidParameterException: " +
		"The task couldn't be started because a valid taskRoleArn is not being used. Specify a valid task role in your " +
		"task definition and try again."},
	{"RunTask", `{"Cluster": "web", "TaskDefinition": "f", "EnableExecuteCommand": true,
		"Overrides": {"TaskRoleArn": "arn:aws:iam::123456789012:role/x"}}`, ""},
}

// service is a service on container instances with more members.
func service(name, more string) string {
	return `{"Cluster": "web", "ServiceName": "` + name + `", "TaskDefinition": "f", "DesiredCount": 1` + comma(more) + `}`
}

func TestCallsAreRefusedAsByAWS(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("sim/web:v1")
	if got := b.call("RegisterTaskDefinition", containers("", "]")); got != "" {
		t.Fatal(got)
	}
	for _, c := range refusedCalls {
		if got := b.call(c.operation, c.input); got != c.answer {
			t.Errorf("%s %s\n got  %s\n want %s", c.operation, c.input, got, c.answer)
		}
	}
}

// A refused registration uses no revision, and a target group serves a port of a container once.
func TestRefusalsLeaveNothing(t *testing.T) {
	b := newBench(t, world.Options{})
	d := b.register("sim/web:v1")
	b.call("RegisterTaskDefinition", strings.Replace(onFargate(`"Cpu": 512`), `"f"`, `"api"`, 1))
	if next := b.register("sim/web:v2"); !strings.HasSuffix(next, "/api:2") {
		t.Errorf("after a refusal the next revision is %s", next)
	}
	in := rollingInput(d, 1, b.blue)
	in.LoadBalancers = append(in.LoadBalancers, in.LoadBalancers...)
	refused(b.CreateService(b.ctx, in))(t, "InvalidParameterException", "The target group "+b.blue+
		" is specified more than once for container web, port 8080.")
	out := must(b.ListServices(b.ctx, &awsecs.ListServicesInput{Cluster: aws.String("web")}))(t)
	if len(out.ServiceArns) != 0 {
		t.Errorf("a refused call has created %v", out.ServiceArns)
	}
}

// AWS fills in the defaults of a capacity provider's managed scaling.
func TestCapacityProvidersAreFilledAsAWSDoes(t *testing.T) {
	b := newBench(t, world.Options{})
	out := must(b.CreateCapacityProvider(b.ctx, &awsecs.CreateCapacityProviderInput{Name: aws.String("fleet"),
		AutoScalingGroupProvider: &ecstypes.AutoScalingGroupProvider{AutoScalingGroupArn: aws.String("x")}}))(t)
	g := out.CapacityProvider.AutoScalingGroupProvider
	if m := g.ManagedScaling; m.Status != "DISABLED" || *m.TargetCapacity != 100 || *m.InstanceWarmupPeriod != 300 ||
		*m.MaximumScalingStepSize != 10_000 || g.ManagedTerminationProtection != "DISABLED" ||
		g.ManagedDraining != "ENABLED" {
		t.Errorf("%+v %+v", g, m)
	}
}

// A service is rebalanced by default if it can be, and never where AWS cannot.
func TestServicesAreRebalancedWhereTheyCanBe(t *testing.T) {
	b := newBench(t, world.Options{})
	d := b.register("sim/web:v1")
	limits := func(most int32) *ecstypes.DeploymentConfiguration {
		return &ecstypes.DeploymentConfiguration{MinimumHealthyPercent: aws.Int32(50), MaximumPercent: aws.Int32(most)}
	}
	setting := func(name string) ecstypes.AvailabilityZoneRebalancing {
		out := must(b.DescribeServices(b.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
			Services: []string{name}}))(t)
		return out.Services[0].AvailabilityZoneRebalancing
	}
	for name, c := range map[string]struct {
		change func(*awsecs.CreateServiceInput)
		want   ecstypes.AvailabilityZoneRebalancing
	}{
		"plain": {func(*awsecs.CreateServiceInput) {}, "ENABLED"},
		"full":  {func(in *awsecs.CreateServiceInput) { in.DeploymentConfiguration = limits(100) }, "DISABLED"},
		"daemon": {func(in *awsecs.CreateServiceInput) { in.SchedulingStrategy, in.DesiredCount = "DAEMON", nil },
			"DISABLED"},
		"packed": {func(in *awsecs.CreateServiceInput) {
			in.PlacementStrategy = []ecstypes.PlacementStrategy{{Type: "binpack", Field: aws.String("cpu")}}
		}, "DISABLED"},
		"spread": {func(in *awsecs.CreateServiceInput) {
			in.PlacementStrategy = []ecstypes.PlacementStrategy{{Type: "spread",
				Field: aws.String("attribute:ecs.availability-zone")}}
		}, "ENABLED"},
	} {
		in := &awsecs.CreateServiceInput{Cluster: aws.String("web"), ServiceName: &name, TaskDefinition: &d,
			DesiredCount: aws.Int32(1), LaunchType: "EC2", NetworkConfiguration: network()}
		c.change(in)
		must(b.CreateService(b.ctx, in))(t)
		if got := setting(name); got != c.want {
			t.Errorf("%s: rebalancing is %s, want %s", name, got, c.want)
		}
	}
	refused(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("plain"),
		DeploymentConfiguration: limits(100)}))(t, invalidParameter,
		"AvailabilityZoneRebalancing does not support maximumPercent <= 100")
	refused(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("full"),
		AvailabilityZoneRebalancing: "ENABLED"}))(t, invalidParameter,
		"AvailabilityZoneRebalancing does not support maximumPercent <= 100")
	if got := setting("full"); got != "DISABLED" {
		t.Errorf("a refused update has set rebalancing %s", got)
	}
	must(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("plain"),
		DeploymentConfiguration: limits(100), AvailabilityZoneRebalancing: "DISABLED"}))(t)
	must(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("full"),
		DeploymentConfiguration: limits(150), AvailabilityZoneRebalancing: "ENABLED"}))(t)
}
