package appfile

import (
	"strings"
	"testing"
	"testing/fstest"
)

const (
	goodApp = `cluster: prod
input:
  serviceDefinitionFile: service.yaml
  taskDefinitionFile: task.yaml
  targetGroups:
    primary: {targetGroupArn: "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/a/0123456789abcdef", containerName: web, containerPort: 8080}
pipeline: {stages: [{name: WAIT, with: {duration: 1h}}]}
`
	goodTask = `family: web
requiresCompatibilities: [FARGATE]
cpu: "256"
memory: "512"
containerDefinitions:
  - name: web
    image: sim/web:v1
    portMappings: [{containerPort: 8080}]
    healthCheck: {command: [CMD, x], interval: 30}
networkMode: awsvpc
`
	goodService = "serviceName: web\ndesiredCount: 2\n"
)

func TestValuesThatAWSRefusesAreProblems(t *testing.T) {
	for _, c := range []struct{ file, from, to, want string }{
		{"", "", "", ""},
		{"service.yaml", "desiredCount: 2", "desiredCount: -3",
			"service.yaml:2:15: desiredCount is 0 or more, and this is -3"},
		{"service.yaml", "serviceName: web", "serviceName: ../web",
			`service.yaml:1:14: serviceName has 1 to 255 of the characters A-Z a-z 0-9 _ -, and this is "../web"`},
		{"task.yaml", "family: web", `family: "w\e[31mb"`,
			`task.yaml:1:9: family has 1 to 255 of the characters A-Z a-z 0-9 _ -, and this is "w\x1b[31mb"`},
		{"task.yaml", "family: web", "family: " + strings.Repeat("x", 256), "of 256 characters"},
		{"task.yaml", "image: sim/web:v1", `image: "sim/web:v1\e]0;x\a"`,
			"task.yaml:7:12: containerDefinitions[].image is the name of an image"},
		{"task.yaml", "containerPort: 8080", "containerPort: 99999",
			"task.yaml:8:36: containerDefinitions[].portMappings[].containerPort is a number from 1 to 65535, and " +
				"this is 99999"},
		{"task.yaml", "containerPort: 8080", "containerPort: -1", "and this is -1"},
		{"task.yaml", "containerPort: 8080", "containerPort: 80",
			"sluice.yaml:6:152: container web of task.yaml has no port mapping of port 8080"},
		{"task.yaml", "name: web", "name: wob",
			`sluice.yaml:6:132: the task definition task.yaml has no container "web"`},
		{"task.yaml", "interval: 30", "interval: 1", "healthCheck.interval is a number from 5 to 300, and this is 1"},
		{"task.yaml", `cpu: "256"`, `cpu: "257"`, "task.yaml:3:6: Fargate does not support 257 CPU units"},
		{"task.yaml", `cpu: "256"`, `cpu: .25 vCPU`, ""},
		{"task.yaml", `memory: "512"`, `memory: 3GB`,
			"next: set memory to 512 MiB, or 1024 to 2048 MiB in steps of 1024, or choose another cpu"},
		{"task.yaml", `memory: "512"`, `memory: 1 GB`, ""},
		{"task.yaml", "memory: \"512\"\n", "",
			"the task definition has no memory, which Fargate requires"},
		{"sluice.yaml", "duration: 1h", "duration: 1000000h",
			"sluice.yaml:7:21: the WAIT stages together take longer than the timeout of the deployment (6h0m0s)"},
		{"sluice.yaml", "cluster: prod", "cluster: prod\ntimeout: 30m", "the timeout of the deployment (30m0s)"},
	} {
		files := map[string]string{"sluice.yaml": goodApp, "task.yaml": goodTask, "service.yaml": goodService}
		if !strings.Contains(files[c.file], c.from) {
			t.Fatalf("%s has no %s", c.file, c.from)
		}
		if c.file != "" {
			files[c.file] = strings.Replace(files[c.file], c.from, c.to, 1)
		}
		fsys := fstest.MapFS{}
		for name, text := range files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		_, err := Load(fsys, ".", nil)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.to, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s:\n%v\ndoes not say %s", c.to, err, c.want)
		}
	}
}

func TestTaskDefinitionOfAServiceIsNoted(t *testing.T) {
	app, err := Load(fstest.MapFS{"sluice.yaml": {Data: []byte(goodApp)}, "task.yaml": {Data: []byte(goodTask)},
		"service.yaml": {Data: []byte(goodService + "taskDefinition: web:7\n")}}, ".", nil)
	if err != nil || len(app.Notes) != 1 ||
		app.Notes[0] != "taskDefinition in service.yaml is not used: the task definition of the files is deployed" {
		t.Fatal(app, err)
	}
}

func TestPathsLeadNowhereElse(t *testing.T) {
	_, err := Load(fstest.MapFS{"web/sluice.yaml": {Data: []byte("input: {taskDefinitionFile: ../secret}\n")},
		"secret": {Data: []byte("PLANTED")}}, "web", nil)
	if err == nil || !strings.Contains(err.Error(), "../secret is outside the folder") ||
		strings.Contains(err.Error(), "PLANTED") {
		t.Fatal(err)
	}
}
