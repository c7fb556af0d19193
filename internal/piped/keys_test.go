package piped

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

const (
	keysHead = "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: web\n"
	keysPart = `  plugins:
    ecs:
      input:
        serviceDefinitionFile: servicedef.yaml
        taskDefinitionFile: taskdef.yaml
        targetGroups:
          primary: {targetGroupArn: "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/p/0123456789abcdef", containerName: web, containerPort: 80}
          canary: {targetGroupArn: "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/c/0123456789abcdef", containerName: web, containerPort: 80}
`
	keysTask = "family: web\ncpu: 256\nmemory: 512\ncontainerDefinitions: [{name: web, image: a, " +
		"portMappings: [{containerPort: 80}]}]\n"
	keysService = "serviceName: web\ncluster: prod\ndeploymentController: {type: EXTERNAL}\n"
)

// staged is a file with the stages of a pipeline.
func staged(stages ...string) string {
	return keysHead + keysPart + "  pipeline:\n    stages:\n      - " + strings.Join(stages, "\n      - ") + "\n"
}

// read loads an application with the usual definitions, or with others.
func read(t *testing.T, app, task, service string) error {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"taskdef.yaml": task, "taskdef.json": task, "servicedef.yaml": service} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err := (&pluginEntry{Name: "ecs"}).loadApplication(&contract.DeploymentSource{ApplicationDirectory: dir,
		ApplicationConfig: []byte(app), ApplicationConfigFilename: "app.pipecd.yaml"})
	return err
}

// What the official plugin takes is taken: every key of its application files, of
// piped's own, and definitions in every spelling that it reads.
func TestKeysOfTheOfficialPluginAreTaken(t *testing.T) {
	t.Parallel()
	canary, rest := "{name: ECS_CANARY_ROLLOUT, with: {scale: 30}}", "{name: ECS_PRIMARY_ROLLOUT}"
	input := func(line string) string { return keysHead + keysPart + "        " + line + "\n" }
	for name, app := range map[string]string{
		"nothing but the part":    keysHead + "  plugins:\n    ecs: {}\n",
		"an empty part":           keysHead + "  plugins:\n    ecs:\n",
		"cluster of a task":       input("clusterArn: prod"),
		"launch type of a task":   input("launchType: FARGATE"),
		"access by load balancer": input("accessType: ELB"),
		"a task that is not run":  input("runStandaloneTask: false"),
		"network of a task": input(
			"awsvpcConfiguration: {subnets: [subnet-1], securityGroups: [sg-1], assignPublicIp: ENABLED}"),
		"recreate": keysHead + keysPart + "      quickSync: {recreate: true}\n",
		"shares": staged(canary, "{name: ECS_TRAFFIC_ROUTING, with: {canary: 10}}",
			"{name: ECS_TRAFFIC_ROUTING, with: {primary: 30}}", rest),
		"shares as v0 wrote them": staged("{name: ECS_CANARY_ROLLOUT, with: {scale: '30%'}}",
			"{name: ECS_TRAFFIC_ROUTING, with: {primary: '30%'}}", rest),
		"keys of every stage": staged(
			"{name: ECS_SYNC, desc: a, timeout: 10m, with: {}, skipOn: {paths: [a], commitMessagePrefixes: [b]}}"),
		"stages of other plugins": staged(canary, "{name: WAIT, with: {duration: 1m}}",
			"{name: SCRIPT_RUN, with: {run: a, env: {b: c}, onRollback: d}}", rest),
		"a part of another plugin": keysHead + "  plugins:\n    kubernetes: {input: {manifests: [a]}}\n" +
			strings.TrimPrefix(keysPart, "  plugins:\n"),
		"keys that piped acts on": keysHead + keysPart + `  labels: {a: b}
  description: a
  planner: {alwaysUsePipeline: true, autoRollback: false}
  commitMatcher: {quickSync: a, pipeline: b}
  trigger:
    onCommit: {disabled: false, paths: [a], ignores: [b]}
    onCommand: {disabled: false}
    onOutOfSync: {disabled: true, minWindow: 5m}
    onChain: {disabled: true}
  postSync: {chain: {applications: [{name: a}]}}
  timeout: 6h
  encryption: {encryptedSecrets: {a: b}, decryptionTargets: [c]}
  attachment: {sources: {a: b}, targets: [c]}
  notification: {mentions: [{event: DEPLOYMENT_TRIGGERED, slack: [a]}]}
  eventWatcher: [{matcher: {name: a}, handler: {type: GIT_UPDATE, config: {}}}]
  driftDetection: {ignoreFields: ["service#a"]}
`,
	} {
		if err := read(t, app, keysTask, keysService); err != nil {
			t.Errorf("%s: %s", name, explainError(err))
		}
	}
	for name, files := range map[string][2]string{
		"JSON": {`{"family":"web","containerDefinitions":[{"name":"web","image":"a","memory":512,"portMappings":[{"containerPort":80}]}]}`,
			`{"serviceName":"web","cluster":"prod","deploymentController":{"type":"EXTERNAL"}}`},
		"capital letters": {"Family: web\nContainerDefinitions: [{Name: web, Image: a, Memory: 512, PortMappings: [{ContainerPort: 80}]}]\n",
			"ServiceName: web\nCluster: prod\nDeploymentController: {Type: EXTERNAL}\n"},
		"aliases and what is read": {keysTask,
			"serviceName: web\nclusterArn: prod\nroleArn: arn:aws:iam::123456789012:role/a\ndeploymentController: " +
				"{type: EXTERNAL}\nstatus: ACTIVE\nrunningCount: 1\n"},
		"an empty role": {keysTask, keysService + "role: ''\n"},
	} {
		if err := read(t, keysHead+keysPart, files[0], files[1]); err != nil {
			t.Errorf("%s: %s", name, explainError(err))
		}
	}
}

// What the official plugin reads past, or takes for something else than it says, is
// refused with its place and a sentence.
func TestKeysThatAreRefusedAreExplained(t *testing.T) {
	t.Parallel()
	for app, tells := range map[string]string{
		staged("{name: ECS_CANARY_ROLLOUT, with: {scale: 0}}"): "scale is a whole percentage from 1 " +
			"to 100",
		staged("{name: ECS_CANARY_ROLLOUT, with: {scale: 12.5}}"): "scale is a whole percentage from 1 " +
			"to 100",
		staged("{name: ECS_CANARY_ROLLOUT}"): "scale",
		staged("{name: ECS_TRAFFIC_ROUTING, with: {primary: 101}}"): "PipeCD replaces values outside 1 " +
			"to 100 with primary 100",
		staged("{name: ECS_TRAFFIC_ROUTING, with: {primary: 30, canary: 50}}"): "sum to 80, not to 100",
		staged("{name: ECS_TRAFFIC_ROUTING, with: {}}"):                        "neither with.primary nor with.canary",
		staged("{name: ECS_PRIMARY_ROLLOUT, with: {scale: 1}}"):                `unknown key "scale"`,
		staged("{name: ECS_ROLLBACK}"):                                         "sluice adds the rollback itself",
		staged("{name: ECS_SYNC, id: a}"):                                      "Stages of PipeCD v1 have no id",
		keysHead + keysPart +
			"        accessType: ALB\n": "use one of ELB, SERVICE_DISCOVERY",
		keysHead + keysPart +
			"        launchType: LAMBDA\n": "use one of EC2, FARGATE",
		keysHead + keysPart +
			"        autoRollback: true\n": "In PipeCD v1 use planner.autoRollback",
		keysHead + keysPart +
			"        targetGroupz: {}\n": `unknown key "targetGroupz"`,
		keysHead + strings.Replace(keysPart, "containerPort: 80}", "loadBalancerName: a}",
			1): "PipeCD v1 does not have this key",
		keysHead + strings.Replace(keysPart, ", containerPort: 80", "", 1): "containerPort",
		keysHead + keysPart +
			"  region: us-east-1\n": "In PipeCD the Region is in piped's configuration of the deploy target",
		keysHead + keysPart +
			"  roleARN: arn:aws:iam::123456789012:role/a\n": "piped has it in its configuration of the deploy target",
		keysHead: "spec has no plugins",
		strings.Replace(keysHead, "pipecd.dev/v1beta1", "v1", 1) +
			keysPart: "apiVersion must be pipecd.dev/v1beta1",
		strings.Replace(keysHead, "Application", "KubernetesApp", 1) + keysPart: "not a kind for ECS",
		"":      "is a map",
		"\t: [": "malformed YAML",
	} {
		if err := read(t, app, keysTask, keysService); err == nil || !strings.Contains(explainError(err), tells) ||
			!strings.Contains(explainError(err), "app.pipecd.yaml") {
			t.Errorf("%s\n%v, want %q", app, err, tells)
		}
	}
}

// The keys that only PipeCD's page has are read past, with a note.
func TestKeysOfPipeCDsPageAreReadPast(t *testing.T) {
	t.Parallel()
	if err := read(t, keysHead+keysPart+"  plugin: ecs\n  deployTarget: dt\n", keysTask, keysService); err != nil {
		t.Error(explainError(err))
	}
}

// A deploy target takes the official keys, alone and together.
func TestDeployTargetsAsOfficiallyConfigured(t *testing.T) {
	t.Parallel()
	for _, config := range []string{
		`{"region":"us-east-1"}`, `{"region":"us-east-1","profile":"a"}`,
		`{"region":"us-east-1","profile":"a","credentialsFile":"/b"}`,
		`{"region":"us-east-1","roleARN":"arn:aws:iam::123456789012:role/a"}`,
		`{"region":"us-east-1","roleARN":"arn:aws:iam::123456789012:role/a","tokenFile":"/c"}`,
	} {
		e, err := readEntry(`{"name":"ecs","url":"file:///a","port":7001,"config":{},"deployTargets":[{"name":"dt","labels":{"env":"a"},"config":` + config + `}]}`)
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		if to, err := e.findTarget("dt"); err != nil || to.access.Region != "us-east-1" {
			t.Errorf("%s: %+v %v", config, to, err)
		}
	}
}

// The example is whole: its entry starts the plugin, its application is read, and its
// pipeline needs no other plugin.
func TestExampleIsWhole(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "examples", "pipecd")
	var file struct {
		Spec struct{ Plugins []map[string]any }
	}
	text, err := os.ReadFile(filepath.Join(folder, "piped.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil || len(file.Spec.Plugins) != 1 {
		t.Fatalf("%v %v", file, err)
	}
	line, err := json.Marshal(file.Spec.Plugins[0])
	if err != nil {
		t.Fatal(err)
	}
	e, err := readEntry(string(line))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(folder, "repository", "web")
	app, err := os.ReadFile(filepath.Join(dir, "app.pipecd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.loadApplication(&contract.DeploymentSource{ApplicationDirectory: dir, ApplicationConfig: app,
		ApplicationConfigFilename: "app.pipecd.yaml"})
	if err != nil {
		t.Fatal(explainError(err))
	}
	for _, stage := range out.pipeline {
		if !slices.Contains(ourStages, stage) {
			t.Errorf("stage %s needs a plugin that piped.yaml does not have", stage)
		}
	}
}
