package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// described is a task definition as DescribeTaskDefinition returns it, with all its empty values.
const described = `{"taskDefinition": {"taskDefinitionArn": "arn:aws:ecs:us-east-1:123456789012:task-definition/web:1",
 "family": "web", "revision": 1, "status": "ACTIVE", "networkMode": "awsvpc", "cpu": "256", "memory": "512",
 "requiresCompatibilities": ["FARGATE"], "compatibilities": ["EC2", "FARGATE"], "placementConstraints": [],
 "volumes": [{"name": "data", "host": {}}], "requiresAttributes": [{"name": "ecs.capability.task-eni"}],
 "containerDefinitions": [{"name": "web", "image": "web:v1", "cpu": 0, "essential": true, "links": [],
  "portMappings": [{"containerPort": 80, "hostPort": 80, "protocol": "tcp"}], "mountPoints": [], "volumesFrom": [],
  "dnsServers": [], "extraHosts": [], "privileged": false, "environment": [], "systemControls": [],
  "dependsOn": [{"containerName": "init", "condition": "SUCCESS"}]},
  {"name": "init", "image": "init@sha256:0123456789abcdef", "essential": false, "cpu": 0, "portMappings": []}]},
 "tags": []}`

const bridge = `family: web
networkMode: bridge
containerDefinitions:
  - name: web
    image: registry.example.com:5000/team/web:v1
    memoryReservation: 128
    links: ["proxy:front"]
    hostname: web
    extraHosts: [{hostname: db, ipAddress: 10.0.0.1}]
    portMappings: [{containerPort: 80, hostPort: 0}, {containerPort: 80, hostPort: 0, protocol: udp}]
    environment: [{name: TEXT, value: "${HOME} {{ x }}"}]
    volumesFrom: [{sourceContainer: proxy}]
    logConfiguration: {logDriver: json-file, options: {tag: "{{.Name}}"}}
  - {name: proxy, image: "proxy:v1", memory: 64, privileged: true, portMappings: [{containerPortRange: 8000-8010}]}
`

// What AWS accepts is accepted.
func TestValidDefinitionsAreAccepted(t *testing.T) {
	for name, text := range map[string]string{"described": described, "bridge": bridge} {
		if _, err := LoadTask(name, []byte(text), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"a daemon": "serviceName: web\nlaunchType: EC2\nschedulingStrategy: DAEMON\nplacementConstraints: []\n",
		"spot": "serviceName: web\ncapacityProviderStrategy: [{capacityProvider: FARGATE, base: 1}, " +
			"{capacityProvider: FARGATE_SPOT, weight: 3, base: 0}]\n",
		"a pause": "serviceName: web\ndeploymentConfiguration: {strategy: BLUE_GREEN, " +
			"lifecycleHooks: [{targetType: PAUSE, lifecycleStages: [POST_SCALE_UP]}]}\n",
		"a strategy that the controller ignores": "serviceName: web\ndeploymentController: {type: EXTERNAL}\n" +
			"deploymentConfiguration: {strategy: CANARY}\nloadBalancers: [{targetGroupArn: 'arn:aws:elasticloadbalancing:us-east-1:" +
			"123456789012:targetgroup/web/1', containerName: web, containerPort: 80}]\n",
		"nothing else": "serviceName: web\ndeploymentConfiguration: {deploymentCircuitBreaker: {enable: true}}\n",
		"described": `{"services": [{"serviceName": "web", "status": "ACTIVE", "launchType": "FARGATE", "loadBalancers": [],
 "placementConstraints": [], "placementStrategy": [], "serviceRegistries": [], "capacityProviderStrategy": []}],
 "failures": []}`,
	} {
		if _, err := LoadService(name, []byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each edit of the bridge definition is refused with its reason; most of the other rules are in
// the refused inputs of the command line.
func TestRefusedTaskDefinitions(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"proxy:front"`, `"nope:front"`, `has a link to "nope"`},
		{"family: web", "family: '%FAMILY%'", "family is a template that was not rendered"},
		{"${HOME} {{ x }}", "%HOME%", ""},
		{"networkMode: bridge", "networkMode: host", "need network mode bridge"},
		{"networkMode: bridge", "networkMode: none", "network mode none does not support portMappings"},
		{"protocol: udp", "protocol: tcp", "container web maps port 80 twice"},
		{"8000-8010", "8010-8000", "containerPortRange 8010-8000 is no range of ports"},
		{"8000-8010", "'8000'", "is a range of ports"},
		{"sourceContainer: proxy", "sourceContainer: prox", `mounts the volumes of "prox"`},
		{"    memoryReservation: 128\n", "", "neither memory nor memoryReservation"},
		{"extraHosts: [{hostname: db, ipAddress: 10.0.0.1}]", "extraHosts: [{hostname: db}]", "has no ipAddress"},
		{"privileged: true", "dependsOn: [{containerName: web, condition: START}]", ""},
		{"privileged: true", "dependsOn: [{containerName: web, condition: COMPLETE}]", "web is essential"},
		{"networkMode: bridge", "volumes: [{name: a}, {name: a}]", "volume a is given twice"},
		{"networkMode: bridge", "tags: [{key: a, value: b}, {key: a, value: c}]", "tag a is given twice"},
		{"privileged: true", "secrets: [{name: A, valueFrom: a}]", "no executionRoleArn to read them"},
		{"networkMode: bridge", "executionRoleArn: arn:x\nmemory: 256", ""},
		{"environment: [{name: TEXT,", "secrets: [{name: TEXT, valueFrom: a}]\n    environment: [{name: TEXT,",
			"two variables TEXT"},
		{"privileged: true", "ulimits: [{name: nofile, softLimit: 2, hardLimit: 1}]", "above its hard limit 1"},
		{"{containerPort: 80, hostPort: 0}", "{containerPort: 80, hostPort: 0, name: a}, {containerPort: 81, name: a}",
			"port mapping a is given twice"},
		{"networkMode: bridge\ncontainerDefinitions:", "cpu: 64\ncontainerDefinitions:\n  - {name: x, image: x, memory: 8, cpu: 65}",
			"the containers have 65 CPU units, and the task has 64"},
		{"networkMode: bridge", "tags: [{key: " + strings.Repeat("k", 129) + ", value: b}]", "at most 128 characters"},
	} {
		if !strings.Contains(bridge, c.from) {
			t.Fatalf("no %s", c.from)
		}
		_, err := LoadTask("f", []byte(strings.Replace(bridge, c.from, c.to, 1)), nil)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.to, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
}

// Fargate writes logs to CloudWatch with the execution role, EC2 with the role of the instance.
func TestLogsNeedARoleOnFargate(t *testing.T) {
	const role = "executionRoleArn: arn:aws:iam::123456789012:role/r\n"
	for _, c := range []struct{ requires, launch, role, want string }{
		{"requiresCompatibilities: [FARGATE]\n", "FARGATE", "", "t:6:78: container web has the log driver awslogs, and Fargate"},
		{"", "FARGATE", "", "container web has the log driver awslogs, and Fargate needs an executionRoleArn to write its log"},
		{"requiresCompatibilities: [FARGATE]\n", "FARGATE", role, ""}, {"", "FARGATE", role, ""}, {"", "EC2", "", ""},
	} {
		task, err := LoadTask("t", []byte("family: web\n"+c.requires+"networkMode: awsvpc\ncpu: '256'\nmemory: '512'\n"+
			"containerDefinitions: [{name: web, image: web, logConfiguration: {logDriver: awslogs, options: {awslogs-group: web, "+
			"awslogs-region: us-east-1}}}]\n"+c.role), nil)
		if err == nil {
			var service *definition.Service
			if service, err = LoadService("s", []byte("serviceName: web\nlaunchType: "+c.launch+"\n")); err == nil {
				err = definition.JoinProblems(CompareTogether(task, service))
			}
		}
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s with %s and %s: got %v, want %q", c.launch, c.requires, c.role, err, c.want)
		}
	}
}

// Containers of one address share their ports, whose protocols count.
func TestPortOfTwoContainers(t *testing.T) {
	for _, c := range []struct{ mode, first, second, want string }{
		{"awsvpc", "containerPort: 80", "containerPort: 80", "f:7:54: containers web and b both use port 80"},
		{"awsvpc", "containerPort: 80", "containerPort: 80, protocol: tcp", "both use port 80"},
		{"host", "containerPort: 80", "containerPort: 80", "with network mode host"},
		{"awsvpc", "containerPort: 80", "containerPort: 80, protocol: udp", ""},
		{"awsvpc", "containerPort: 80", "containerPort: 81", ""},
		{"bridge", "containerPort: 80", "containerPort: 80", ""},
	} {
		_, err := LoadTask("f", []byte("family: web\nnetworkMode: "+c.mode+"\nmemory: 512\ncontainerDefinitions:\n"+
			"- {name: web, image: web, portMappings: [{"+c.first+"}]}\n\n"+
			"- {name: b, image: b, portMappings: [{"+c.second+"}]}\n"), nil)
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s with %s and %s: got %v, want %q", c.mode, c.first, c.second, err, c.want)
		}
	}
}

// Fargate pulls images of ECR with the execution role, EC2 with the role of the instance.
func TestImagesOfECRNeedARoleOnFargate(t *testing.T) {
	const image = "123456789012.dkr.ecr.us-east-1.amazonaws.com/web:v1"
	for _, c := range []struct{ runsOn, image, role, want string }{
		{"FARGATE", image, "", "f:6:43: container web has an image of ECR, and Fargate needs an executionRoleArn to pull it"},
		{"FARGATE", image, "executionRoleArn: arn:aws:iam::123456789012:role/r\n", ""},
		{"FARGATE", "nginx:1", "", ""}, {"EC2", image, "", ""},
	} {
		_, err := LoadTask("f", []byte("family: web\nrequiresCompatibilities: ["+c.runsOn+"]\nnetworkMode: awsvpc\n"+
			"cpu: '256'\nmemory: '512'\ncontainerDefinitions: [{name: web, image: '"+c.image+"'}]\n"+c.role), nil)
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s with %s and role %q: got %v, want %q", c.runsOn, c.image, c.role, err, c.want)
		}
	}
}

func TestContainersThatWaitForEachOther(t *testing.T) {
	_, err := LoadTask("f", []byte("family: web\nmemory: 512\ncontainerDefinitions:\n"+
		"  - {name: a, image: x, dependsOn: [{containerName: b, condition: START}]}\n"+
		"  - {name: b, image: x, dependsOn: [{containerName: c, condition: START}]}\n"+
		"  - {name: c, image: x, dependsOn: [{containerName: a, condition: START}]}\n"), nil)
	if err == nil || strings.Count(err.Error(), "wait for each other") < 1 {
		t.Errorf("got %v", err)
	}
}

// pairOf is a load balancer entry of a strategy of ECS's own, without the members that are empty.
func pairOf(alternate, rule, role string) string {
	text := "loadBalancers: [{targetGroupArn: 'arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/1', " +
		"containerName: web, containerPort: 80, advancedConfiguration: {"
	for _, m := range [][2]string{{"alternateTargetGroupArn", alternate}, {"productionListenerRule", rule}, {"roleArn", role}} {
		if m[1] != "" {
			text += m[0] + ": '" + m[1] + "', "
		}
	}
	return text + "}}]"
}

func TestRefusedServiceDefinitions(t *testing.T) {
	for text, want := range map[string]string{
		"launchType: EC2\nplatformVersion: LATEST":        "platformVersion is for Fargate only",
		"launchType: FARGATE\nschedulingStrategy: DAEMON": "Fargate does not support schedulingStrategy DAEMON",
		"capacityProviderStrategy: [{capacityProvider: a, base: 1}, {capacityProvider: b, base: 1}]": "two capacity " +
			"providers have a base",
		"capacityProviderStrategy: [{capacityProvider: a}, {capacityProvider: a}]": "capacity provider a is given twice",
		"capacityProviderStrategy: [{capacityProvider: a, weight: 1001}]":          "a number from 0 to 1000",
		"loadBalancers: [{targetGroupArn: 'arn:x', containerPort: 80}]":            "a load balancer has no containerName",
		"loadBalancers: [{containerName: web, containerPort: 80}]":                 "a load balancer has no targetGroupArn",
		"loadBalancers: [{targetGroupArn: web, containerName: a, containerPort: 80}]": "targetGroupArn is not the ARN of a " +
			"target group",
		"serviceRegistries: [{registryArn: 'arn:x', containerPort: 80}]":        "containerPort without containerName",
		"deploymentConfiguration: {bakeTimeInMinutes: 1441}":                    "a number from 0 to 1440",
		"deploymentConfiguration: {canaryConfiguration: {canaryPercent: 0.05}}": "a number from 0.1 to 100",
		"deploymentConfiguration: {strategy: LINEAR, canaryConfiguration: {canaryPercent: 10}}": "canaryConfiguration is for " +
			"strategy CANARY, and strategy is LINEAR",
		"deploymentConfiguration: {strategy: BLUE_GREEN, linearConfiguration: {stepPercent: 10}}": "linearConfiguration is for " +
			"strategy LINEAR, and strategy is BLUE_GREEN",
		"loadBalancers: [{targetGroupArn: 'arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/1', " +
			"containerName: web, containerPort: 80}]\ndeploymentConfiguration: {strategy: CANARY}": "f:2:17: strategy CANARY needs " +
			"advancedConfiguration for each load balancer",
		"deploymentConfiguration: {lifecycleHooks: [{lifecycleStages: [POST_SCALE_UP], roleArn: 'arn:x'}]}": "f:2:44: a lifecycle " +
			"hook of type AWS_LAMBDA has no hookTargetArn",
		"deploymentConfiguration: {lifecycleHooks: [{targetType: AWS_LAMBDA, lifecycleStages: [POST_SCALE_UP], " +
			"hookTargetArn: 'arn:x'}]}": "a lifecycle hook of type AWS_LAMBDA has no roleArn",
		pairOf("arn:x", "arn:r", ""):    "advancedConfiguration has no roleArn",
		pairOf("arn:x", "", "arn:role"): "advancedConfiguration has no productionListenerRule",
		pairOf("", "arn:r", "arn:role"): "advancedConfiguration has no alternateTargetGroupArn",
		pairOf("arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/1", "arn:r",
			"arn:role"): "is the same target group as targetGroupArn",
		"serviceConnectConfiguration: {enabled: true, services: [{}]}":    "services[] has no portName",
		"cluster: '{{ .Env.CLUSTER }}'":                                   "cluster is a template",
		"placementConstraints: [{type: memberOf}]":                        "memberOf has no expression",
		"placementConstraints: [{type: distinctInstance, expression: x}]": "has no expression",
		"placementStrategy: [{type: binpack, field: disk}]":               "binpack is cpu or memory",
		"placementStrategy: [{type: random, field: cpu}]":                 "random has no field",
		"loadBalancers: [{targetGroupArn: 'arn:x', containerName: a, containerPort: 80}, " +
			"{targetGroupArn: 'arn:x', containerName: a, containerPort: 80}]": "given twice for one container port",
		"placementConstraints: [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}]": "at most 10 entries, and this has 11",
	} {
		_, err := LoadService("f", []byte("serviceName: web\n"+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// ECS Exec is refused without the role of the tasks.
func TestDefinitionsThatNeedARole(t *testing.T) {
	const text = "family: web\nrequiresCompatibilities: [FARGATE]\nnetworkMode: awsvpc\ncpu: 256\nmemory: 512\n" +
		"containerDefinitions: [{name: web, image: x}]\n"
	task, err := LoadTask("t", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	service, err := LoadService("s", []byte("serviceName: web\nlaunchType: FARGATE\nenableExecuteCommand: true\n"))
	if err != nil {
		t.Fatal(err)
	}
	err = definition.JoinProblems(CompareTogether(task, service))
	if err == nil || !strings.Contains(err.Error(), "enableExecuteCommand needs a role of the tasks") {
		t.Errorf("%v", err)
	}
	task.Input.TaskRoleArn = new(string)
	*task.Input.TaskRoleArn = "arn:x"
	if problems := CompareTogether(task, service); len(problems) > 0 {
		t.Errorf("with a role: %v", problems)
	}
}

// A service on Fargate needs a task definition that Fargate can run, whatever that requires itself.
func TestTaskDefinitionOfAServiceOnFargate(t *testing.T) {
	const container = "containerDefinitions: [{name: web, image: x, memory: 512}]\n"
	for text, want := range map[string]string{
		"family: web\n" + container: "does not have network mode awsvpc, cpu and memory",
		"family: web\nnetworkMode: awsvpc\ncpu: 257\nmemory: 512\n" + container:          "does not support 257",
		"family: web\nrequiresCompatibilities: [EC2]\nnetworkMode: awsvpc\n" + container: "does not have FARGATE",
		"family: web\nnetworkMode: awsvpc\ncpu: 256\nmemory: 512\n" + container:          "",
	} {
		task, err := LoadTask("t", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		service, err := LoadService("s", []byte("serviceName: web\nlaunchType: FARGATE\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = definition.JoinProblems(CompareTogether(task, service))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Texts that no registry can have as an image are placeholders that nothing replaced.
func TestImages(t *testing.T) {
	for image, isRefused := range map[string]bool{
		"web": false, "web:V1": false, "team/web:v1": false, "registry.example.com:5000/team/web:v1": false,
		"123456789012.dkr.ecr.us-east-1.amazonaws.com/web@sha256:" + strings.Repeat("a", 64): false,
		"sim/web:v2?healthy-after=90s": false, "host:./serve": false,
		"__IMAGE__": true, "IMAGE_PLACEHOLDER": true, "%IMAGE%": true, "team/Web:v1": true, "$IMAGE": true, "<IMAGE1_NAME>": true,
		"sim/web:%TAG%": true, "sim/web:TAG": false,
		"team/web:<TAG>": true, "web v1": true,
	} {
		_, err := LoadTask("t", []byte("family: web\ncontainerDefinitions: [{name: web, image: '"+image+"', memory: 512}]\n"), nil)
		if (err != nil) != isRefused {
			t.Errorf("%s: %v", image, err)
		}
	}
	_, err := LoadTask("t", []byte("family: web\ncontainerDefinitions:\n- name: web\n  image: web\n  memory: 512\n"+
		"  logConfiguration: {logDriver: awslogs, options: {awslogs-group: <LOG>, awslogs-region: us-east-1, awslogs-stream-prefix: '{{.Name}}'}}\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "awslogs-group is a template that was not rendered") ||
		strings.Count(err.Error(), "is a template") != 1 {
		t.Errorf("a log group in angle brackets: %v", err)
	}
}
