package replica_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/replica"
)

// shapes are services as people write them: members of the service definition, of the task definition
// and of its container, in addition to those of every service.
var shapes = map[string]struct{ service, task, container string }{
	"Fargate": {fargate, fargateTask, ""},
	"Fargate Spot": {`"capacityProviderStrategy": [{"capacityProvider": "FARGATE_SPOT", "weight": 1}],
		` + vpc, fargateTask, ""},
	"two providers": {`"capacityProviderStrategy": [{"capacityProvider": "FARGATE", "weight": 1,
		"base": 1}, {"capacityProvider": "FARGATE_SPOT", "weight": 4}], ` + vpc, fargateTask, ""},
	"own provider": {`"capacityProviderStrategy": [{"capacityProvider": "my-asg", "weight": 1}]`, "", ""},
	"EC2 bridge":   {`"launchType": "EC2"`, "", `"portMappings": [{"containerPort": 80, "hostPort": 0}]`},
	"EC2 host": {`"launchType": "EC2"`, `"networkMode": "host"`,
		`"portMappings": [{"containerPort": 80}]`},
	"EC2 awsvpc": {`"launchType": "EC2", ` + vpc, `"networkMode": "awsvpc"`, ""},
	"EC2 placed": {`"launchType": "EC2", "placementStrategy": [{"type": "spread",
		"field": "instanceId"}], "placementConstraints": [{"type": "distinctInstance"}]`, "", ""},
	"a daemon": {`"launchType": "EC2", "schedulingStrategy": "DAEMON"`, "", ""},
	"Service Connect": {fargate + `, "serviceConnectConfiguration": {"enabled": true, "namespace": "shop",
		"services": [{"portName": "http", "clientAliases": [{"port": 80}]}]}`, fargateTask,
		`"portMappings": [{"name": "http", "containerPort": 80}]`},
	"connect off": {fargate + `, "serviceConnectConfiguration": {"enabled": false}`, fargateTask, ""},
	"EFS": {fargate, fargateTask + `, "volumes": [{"name": "data",
		"efsVolumeConfiguration": {"fileSystemId": "fs-1", "rootDirectory": "/"}}]`,
		`"mountPoints": [
		{"sourceVolume": "data", "containerPath": "/data"}]`},
	"circuit breaker": {fargate + `,
		"deploymentConfiguration": {"deploymentCircuitBreaker": {"enable": true, "rollback": true},
		"maximumPercent": 150, "minimumHealthyPercent": 50}`, fargateTask, ""},
	"no rebalancing": {fargate + `, "availabilityZoneRebalancing": "DISABLED",
		"enableExecuteCommand": true, "propagateTags": "SERVICE", "tags": [{"key": "team",
		"value": "shop"}]`, fargateTask + `, "taskRoleArn": "arn:aws:iam::123456789012:role/shop"`, ""},
	"balanced": {fargate + `, "loadBalancers": [` + attachment("web") + `],
		"healthCheckGracePeriodSeconds": 60`, fargateTask, web},
	"two groups": {fargate + `, "loadBalancers": [` + attachment("web") + `,
		` + attachment("internal") + `]`, fargateTask, web},
	"BLUE_GREEN": {fargate + `, "loadBalancers": [` + pairAttachment("web", "0") + `],
		"deploymentConfiguration": {"strategy": "BLUE_GREEN", "bakeTimeInMinutes": 0}`, fargateTask, web},
	"BLUE_GREEN, connected": {fargate + `, "loadBalancers": [` + pairAttachment("web", "0") + `],
		"serviceConnectConfiguration": {"enabled": true, "namespace": "shop", "services": [{"portName": "http",
		"clientAliases": [{"port": 80}]}]},
		"deploymentConfiguration": {"strategy": "BLUE_GREEN", "bakeTimeInMinutes": 0}`, fargateTask,
		`"portMappings": [{"name": "http", "containerPort": 80, "appProtocol": "http"}]`},
	"two pairs": {fargate + `, "loadBalancers": [` + pairAttachment("web", "0") + `, ` + pairAttachment("inner", "2") + `],
		"deploymentConfiguration": {"strategy": "LINEAR", "bakeTimeInMinutes": 2,
		"linearConfiguration": {"stepPercent": 25.0, "stepBakeTimeInMinutes": 1}}`, fargateTask, web},
	"a pair for later": {fargate + `, "loadBalancers": [` + pairAttachment("web", "0") + `]`, fargateTask, web},
	"named": {fargate + `,
		"serviceRegistries": [{"registryArn": "` + registryARN + `"}]`, fargateTask, web},
	"task sets": {fargate + `, "deploymentController": {"type": "EXTERNAL"}`, fargateTask, ""},
	"many subnets": {`"launchType": "FARGATE",
		"networkConfiguration": {"awsvpcConfiguration": {"subnets": ["subnet-1", "subnet-2", "subnet-3",
		"subnet-4", "subnet-5", "subnet-6"]}}`, fargateTask, ""},
	"an ARM platform": {fargate + `, "platformVersion": "LATEST"`, fargateTask + `,
		"runtimePlatform": {"cpuArchitecture": "ARM64", "operatingSystemFamily": "LINUX"},
		"ephemeralStorage": {"sizeInGiB": 50}`, ""},
	"logs and a secret": {fargate, fargateTask, `"logConfiguration": {"logDriver": "awslogs",
		"options": {"awslogs-group": "/ecs/a", "awslogs-region": "us-east-1",
		"awslogs-stream-prefix": "a"}}, "secrets": [{"name": "A",
		"valueFrom": "arn:aws:ssm:us-east-1:123456789012:parameter/a"}],
		"healthCheck": {"command": ["CMD-SHELL", "curl -f http://localhost/ || exit 1"]}`},
}

const (
	registryARN = "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-utcrh6wavdkggqtk"

	vpc = `"networkConfiguration": {"awsvpcConfiguration": {"subnets": ["subnet-12344321"], ` +
		`"securityGroups": ["sg-12344321"], "assignPublicIp": "ENABLED"}}`
	fargate     = `"launchType": "FARGATE", ` + vpc
	fargateTask = `"networkMode": "awsvpc", "requiresCompatibilities": ["FARGATE"], "cpu": "256",
		"memory": "512", ` +
		`"executionRoleArn": "arn:aws:iam::123456789012:role/ecsTaskExecutionRole"`
	web = `"portMappings": [{"containerPort": 80, "protocol": "tcp"}]`
)

func attachment(group string) string {
	return `{"targetGroupArn": "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/` + group +
		`/943f017f100becff", "containerName": "app", "containerPort": 80}`
}

// pairAttachment is a load balancer with a pair of target groups, such as web and web-next, and its rules.
func pairAttachment(group, rule string) string {
	const rules = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/edge/0123456789abcdef/" +
		"0123456789abcdef/0123456789abcde"
	return strings.TrimSuffix(attachment(group), "}") + `, "advancedConfiguration": {"alternateTargetGroupArn":
		"arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/` + group + `-next/943f017f100becff",
		"productionListenerRule": "` + rules + rule + `", "testListenerRule": "` + rules + rule + `1",
		"roleArn": "arn:aws:iam::123456789012:role/ecs"}}`
}

// A copy of a service with ECS's own strategy has its tasks in the target group that serves.
func TestCopyServesFromTheSecondGroup(t *testing.T) {
	shape := shapes["BLUE_GREEN"]
	w, err := replica.FromFiles(loadShape(t, shape.service, shape.task, shape.container))
	failOn(t, err)
	for _, r := range w.LoadBalancers[0].Listeners[0].Rules {
		r.Forward[0].Weight, r.Forward[1].Weight = 0, 100
	}
	text, err := w.Text()
	failOn(t, err)
	_, s := copyLive(t, newSim(t, text), "prod", "shop")
	elb := awselb.NewFromConfig(s.Config())
	groups, err := elb.DescribeTargetGroups(t.Context(), &awselb.DescribeTargetGroupsInput{
		Names: []string{"web-next"}})
	failOn(t, err)
	health, err := elb.DescribeTargetHealth(t.Context(), &awselb.DescribeTargetHealthInput{
		TargetGroupArn: groups.TargetGroups[0].TargetGroupArn})
	failOn(t, err)
	if n := len(health.TargetHealthDescriptions); n != 2 {
		t.Errorf("%d targets in the group that serves", n)
	}
	for _, x := range health.TargetHealthDescriptions {
		if x.TargetHealth.State != "healthy" {
			t.Errorf("target %s is %s", *x.Target.Id, x.TargetHealth.State)
		}
	}
}

// Two JSON files of every shape build a local AWS whose service differs from them in the image only,
// and whose copy is the same again.
func TestShapesBuild(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			app := loadShape(t, shape.service, shape.task, shape.container)
			w, err := replica.FromFiles(app)
			failOn(t, err)
			text, err := w.Text()
			failOn(t, err)
			s := newSim(t, text)
			live, err := replica.Read(t.Context(), openAccount(t, s), "prod", "shop")
			failOn(t, err)
			api := awsecs.NewFromConfig(s.Config())
			out, err := api.DescribeServices(t.Context(),
				&awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
					Services: []string{"shop"}, Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}})
			failOn(t, err)
			if n := out.Services[0].RunningCount; n == 0 || n != out.Services[0].DesiredCount {
				t.Errorf("%d of %d tasks run: %s", n, out.Services[0].DesiredCount,
					jsonText(out.Services[0].Events))
			}
			diffs := definition.CompareTask(app.Task, live.Task.AsDescribed())
			if len(diffs) != 1 || diffs[0].Path != "containerDefinitions[app].image" ||
				!strings.HasSuffix(diffs[0].Have, ":previous") {
				t.Errorf("the task definition differs in %v", diffs)
			}
			if diffs := definition.CompareService(app.Service, &out.Services[0]); len(diffs) > 0 {
				t.Errorf("the service differs in %v", diffs)
			}
			again, _ := copyLive(t, s, "prod", "shop")
			if jsonText(again.Setup()) != jsonText(live.Setup()) {
				t.Errorf("%+v and %+v", again.Setup(), live.Setup())
			}
		})
	}
}

// A service whose image the files leave to it runs an image of its own name.
func TestImageOfTheServiceHasAName(t *testing.T) {
	app := loadShape(t, "", "", "")
	app.Format = appfile.Sluice
	app.Task.Input.ContainerDefinitions[0].Image = aws.String(definition.FromService)
	w, err := replica.FromFiles(app)
	failOn(t, err)
	text, err := w.Text()
	failOn(t, err)
	if strings.Contains(string(text), definition.FromService) || !strings.Contains(string(text), "app:previous") {
		t.Errorf("got\n%s", text)
	}
}

func loadShape(t *testing.T, service, task, container string) *appfile.Application {
	t.Helper()
	join := func(parts ...string) string {
		var all []string
		for _, p := range parts {
			if p != "" {
				all = append(all, p)
			}
		}
		return "{" + strings.Join(all, ", ") + "}"
	}
	count := `"desiredCount": 2`
	if strings.Contains(service, "DAEMON") {
		count = ""
	}
	app, err := appfile.Load(fstest.MapFS{
		"servicedef.json": {Data: []byte(join(`"cluster": "prod", "serviceName": "shop"`, count, service))},
		"taskdef.json": {Data: []byte(join(`"family": "shop"`, task, `"containerDefinitions": [`+
			join(`"name": "app", "image": "public.ecr.aws/docker/library/httpd:2.4", "memory": 300`,
				container)+"]"))},
	}, ".", nil)
	failOn(t, err)
	return app
}
