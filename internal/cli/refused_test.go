package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/awssim"
)

// refusedInput is one line of the good files in testdata/refused, changed into one that AWS refuses.
type refusedInput struct {
	file     string
	old, new string
	at       string // line and column
	message  string
	remedy   string // of the line that begins with next: or "did you mean"
}

const refusedFolder = "testdata/refused"

// refusedInputs are in the order of the files.
func refusedInputs() []refusedInput {
	return append(append(refusedTasks(), refusedContainers()...), append(refusedServices(), refusedApps()...)...)
}

func refusedTasks() []refusedInput {
	return []refusedInput{
		{badTask, "family: web", "family: ../web", "1:9", "family has 1 to 255 of the characters", "letters, digits"},
		{badTask, "family: web", "family: {{ must_env `FAMILY` }}", "1:9", "a template that was not rendered", "render"},
		{badTask, "family: web", "famly: web", "1:1", `unknown key "famly"`, `"family"`},
		{badTask, "networkMode: awsvpc", "networkMode: awspvc", "2:14", `networkMode cannot be "awspvc"`, `"awsvpc"`},
		{badTask, "networkMode: awsvpc", "networkMode: bridge", "2:14", "Fargate supports only network mode awsvpc",
			"set networkMode: awsvpc"},
		{badTask, `cpu: "512"`, `cpu: "257"`, "4:6", "Fargate does not support 257 CPU units", "set cpu to 256, 512"},
		{badTask, `cpu: "512"`, `cpu: half`, "4:6", "cpu is no size", "write CPU units"},
		{badTask, `memory: "1024"`, `memory: "513"`, "5:9", "does not support 512 CPU units with 513 MiB",
			"set memory to 1024 to 4096 MiB"},
		{badTask, `memory: "1024"`, `memory: lots`, "5:9", "memory is no size", "write MiB"},
		{badTask, `memory: "1024"`, `ipcMode: host`, "1:1", "the task definition has no memory, which Fargate requires",
			"set memory"},
		{badTask, "role/ecsTaskExecutionRole", "role/${ROLE}", "6:19", "a template that was not rendered", "render"},
		{badTask, "cpuArchitecture: X86_64", "cpuArchitecture: x86", "8:20", `cannot be "x86"`, "use one of"},
		{badTask, "  cpuArchitecture: X86_64", "pidMode: host", "8:10", "Fargate supports only pidMode task",
			"set pidMode: task"},
		{badTask, "fileSystemId: fs-0123456789abcdef0", "rootDirectory: /", "52:7",
			"volumes[].efsVolumeConfiguration has no fileSystemId", "add fileSystemId"},
		{badTask, "transitEncryptionPort: 2049", "authorizationConfig: {iam: ENABLED}", "50:5",
			"volume data has authorizationConfig, which needs encryption in transit", "set transitEncryption: ENABLED"},
		{badTask, "role/ecsTaskExecutionRole", "role/<ROLE>", "6:19", "a template that was not rendered", "render"},
		{badTask, "transitEncryptionPort: 2049", "transitEncryptionPort: 70000", "53:30", "a number from 0 to 65535",
			"write a number from 0 to 65535"},
		{badTask, "  - name: data", "  - name: my data", "50:11", "volumes[].name has 1 to 255 of", "letters, digits"},
		{badTask, "  - name: data", "  - name: date", "38:23", `mounts volume "data", which is not in volumes`,
			`did you mean "date"`},
	}
}

func refusedContainers() []refusedInput {
	return []refusedInput{
		{badTask, "  - name: web", "  - name: my web", "10:11", "containerDefinitions[].name has 1 to 255", "letters"},
		{badTask, "  - name: proxy", "  - name: web", "45:11", "container web is given twice, first in line 10",
			"rename one"},
		{badTask, "image: sim/web:v2", `image: "web:{{ .Tag }}"`, "11:12", "a template that was not rendered", "render"},
		{badTask, "image: sim/web:v2", `image: "web:${TAG}"`, "11:12", "a template that was not rendered", "render"},
		{badTask, "image: sim/web:v2", `image: "sim/web v2"`, "11:12", "is the name of an image", "repository:tag"},
		{badTask, "    image: sim/proxy:v1", "    cpu: 10", "45:5", "container proxy has no image",
			"write image: repository:tag; or image: from-service"},
		{badTask, "    memory: 512", "    memory: 3", "12:13", "memory is 4 or more, and this is 3", "write 4 or more"},
		{badTask, "    memory: 512", "    memory: 2048", "12:13", "more than the memory of the task (1024)",
			"lower it to 1024"},
		{badTask, "    memory: 512", `    memory: "512"`, "12:13", "is a whole number, and this is text",
			"write 512 without quotes"},
		{badTask, "memoryReservation: 256", "memoryReservation: 600", "13:24", "is more than its memory 512",
			"lower memoryReservation to 512"},
		{badTask, "- name: http", "- name: HTTP", "15:15", "has 1 to 64 of the characters a-z", "lower-case"},
		{badTask, "containerPort: 80", "containerPort: 99999", "16:24", "a number from 1 to 65535, and this is 99999",
			"write a number from 1 to 65535"},
		{badTask, "containerPort: 80", "containerPort: -1", "16:24", "and this is -1", "write a number from 1"},
		{badTask, "hostPort: 80", "hostPort: 8080", "17:19", "hostPort 8080 is not containerPort 80", "set hostPort to 80"},
		{badTask, "containerName: proxy", "containerName: prox", "19:24", `depends on "prox", which is not in`,
			`"proxy"`},
		{badTask, "condition: START", "condition: HEALTHY", "20:20", "proxy has no healthCheck", "add a healthCheck"},
		{badTask, "condition: START", "condition: STARTED", "20:20", `cannot be "STARTED"`, `"START"`},
		{badTask, "        condition: START", "", "19:9", "dependsOn[] has no condition", "add condition"},
		{badTask, "containerName: proxy", "containerName: web", "19:24", "container web depends on itself",
			"name another container"},
		{badTask, `command: [CMD-SHELL, "curl -f http://localhost/"]`, `command: ["curl -f http://localhost/"]`, "22:16",
			"begins with neither CMD nor CMD-SHELL", "add CMD or CMD-SHELL"},
		{badTask, "interval: 30", "interval: 1", "23:17", "a number from 5 to 300, and this is 1", "write a number from 5"},
		{badTask, "timeout: 5", "timeout: 90", "24:16", "a number from 2 to 60, and this is 90", "write a number from 2"},
		{badTask, "Hello {{ name }}", "{{ env `GREETING` `Hello` }}", "27:16", "{{ env … }} is a template", "render"},
		{badTask, "        valueFrom: arn:aws:ssm:us-east-1:123456789012:parameter/db", "", "29:9",
			"secrets[] has no valueFrom", "add valueFrom"},
		{badTask, "logDriver: awslogs", "logDriver: syslog", "32:18", "Fargate does not support the log driver syslog",
			"use awslogs, splunk or awsfirelens"},
		{badTask, "        awslogs-region: us-east-1", "", "32:7", "has no option awslogs-region", "add awslogs-region"},
		{badTask, "- name: nofile", "- name: nofiles", "41:15", `cannot be "nofiles"`, `did you mean "nofile"`},
		{badTask, "stopTimeout: 30", "stopTimeout: 300", "44:18", "a number from 2 to 120, and this is 300",
			"write a number from 2 to 120"},
		{badTask, "stopTimeout: 30", "privileged: true", "44:17", "Fargate does not support privileged", "remove it"},
		{badTask, "stopTimeout: 30", "hostname: web", "44:15", "awsvpc does not support hostname", "remove it"},
		{badTask, "stopTimeout: 30", "essential: false", "44:16", "no container is essential", "set essential: true"},
		{badTask, "stopTimeout: 30", "cpu: 513", "4:6", "the containers have 513 CPU units, and the task has 512",
			"lower cpu of the containers"},
		{badTask, "softLimit: 1024", "softLimit: 5000", "42:20", "the soft limit 5000 of ulimit nofile",
			"lower softLimit, or raise hardLimit"},
		{badTask, "- name: DB_PASSWORD", "- name: GREETING", "29:15", "container web has two variables GREETING",
			"remove one of the two"},
		{badTask, "executionRoleArn: arn:aws:iam::123456789012:role/ecsTaskExecutionRole", "", "29:7",
			"container web has secrets, and the task definition has no executionRoleArn", "set executionRoleArn"},
	}
}

func refusedServices() []refusedInput {
	return []refusedInput{
		{badService, "serviceName: web", "serviceName: ../web", "2:14", "serviceName has 1 to 255 of", "letters, digits"},
		{badService, "desiredCount: 4", "desiredCount: -3", "3:15", "desiredCount is 0 or more, and this is -3",
			"write 0 or more"},
		{badService, "type: EXTERNAL", "type: EXTERN", "5:9", `deploymentController.type cannot be "EXTERN"`,
			`"EXTERNAL"`},
		{badService, "type: EXTERNAL", `type: ""`, "5:3", "deploymentController has no type", "add type"},
		{badService, "schedulingStrategy: REPLICA", "schedulingStrategy: DAEMON", "3:15",
			"DAEMON has no desiredCount", "remove desiredCount"},
		{badService, "schedulingStrategy: REPLICA", "capacityProviderStrategy: [{capacityProvider: FARGATE_SPOT}]", "7:27",
			"launchType and capacityProviderStrategy exclude each other", "remove one"},
		{badService, "schedulingStrategy: REPLICA", "placementStrategy: [{type: random}]", "7:20",
			"Fargate does not support placementStrategy", "remove it"},
		{badService, "minimumHealthyPercent: 100", "minimumHealthyPercent: 101", "9:26", "from 0 to 100, and this is 101",
			"write a number from 0 to 100"},
		{badService, "minimumHealthyPercent: 100", "maximumPercent: 99", "9:19", "is 100 or more, and this is 99",
			"write 100 or more"},
		{badService, "  minimumHealthyPercent: 100", "  minimumHealthyPercent: 100\n  maximumPercent: 100", "9:26",
			"block every deployment", "lower minimumHealthyPercent"},
		{badService, "minimumHealthyPercent: 100", "minimumHealthyPercent: -5", "9:26", "from 0 to 100, and this is -5",
			"write a number from 0 to 100"},
		{badService, "subnets: [subnet-0123456789abcdef0]", "subnets: []", "12:14", "subnets has no entry", "add an entry"},
		{badService, "    subnets: [subnet-0123456789abcdef0]", "", "13:5", "awsvpcConfiguration has no subnets",
			"add subnets"},
		{badService, "[sg-0123456789abcdef0]", "[a, b, c, d, e, f]", "13:21", "at most 5 entries, and this has 6",
			"remove entries until 5 are left"},
		{badService, "propagateTags: SERVICE", "loadBalancers: [{targetGroupArn: 'arn:x', containerName: wob, " +
			"containerPort: 80}]", "15:58", `taskdef.yaml has no container "wob"`, "web, proxy"},
		{badService, "propagateTags: SERVICE", "loadBalancers: [{targetGroupArn: 'arn:x', containerName: web, " +
			"containerPort: 81}]", "15:78", "container web of", "use 80"},
		{badService, "propagateTags: SERVICE", "serviceRegistries: [{registryArn: 'arn:x', containerName: wob, " +
			"containerPort: 80}]", "15:59", `taskdef.yaml has no container "wob"`, `"web"`},
		{badService, "propagateTags: SERVICE", "volumeConfigurations: [{name: data}]", "15:31",
			"has no volume data that is configured at launch", "configuredAtLaunch: true"},
		{badService, "propagateTags: SERVICE", "serviceConnectConfiguration: {enabled: true, services: [{portName: " +
			"htpp}]}", "15:68", "has no port mapping named htpp", `"http"`},
		{badService, "propagateTags: SERVICE", "enableExecuteCommand: true", "15:23",
			"enableExecuteCommand needs a role of the tasks", "set taskRoleArn in"},
		{badService, "key: team", "key: aws:team", "17:10", "begins with aws:, which AWS reserves", "rename the key"},
		{badService, "value: shop", "value: a;b", "18:12", "does not match AWS's pattern", "only characters"},
	}
}

func refusedApps() []refusedInput {
	return []refusedInput{
		{badApp, "containerName: web", "containerName: wob", "11:24", `taskdef.yaml has no container "wob"`,
			`"web"`},
		{badApp, "containerPort: 80", "containerPort: 81", "12:24", "no port mapping of port 81", "use 80"},
		{badApp, "duration: 10s", "duration: 1000000h", "25:9", "longer than the timeout of the deployment", "timeout"},
		{badApp, "scale: 50", "scale: 0", "21:18", "a whole percentage from 1 to 100", "a whole percentage"},
		{badApp, "canary: 10", "canary: 101", "24:19", "a whole percentage from 0 to 100", "a whole percentage"},
		{badApp, "name: WAIT", "name: WAITT", "25:15", `unknown stage "WAITT"`, `did you mean "WAIT"`},
		{badApp, "targetGroupArn: arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-primary/" +
			"0123456789abcdef", "targetGroupArn: web-primary", "10:25", "is not the ARN of a target group",
			"describe-target-groups"},
		{badApp, "    targetGroups:", "    listenerRules: [web:80]\n    targetGroups:", "8:21", "has no ARN of a listener rule",
			"describe-rules"},
	}
}

// TestRefusedInputs changes one line of a good example at a time. The plan and the deployment refuse
// the line with its place, the reason and the remedy, and nothing is written to AWS.
func TestRefusedInputs(t *testing.T) {
	all := refusedInputs()
	if len(all) < 60 {
		t.Errorf("%d refused inputs are less than 60", len(all))
	}
	sim, calls := badGround(t)
	before := worldText(t, sim)
	good := badInput{name: "as it is", from: refusedFolder}
	if code, text, _ := good.run(t, calls, sim); code != 0 {
		t.Fatalf("the good example is refused: %s", text)
	}
	for _, r := range all {
		for _, command := range []string{"plan", "deploy"} {
			t.Run(fmt.Sprintf("%s: %s %s", command, r.file, r.new), func(t *testing.T) {
				b := badInput{from: refusedFolder, args: []string{command, "DIR"}, lay: func(t *testing.T, dir string) {
					edit(t, filepath.Join(dir, r.file), r.old, r.new)
				}}
				code, text, writes := b.run(t, calls, sim)
				if code == 0 || len(writes) > 0 {
					t.Errorf("exit %d, writes %v", code, writes)
				}
				r.compare(t, text)
			})
		}
	}
	if after := worldText(t, sim); after != before {
		t.Error("the world has changed")
	}
	t.Logf("%d refused inputs", len(all))
}

// compare finds the place and the reason in one line, and the remedy below it.
func (r refusedInput) compare(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.Contains(line, r.file+":"+r.at+": ") || !strings.Contains(line, r.message) {
			continue
		}
		rest := line
		for _, further := range lines[i+1:] {
			if placed.MatchString(further) && !strings.HasPrefix(further, "next: ") {
				break // the next problem
			}
			rest += "\n" + further
		}
		if !strings.Contains(rest, r.remedy) {
			t.Errorf("no remedy %q in\n%s", r.remedy, rest)
		}
		return
	}
	t.Errorf("no %s:%s with %q in\n%s", r.file, r.at, r.message, text)
}

// worldText returns what a deployment could have changed.
func worldText(t *testing.T, sim *awssim.Sim) string {
	t.Helper()
	view := sim.View().Regions[0]
	text, err := json.Marshal([]any{view.Clusters[0].Services[0].TaskSets, view.LoadBalancers})
	fail(t, err)
	return string(text)
}

// TestRefusedFolderHasNoOtherFiles keeps the example as small as its cases.
func TestRefusedFolderHasNoOtherFiles(t *testing.T) {
	entries, err := os.ReadDir(refusedFolder)
	fail(t, err)
	if len(entries) != 3 {
		t.Errorf("%d files, want 3", len(entries))
	}
}
