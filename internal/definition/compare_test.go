package definition

import (
	"fmt"
	"strings"
	"testing"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

func task(t *testing.T, file string) *Task {
	t.Helper()
	got, err := DecodeTask("f", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func service(t *testing.T, file string) *Service {
	t.Helper()
	got, err := DecodeService("f", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func told(found []Difference) string {
	var lines []string
	for _, d := range found {
		lines = append(lines, fmt.Sprintf("%s: %s, not %s", d.Path, d.Want, d.Have))
	}
	return strings.Join(lines, "\n")
}

const fargate = `
family: web
cpu: .25 vCPU
memory: 0.5 GB
networkMode: awsvpc
requiresCompatibilities: [FARGATE]
executionRoleArn: ecsTaskExecutionRole
runtimePlatform: {cpuArchitecture: X86_64, operatingSystemFamily: LINUX}
containerDefinitions:
- name: web
  image: web:v1
  portMappings: [{containerPort: 80}]
  environment: [{name: B, value: two}, {name: A, value: one}]
  secrets: [{name: S, valueFrom: arn:s}, {name: R, valueFrom: arn:r}]
  healthCheck: {command: [CMD, "true"]}
  logConfiguration: {logDriver: awslogs, options: {awslogs-group: web}}
- name: side
  image: side:v1
  essential: false
volumes: [{name: data}]
tags: [{key: a, value: b}]
`

// fargateDescribed is what AWS makes of the file above.
func fargateDescribed(t *testing.T) *ecstypes.TaskDefinition {
	return described(task(t, `
family: web
cpu: "256"
memory: "512"
networkMode: awsvpc
requiresCompatibilities: [FARGATE]
executionRoleArn: arn:aws:iam::123456789012:role/ecsTaskExecutionRole
placementConstraints: []
containerDefinitions:
- name: web
  image: web:v1
  cpu: 0
  essential: true
  mountPoints: []
  volumesFrom: []
  systemControls: []
  portMappings: [{containerPort: 80, hostPort: 80, protocol: tcp}]
  environment: [{name: A, value: one}, {name: B, value: two}]
  secrets: [{name: R, valueFrom: arn:r}, {name: S, valueFrom: arn:s}]
  healthCheck: {command: [CMD, "true"], interval: 30, timeout: 5, retries: 3}
  logConfiguration: {logDriver: awslogs, options: {awslogs-group: web}, secretOptions: []}
- name: side
  image: side:v1
  essential: false
  environment: []
volumes: [{name: data, host: {}}]
`).Input)
}

func TestWhatAWSFillsInIsNoDifference(t *testing.T) {
	if d := CompareTask(task(t, fargate), fargateDescribed(t)); len(d) > 0 {
		t.Fatal(told(d))
	}
}

func TestDifferencesOfATask(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"web:v1", "web:v2", "containerDefinitions[web].image: web:v2, not web:v1"},
		{"value: one", "value: hunter2",
			"containerDefinitions[web].environment[A].value: (secret value changed), not (secret value)"},
		{"value: one", "value: debug", "containerDefinitions[web].environment[A].value: debug, not (secret value)"},
		{"value: one", "value: 'debug me'",
			"containerDefinitions[web].environment[A].value: (secret value changed), not (secret value)"},
		{"{name: A, value: one}", "{name: A, value: one}, {name: DB_PASSWORD, value: debug}",
			"containerDefinitions[web].environment[DB_PASSWORD]: {name: DB_PASSWORD, value: (secret value)}, not none"},
		{"{name: A, value: one}", "{name: A, value: one}, {name: LOG_LEVEL, value: INFO}",
			"containerDefinitions[web].environment[LOG_LEVEL]: {name: LOG_LEVEL, value: INFO}, not none"},
		{"{name: B, value: two}, ", "",
			"containerDefinitions[web].environment[B]: none, not {name: B, value: (secret value)}"},
		{"options: {awslogs-group: web}", "options: {awslogs-group: api}",
			"containerDefinitions[web].logConfiguration.options.awslogs-group: api, not web"},
		{"  essential: false\n", "", "containerDefinitions[side].essential: true (default), not false"},
		{"containerPort: 80", "containerPort: 81",
			"containerDefinitions[web].portMappings[80/tcp]: none, not {containerPort: 80, hostPort: 80}\n" +
				"containerDefinitions[web].portMappings[81/tcp]: {containerPort: 81, hostPort: 81}, not none"},
		{".25 vCPU", "512", "cpu: 512, not 256"},
		{"ecsTaskExecutionRole", "other",
			"executionRoleArn: other, not arn:aws:iam::123456789012:role/ecsTaskExecutionRole"},
		{"command: [CMD, \"true\"]", "command: [CMD, \"false\"]",
			"containerDefinitions[web].healthCheck.command: [CMD, false], not [CMD, true]"},
		{"valueFrom: arn:s", "valueFrom: arn:t", "containerDefinitions[web].secrets[S].valueFrom: arn:t, not arn:s"},
		{"X86_64", "ARM64", "runtimePlatform: {cpuArchitecture: ARM64}, not none"},
		{"name: side\n  image: side:v1", "name: aide\n  image: side:v1",
			"containerDefinitions[aide]: {essential: false, image: side:v1, name: aide}, not none\n" +
				"containerDefinitions[side]: none, not {essential: false, image: side:v1, name: side}"},
		{"{key: a, value: b}", "{key: a, value: c}", ""},
	} {
		changed := strings.Replace(fargate, c.from, c.to, 1)
		if changed == fargate {
			t.Fatalf("%q changes nothing", c.from)
		}
		got := told(CompareTask(task(t, changed), fargateDescribed(t)))
		if got != c.want {
			t.Errorf("%s -> %s\ngot  %s\nwant %s", c.from, c.to, got, c.want)
		}
		if (c.want == "") != (Digest(task(t, changed)) == Digest(task(t, fargate))) {
			t.Errorf("%s -> %s: the digest does not follow", c.from, c.to)
		}
	}
}

// The digest is kept by what has been deployed: it must not change between
// versions of sluice without reason.
func TestDigestIsStable(t *testing.T) {
	const want = "e4d951c5c8c03de404156d1ef70b31f9ddd63f9ec70c78815937a32cd37242de"
	if got := Digest(task(t, fargate)); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

const rolling = `
serviceName: web
cluster: main
desiredCount: 2
launchType: FARGATE
platformVersion: LATEST
schedulingStrategy: REPLICA
enableExecuteCommand: false
propagateTags: NONE
deploymentConfiguration: {maximumPercent: 200, deploymentCircuitBreaker: {enable: true, rollback: true}}
networkConfiguration: {awsvpcConfiguration: {subnets: [subnet-b, subnet-a]}}
loadBalancers: [{targetGroupArn: tg, containerName: web, containerPort: 80}]
tags: [{key: team, value: a}]
`

func rollingDescribed(t *testing.T) *ecstypes.Service {
	in := service(t, rolling).Input
	out := &ecstypes.Service{
		ServiceName: in.ServiceName, ClusterArn: text("arn:aws:ecs:us-east-1:123456789012:cluster/main"),
		DesiredCount: 2, LaunchType: "FARGATE", PlatformVersion: text("LATEST"), SchedulingStrategy: "REPLICA",
		LoadBalancers: in.LoadBalancers,
		RoleArn:       text("arn:aws:iam::123456789012:role/aws-service-role/ecs.amazonaws.com/AWSServiceRoleForECS"),
		Tags:          append([]ecstypes.Tag{{Key: text("other"), Value: text("x")}}, in.Tags...),
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{
			Subnets: []string{"subnet-a", "subnet-b"}, SecurityGroups: []string{"sg-default"},
			AssignPublicIp: "DISABLED"}},
	}
	deployment := service(t, "serviceName: web\ndeploymentConfiguration: {maximumPercent: 200, "+
		"minimumHealthyPercent: 100, strategy: ROLLING, bakeTimeInMinutes: 0, deploymentCircuitBreaker: {enable: "+
		"true, rollback: true, resetOnHealthyTask: true, thresholdConfiguration: {type: BOUNDED_PERCENT, value: "+
		"50}}, alarms: {enable: false, rollback: false, alarmNames: []}}")
	out.DeploymentConfiguration = deployment.Input.DeploymentConfiguration
	return out
}

func TestWhatAWSFillsInAServiceIsNoDifference(t *testing.T) {
	if d := CompareService(service(t, rolling), rollingDescribed(t)); len(d) > 0 {
		t.Fatal(told(d))
	}
}

func TestDifferencesOfAService(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"desiredCount: 2", "desiredCount: 0", "desiredCount: 0, not 2"},
		{"desiredCount: 2\n", "", ""},
		{"FARGATE", "EC2", "launchType: EC2, not FARGATE"},
		{"cluster: main", "cluster: other", "cluster: other, not arn:aws:ecs:us-east-1:123456789012:cluster/main"},
		{"enableExecuteCommand: false", "enableExecuteCommand: true",
			"enableExecuteCommand: true, not false (default)"},
		{"maximumPercent: 200", "maximumPercent: 150",
			"deploymentConfiguration.maximumPercent: 150, not 200 (default)"},
		{"[subnet-b, subnet-a]", "[subnet-a, subnet-b, subnet-a]", ""},
		{"[subnet-b, subnet-a]", "[subnet-b]",
			"networkConfiguration.awsvpcConfiguration.subnets: [subnet-b], not [subnet-a, subnet-b]"},
		{"[subnet-b, subnet-a]", "[subnet-b, subnet-a], securityGroups: [sg-1]",
			"networkConfiguration.awsvpcConfiguration.securityGroups: [sg-1], not [sg-default]"},
		{"value: a", "value: b", "tags[team].value: b, not a"},
		{"[{key: team, value: a}]", "[{key: secret_token, value: PLANTED}]",
			"tags[secret_token]: {key: secret_token, value: (secret value)}, not none"},
		{"[{key: team, value: a}]", "[{key: new, value: a}]", "tags[new]: {key: new, value: a}, not none"},
		{"containerPort: 80", "containerPort: 81", "loadBalancers[tg/web].containerPort: 81, not 80"},
		{"schedulingStrategy: REPLICA", "deploymentController: {type: ECS}", ""},
		{"schedulingStrategy: REPLICA", "deploymentController: {type: CODE_DEPLOY}",
			"deploymentController: {type: CODE_DEPLOY}, not none"},
	} {
		changed := strings.Replace(rolling, c.from, c.to, 1)
		if changed == rolling {
			t.Fatalf("%q changes nothing", c.from)
		}
		if got := told(CompareService(service(t, changed), rollingDescribed(t))); got != c.want {
			t.Errorf("%s -> %s\ngot  %s\nwant %s", c.from, c.to, got, c.want)
		}
	}
}

// Under EXTERNAL the service has no launch type and no network: its task sets do.
func TestTaskSetMembersOfAnExternalService(t *testing.T) {
	want := service(t, `
serviceName: web
deploymentController: {type: EXTERNAL}
launchType: FARGATE
platformVersion: LATEST
networkConfiguration: {awsvpcConfiguration: {subnets: [subnet-b, subnet-a], securityGroups: [sg-2, sg-1]}}
`)
	have := &ecstypes.Service{ServiceName: text("web"),
		DeploymentController: &ecstypes.DeploymentController{Type: "EXTERNAL"}}
	if d := CompareService(want, have); len(d) > 0 {
		t.Fatal(told(d))
	}
	set := &ecstypes.TaskSet{LaunchType: "FARGATE", PlatformVersion: text("1.4.0"),
		NetworkConfiguration: &ecstypes.NetworkConfiguration{
			AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: []string{"subnet-a", "subnet-b"},
				SecurityGroups: []string{"sg-1", "sg-2"}, AssignPublicIp: "DISABLED"}}}
	if d := CompareTaskSet(want, set); len(d) > 0 {
		t.Fatal(told(d))
	}
	set.LaunchType, set.NetworkConfiguration.AwsvpcConfiguration.AssignPublicIp = "EC2", "ENABLED"
	const differs = "launchType: FARGATE, not EC2\nnetworkConfiguration.awsvpcConfiguration.assignPublicIp: " +
		"DISABLED (default), not ENABLED"
	if got := told(CompareTaskSet(want, set)); got != differs {
		t.Fatalf("got\n%s\nwant\n%s", got, differs)
	}
}

func TestServiceConnectIsComparedWithThePrimaryDeployment(t *testing.T) {
	want := service(t, `
serviceName: web
serviceConnectConfiguration: {enabled: true, namespace: prod, services: [{portName: http}]}
`)
	connect := &ecstypes.ServiceConnectConfiguration{Enabled: true,
		Namespace: text("arn:aws:servicediscovery:us-east-1:123456789012:namespace/ns-1"),
		Services:  []ecstypes.ServiceConnectService{{PortName: text("http"), DiscoveryName: text("http")}}}
	have := &ecstypes.Service{Deployments: []ecstypes.Deployment{{Status: text("PRIMARY"),
		ServiceConnectConfiguration: connect}}, ServiceName: text("web")}
	if d := CompareService(want, have); len(d) > 0 {
		t.Fatal(told(d))
	}
	connect.Services[0].DiscoveryName = text("api")
	if got := told(CompareService(want,
		have)); got != "serviceConnectConfiguration.services[http].discoveryName: http, not api" {
		t.Fatal(got)
	}
}

// What a first deployment creates is all that the file says, also values that are AWS's defaults.
func TestMembersAreAllThatIsCreated(t *testing.T) {
	got := told(task(t, fargate).Members())
	for _, want := range []string{"family: web, not none", "cpu: .25 vCPU, not none", "networkMode: awsvpc, not none",
		"containerDefinitions[side]: {essential: false, image: side:v1, name: side}",
		"containerDefinitions[web].environment[B]: {name: B, value: (secret value)}",
		"containerDefinitions[web].logConfiguration: {logDriver: awslogs, options: {awslogs-group: web}}"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	s := service(t, rolling)
	for _, d := range s.Members() {
		if !d.Added || d.Removed || d.Have != "none" {
			t.Errorf("%+v is not added", d)
		}
	}
	if got := told(s.Members()); !strings.Contains(got, "platformVersion: LATEST") {
		t.Errorf("the default that the file gives is missing in\n%s", got)
	}
}

// A member of an object that AWS does not have is added, and is no change of a default.
func TestMembersOfANewContainerAreAdded(t *testing.T) {
	changed := strings.Replace(fargate, "volumes:", "- name: third\n  "+
		"image: a-long-name-of-an-image-that-needs-a-line-of-its-own:v1\n  essential: false\nvolumes:", 1)
	for _, d := range CompareTask(task(t, changed), fargateDescribed(t)) {
		if !d.Added || strings.Contains(d.Have, "default") {
			t.Errorf("%+v is not added", d)
		}
	}
}

// A tag may be secret by its key, also where only its value differs.
func TestSecretTagsAreNotShown(t *testing.T) {
	tags := func(value string) *Task {
		return task(t, "family: web\ncontainerDefinitions: [{name: web, image: x, memory: 512}]\ntags: [{key: api_token, value: "+
			value+"}]\n")
	}
	got := told(CompareTags(tags("PLANTED"), tags("PLANTED-before").Input.Tags))
	if want := "tags[api_token].value: (secret value changed), not (secret value)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
