package appfile

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/definition"
)

const (
	v0 = "apiVersion: pipecd.dev/v1beta1\nkind: ECSApp\nspec:\n"
	v1 = "apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n"
)

// sample is an application file and what is said of it. Beside it stand a
// taskdef.json and a servicedef.yaml.
type sample struct {
	name, file string
	want       string // the whole error; empty: accepted
	beyond     bool   // the schema cannot tell
}

func samples() []sample {
	return []sample{
		{name: "nothing but a name", file: "name: web\n"},
		{name: "v0 with empty parts", file: v0 + "  input:\n  quickSync:\n  pipeline:\n    stages:\n"},
		{name: "v1 with an empty plugin", file: v1 + "  plugins: {ecs: }\n"},
		{name: "shares as text", file: "pipeline: {stages: [{name: ECS_TRAFFIC_ROUTING, with: {primary: '90%', " +
			"canary: '10'}}]}\n"},
		{name: "v0's timeout within", file: v0 +
			"  pipeline: {stages: [{name: ECS_SYNC, id: x, with: {timeout: 1h30m, skipOn: {paths: [a]}}}]}\n"},
		{name: "fractions of durations", file: "timeout: 1.5h\nprogressDeadline: 90s\n"},
		{
			name: "a world to rehearse in",
			file: "rehearse:\n  tasks: 8\n  zones: 2\n  start: 45s\n  healthCheck: {interval: 10s, healthy: 3}\n  " +
				"deregistrationDelay: 0s\n  requests: {rate: 50, duration: 2s}\n  autoscaling: {min: 2, max: 20}\n",
		},
		{
			name: "a health check that AWS does not have", beyond: true,
			file: "rehearse:\n  healthCheck: {interval: 1s}\n",
			want: `app.pipecd.yaml:2:27: rehearse.healthCheck.interval is a duration from 5s to 5m0s, and this is 1s
   2 |   healthCheck: {interval: 1s}
     |                           ^`,
		},
		{
			name: "autoscaling upside down", beyond: true,
			file: "rehearse:\n  autoscaling: {min: 5, max: 2}\n",
			want: `app.pipecd.yaml:2:22: rehearse.autoscaling.min 5 is above max 2
   2 |   autoscaling: {min: 5, max: 2}
     |                      ^`,
		},
		{
			name: "a task definition",
			file: "family: web\ncontainerDefinitions:\n  - name: web\n",
			want: `app.pipecd.yaml:3:3: this is a task definition, not an application file
   3 |   - name: web
     |   ^
next: give the folder of the application, or its sluice.yaml`,
		},
		{
			name: "a service definition",
			file: "serviceName: web\nlaunchType: FARGATE\n",
			want: `app.pipecd.yaml:1:14: this is a service definition, not an application file
   1 | serviceName: web
     |              ^
next: give the folder of the application, or its sluice.yaml`,
		},
		{
			name: "a key misspelt",
			file: v0 + "  input:\n    taskDefinitonFile: a.json\n",
			want: `app.pipecd.yaml:5:5: unknown key "taskDefinitonFile" in spec.input
   5 |     taskDefinitonFile: a.json
     |     ^
did you mean "taskDefinitionFile"?`,
		},
		{
			name: "a key in the wrong place",
			file: v0 + "  serviceDefinitionFile: servicedef.yaml\n",
			want: `app.pipecd.yaml:4:3: unknown key "serviceDefinitionFile" in spec: it belongs under spec.input
   4 |   serviceDefinitionFile: servicedef.yaml
     |   ^`,
		},
		{
			name: "v0's layout with v1's kind",
			file: v1 + "  input: {}\n  plugins: {ecs: {}}\n",
			want: `app.pipecd.yaml:4:3: unknown key "input" in spec: it belongs under spec.plugins.ecs
   4 |   input: {}
     |   ^
next: move it under spec.plugins.ecs; or set kind: ECSApp, if the file is for PipeCD v0`,
		},
		{
			name: "v0's layout with v1's kind, and no plugins",
			file: v1 + "  input: {taskDefinitionFile: t.json}\n",
			want: `app.pipecd.yaml:4:3: unknown key "input" in spec: it belongs under spec.plugins.ecs
   4 |   input: {taskDefinitionFile: t.json}
     |   ^
next: move it under spec.plugins.ecs; or set kind: ECSApp, if the file is for PipeCD v0`,
		},
		{
			name: "v0's timeout of a stage in v1",
			file: v1 + "  plugins: {main: {}}\n  pipeline: {stages: [{name: ECS_SYNC, with: {timeout: 5m}}]}\n",
			want: `app.pipecd.yaml:5:47: unknown key "timeout" in spec.pipeline.stages[0].with: it belongs beside with, in spec.pipeline.stages[0]
   5 |   pipeline: {stages: [{name: ECS_SYNC, with: {timeout: 5m}}]}
     |                                               ^`,
		},
		{
			name: "a key of input in the section, which has another name",
			file: v1 + "  plugins: {main: {accessType: ELB}}\n",
			want: `app.pipecd.yaml:4:20: unknown key "accessType" in spec.plugins.main: it belongs under spec.plugins.main.input
   4 |   plugins: {main: {accessType: ELB}}
     |                    ^`,
		},
		{
			name: "the section of another plugin",
			file: v1 + "  plugins: {kubernetes: {}}\n",
			want: `app.pipecd.yaml:4:13: spec.plugins.kubernetes is the section of PipeCD's plugin kubernetes, and the one of Amazon ECS is ecs
   4 |   plugins: {kubernetes: {}}
     |             ^
next: rename the section to ecs`,
		},
		{
			name: "v1 without plugins",
			file: v1 + "  name: web\n",
			want: `app.pipecd.yaml:4:3: spec has no plugins
   4 |   name: web
     |   ^`,
		},
		{
			name: "v1 with two plugins, none of them ecs",
			file: v1 + "  plugins: {a: {}, b: {}}\n",
			want: `app.pipecd.yaml:4:12: spec.plugins has 2 entries and none is named ecs: rename the entry of the ECS plugin to ecs
   4 |   plugins: {a: {}, b: {}}
     |            ^`,
		},
		{
			name: "another kind",
			file: "apiVersion: pipecd.dev/v1beta1\nkind: ECSapp\nspec: {}\n",
			want: `app.pipecd.yaml:2:7: kind "ECSapp" is not a kind for ECS: use ECSApp (PipeCD v0) or Application (PipeCD v1)
   2 | kind: ECSapp
     |       ^
did you mean "ECSApp"?`,
		},
		{
			name: "App Mesh",
			file: v0 + "  input: {accessType: APP_MESH}\n",
			want: `app.pipecd.yaml:4:23: spec.input.accessType cannot be APP_MESH: AWS ended App Mesh on 2026-09-30; use a load balancer with weighted target groups (ELB), or ECS's own deployment strategies
   4 |   input: {accessType: APP_MESH}
     |                       ^`,
		},
		{
			name: "an access type misspelt",
			file: v0 + "  input: {ecsAccessType: SERVICE_DISCOVRY}\n",
			want: `app.pipecd.yaml:4:26: spec.input.ecsAccessType cannot be "SERVICE_DISCOVRY": use one of ELB, SERVICE_DISCOVERY, ECS_SERVICE_DISCOVERY, NONE
   4 |   input: {ecsAccessType: SERVICE_DISCOVRY}
     |                          ^
did you mean "SERVICE_DISCOVERY"?`,
		},
		{
			name: "the access type under both names",
			file: v0 + "  input: {accessType: ELB, ecsAccessType: ELB}\n",
			want: `app.pipecd.yaml:4:28: accessType and ecsAccessType are two names of one key: set only one
   4 |   input: {accessType: ELB, ecsAccessType: ELB}
     |                            ^`,
		},
		{
			name: "the Region in PipeCD's file",
			file: v0 + "  region: us-east-1\n",
			want: `app.pipecd.yaml:4:3: spec.region is refused. In PipeCD the Region is in piped's configuration of the deploy target: remove the key. The command line uses AWS_REGION, or its option for the Region.
   4 |   region: us-east-1
     |   ^`,
		},
		{
			name: "a key of PipeCD v1's page in a file of v0",
			file: v0 + "  deployTarget: stage\n",
			want: `app.pipecd.yaml:4:3: spec.deployTarget is refused. Only examples of PipeCD v1 have this key: remove it.
   4 |   deployTarget: stage
     |   ^`,
		},
		{name: "the keys of PipeCD v1's page", file: v1 + "  plugin: ecs\n  deployTarget: stage\n  plugins: {ecs: {}}\n"},
		{
			name: "the timeout of an approval, as on PipeCD v1's page",
			file: v1 + "  plugins: {ecs: {}}\n  pipeline: {stages: [{name: WAIT_APPROVAL, with: {timeout: 1h}}]}\n",
		},
		{
			name: "a timeout in another stage's options",
			file: v1 + "  plugins: {ecs: {}}\n  pipeline: {stages: [{name: WAIT, with: {duration: 1m, timeout: 1h}}]}\n",
			want: `app.pipecd.yaml:5:57: unknown key "timeout" in spec.pipeline.stages[0].with: it belongs beside with, in spec.pipeline.stages[0]
   5 |   pipeline: {stages: [{name: WAIT, with: {duration: 1m, timeout: 1h}}]}
     |                                                         ^`,
		},
		{
			name: "hosting",
			file: "hosting: services\n",
			want: `app.pipecd.yaml:1:1: unknown key "hosting" in the file: it belongs under input
   1 | hosting: services
     | ^`,
		},
		{
			name: "keys of the definitions",
			file: "name: web\nlaunchType: FARGATE\nrequiresCompatibilities: [FARGATE]\n",
			want: `app.pipecd.yaml:2:1: unknown key "launchType" in the file: it belongs in the service definition
   2 | launchType: FARGATE
     | ^
app.pipecd.yaml:3:1: unknown key "requiresCompatibilities" in the file: it belongs in the task definition
   3 | requiresCompatibilities: [FARGATE]
     | ^`,
		},
		{
			name: "a number without unit for a duration",
			file: "timeout: 10\n",
			want: `app.pipecd.yaml:1:10: timeout is a duration above zero, such as "90s", "10m" or "1h30m", and this is 10
   1 | timeout: 10
     |          ^`,
		},
		{
			name: "a duration of zero",
			file: "timeout: 0s\n",
			want: `app.pipecd.yaml:1:10: timeout is a duration above zero, such as "90s", "10m" or "1h30m", and this is 0s
   1 | timeout: 0s
     |          ^`,
		},
		{
			name: "a target group without a port",
			file: "input: {targetGroups: {primary: {containerName: web}}}\n",
			want: `app.pipecd.yaml:1:33: input.targetGroups.primary has no targetGroupArn
   1 | input: {targetGroups: {primary: {containerName: web}}}
     |                                 ^
app.pipecd.yaml:1:33: input.targetGroups.primary has no containerPort
   1 | input: {targetGroups: {primary: {containerName: web}}}
     |                                 ^`,
		},
		{
			name: "no scale",
			file: v0 + "  pipeline:\n    stages:\n      - name: ECS_CANARY_ROLLOUT\n",
			want: `app.pipecd.yaml:6:9: spec.pipeline.stages[0] (ECS_CANARY_ROLLOUT) has no with.scale (in PipeCD, 0 is a canary without tasks)
   6 |       - name: ECS_CANARY_ROLLOUT
     |         ^`,
		},
		{
			name: "a scale of 0",
			file: v0 + "  pipeline:\n    stages:\n      - name: ECS_CANARY_ROLLOUT\n        with: {scale: 0}\n",
			want: `app.pipecd.yaml:7:23: spec.pipeline.stages[0].with.scale is a whole percentage from 1 to 100, written 10 or "10%", and this is 0 (in PipeCD, 0 is a canary without tasks)
   7 |         with: {scale: 0}
     |                       ^`,
		},
		{
			name: "a scale with a fraction",
			file: "pipeline: {stages: [{name: ECS_CANARY_ROLLOUT, with: {scale: 33.3}}]}\n",
			want: `app.pipecd.yaml:1:62: pipeline.stages[0].with.scale is a whole percentage from 1 to 100, written 10 or "10%", and this is 33.3 (in PipeCD, 0 is a canary without tasks)
   1 | pipeline: {stages: [{name: ECS_CANARY_ROLLOUT, with: {scale: 33.3}}]}
     |                                                              ^`,
		},
		{
			name: "a share beyond 100",
			file: "pipeline: {stages: [{name: ECS_TRAFFIC_ROUTING, with: {canary: 110%}}]}\n",
			want: `app.pipecd.yaml:1:64: pipeline.stages[0].with.canary is a whole percentage from 0 to 100, written 10 or "10%", and this is 110% (PipeCD replaces values outside 1 to 100 with primary 100, canary 0)
   1 | pipeline: {stages: [{name: ECS_TRAFFIC_ROUTING, with: {canary: 110%}}]}
     |                                                                ^`,
		},
		{
			name: "no share",
			file: "pipeline: {stages: [{name: ECS_TRAFFIC_ROUTING}]}\n",
			want: `app.pipecd.yaml:1:21: pipeline.stages[0] (ECS_TRAFFIC_ROUTING) has neither with.primary nor with.canary (PipeCD uses primary 100, canary 0)
   1 | pipeline: {stages: [{name: ECS_TRAFFIC_ROUTING}]}
     |                     ^`,
		},
		{
			name:   "shares that do not sum to 100",
			beyond: true,
			file:   "pipeline: {stages: [{name: ECS_TRAFFIC_ROUTING, with: {primary: 90, canary: 20}}]}\n",
			want: `app.pipecd.yaml:1:77: pipeline.stages[0].with: primary 90 and canary 20 sum to 110, not to 100 (PipeCD uses one of them and ignores the other)
   1 | pipeline: {stages: [{name: ECS_TRAFFIC_ROUTING, with: {primary: 90, canary: 20}}]}
     |                                                                             ^`,
		},
		{
			name: "a stage misspelt",
			file: "pipeline: {stages: [{name: ECS_CANARY_ROLLUOT}]}\n",
			want: `app.pipecd.yaml:1:28: unknown stage "ECS_CANARY_ROLLUOT": use one of ECS_SYNC, ECS_CANARY_ROLLOUT, ECS_TRAFFIC_ROUTING, ECS_PRIMARY_ROLLOUT, ECS_CANARY_CLEAN, WAIT, ANALYSIS, WAIT_APPROVAL
   1 | pipeline: {stages: [{name: ECS_CANARY_ROLLUOT}]}
     |                            ^
did you mean "ECS_CANARY_ROLLOUT"?`,
		},
		{
			name: "a rollback in a pipeline",
			file: "pipeline: {stages: [{name: ECS_ROLLBACK}]}\n",
			want: `app.pipecd.yaml:1:28: stage ECS_ROLLBACK is refused. sluice adds the rollback itself; planner.autoRollback controls it.
   1 | pipeline: {stages: [{name: ECS_ROLLBACK}]}
     |                            ^`,
		},
		{
			name: "an option of another stage",
			file: "pipeline: {stages: [{name: ECS_CANARY_CLEAN, with: {scale: 10}}]}\n",
			want: `app.pipecd.yaml:1:53: unknown key "scale" in pipeline.stages[0].with: it belongs under pipeline.stages[ECS_CANARY_ROLLOUT].with
   1 | pipeline: {stages: [{name: ECS_CANARY_CLEAN, with: {scale: 10}}]}
     |                                                     ^`,
		},
		{
			name:   "more approvals than approvers",
			beyond: true,
			file:   "pipeline: {stages: [{name: WAIT_APPROVAL, with: {approvers: [a], minApproverNum: 2}}]}\n",
			want: `app.pipecd.yaml:1:82: pipeline.stages[0].with.minApproverNum is 2, but approvers names only 1
   1 | pipeline: {stages: [{name: WAIT_APPROVAL, with: {approvers: [a], minApproverNum: 2}}]}
     |                                                                                  ^`,
		},
		{
			name:   "the stage's timeout twice",
			beyond: true,
			file:   "pipeline: {stages: [{name: ECS_SYNC, timeout: 1h, with: {timeout: 2h}}]}\n",
			want: `app.pipecd.yaml:1:67: pipeline.stages[0].timeout is given twice, here and in the stage: remove one
   1 | pipeline: {stages: [{name: ECS_SYNC, timeout: 1h, with: {timeout: 2h}}]}
     |                                                                   ^`,
		},
		{
			name:   "a key twice",
			beyond: true,
			file:   "name: a\nname: b\n",
			want: `app.pipecd.yaml:2:1: name is given twice
   2 | name: b
     | ^`,
		},
		{
			name:   "a definition that is not there",
			beyond: true,
			file:   v0 + "  input:\n    serviceDefinitionFile: service.yaml\n",
			want: `app.pipecd.yaml:5:28: serviceDefinitionFile: there is no file service.yaml
   5 |     serviceDefinitionFile: service.yaml
     |                            ^
did you mean "servicedef.yaml"?`,
		},
		{
			name:   "a definition outside of the folder",
			beyond: true,
			file:   "input: {taskDefinitionFile: ../taskdef.json}\n",
			want: `app.pipecd.yaml:1:29: taskDefinitionFile: ../taskdef.json is outside the folder
   1 | input: {taskDefinitionFile: ../taskdef.json}
     |                             ^
next: add a root above both, inside the repository: root: ..`,
		},
		{
			name:   "another cluster than the service's",
			beyond: true,
			file:   "cluster: other\ninput: {serviceDefinitionFile: servicedef.yaml}\n",
			want: `app.pipecd.yaml:1:10: cluster is other, but servicedef.yaml:2 has main
   1 | cluster: other
     |          ^
next: name one cluster in both, or remove it from servicedef.yaml:2`,
		},
		{
			name:   "a switch that has words",
			beyond: true,
			file:   "input: {awsvpcConfiguration: {assignPublicIp: true}}\n",
			want: `app.pipecd.yaml:1:47: input.awsvpcConfiguration.assignPublicIp cannot be "true": use one of ENABLED, DISABLED
   1 | input: {awsvpcConfiguration: {assignPublicIp: true}}
     |                                               ^
did you mean "ENABLED"?`,
		},
		{
			name: "several problems",
			file: "nmae: web\nquickSync: {recreate: yes}\nlabels: [a]\n",
			want: `app.pipecd.yaml:1:1: unknown key "nmae" in the file
   1 | nmae: web
     | ^
did you mean "name"?
app.pipecd.yaml:2:23: quickSync.recreate is true or false, and this is text
   2 | quickSync: {recreate: yes}
     |                       ^
app.pipecd.yaml:3:9: labels is a map, and this is a list
   3 | labels: [a]
     |         ^`,
		},
	}
}

func TestWhatIsSaidOfFiles(t *testing.T) {
	for _, c := range samples() {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(files("app.pipecd.yaml", c.file), ".", nil)
			if got := words(err); got != c.want {
				t.Fatalf("got:\n%s\nwant:\n%s", got, c.want)
			}
			var p *definition.Problem
			if err != nil && !errors.As(err, &p) {
				t.Fatalf("%T holds no *definition.Problem", err)
			}
		})
	}
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The problems of all files are told together, each with its own.
func TestProblemsOfAllFiles(t *testing.T) {
	_, err := Load(fstest.MapFS{
		"sluice.yaml": {Data: []byte("nmae: web\ninput: {serviceDefinitionFile: servicedef.yaml}\n")},
		"taskdef.json": {Data: []byte(
			`{"familly": "web", "containerDefinitions": [{"name": "web", "image": "x"}]}`)},
		"servicedef.yaml": {Data: []byte("serviceName: {{ .encryptedSecrets.name }}\n")},
	}, ".", nil)
	want := `sluice.yaml:1:1: unknown key "nmae" in the file
   1 | nmae: web
     | ^
did you mean "name"?
taskdef.json:1:2: unknown key "familly" in the task definition
   1 | {"familly": "web", "containerDefinitions": [{"name": "web", "image": "x"}]}
     |  ^
did you mean "family"?
servicedef.yaml:1:14: piped replaces {{ .encryptedSecrets }} before it deploys the file; sluice does not: deploy through piped, or name the secret under secrets in the task definition
   1 | serviceName: {{ .encryptedSecrets.name }}
     |              ^`
	if words(err) != want {
		t.Fatalf("got:\n%s\nwant:\n%s", words(err), want)
	}
}
