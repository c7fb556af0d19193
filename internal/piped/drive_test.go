package piped_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/piped/contract/contracttest"
)

// The pipeline of most tests, with a stage of another plugin in it.
const pipeline = `
  pipeline:
    stages:
      - name: ECS_CANARY_ROLLOUT
        with: {scale: 50}
      - name: ECS_TRAFFIC_ROUTING
        with:
          canary: 10
      - name: ANALYSIS
        timeout: 10m
        with:
          duration: 5m
          metrics:
            - provider: prom
      - name: ECS_PRIMARY_ROLLOUT
      - name: ECS_TRAFFIC_ROUTING
        with:
          primary: 100
      - name: ECS_CANARY_CLEAN
`

const group = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/"

func appFile(more string) string {
	return `apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  name: web
  plugins:
    wait: {}
    ecs:
      input:
        taskDefinitionFile: taskdef.yaml
        serviceDefinitionFile: servicedef.yaml
        targetGroups:
          primary: {targetGroupArn: "` + group + `web-primary/0123456789abcdef", containerName: web, containerPort: 80}
          canary: {targetGroupArn: "` + group + `web-canary/fedcba9876543210", containerName: web, containerPort: 80}
` + more
}

const taskFile = `family: web
networkMode: awsvpc
requiresCompatibilities: [FARGATE]
cpu: "256"
memory: "512"
containerDefinitions:
  - name: web
    image: IMAGE
    portMappings:
      - containerPort: 80
`

const serviceFile = `cluster: prod
serviceName: web
deploymentController: {type: EXTERNAL}
launchType: FARGATE
networkConfiguration:
  awsvpcConfiguration:
    subnets: [subnet-0123456789abcdef0, subnet-0123456789abcdef1]
`

const rollingFile = `cluster: prod
serviceName: web
launchType: FARGATE
`

// source is a commit.
type source struct {
	image, app, task, service string // empty: as usual
	hash                      string
	more                      map[string]string // further files
}

func (s source) write(t testing.TB) *contract.DeploymentSource {
	t.Helper()
	dir := t.TempDir()
	or := func(text, other string) string {
		if text == "" {
			return other
		}
		return text
	}
	app := or(s.app, appFile(pipeline))
	for name, text := range map[string]string{"app.pipecd.yaml": app, "servicedef.yaml": or(s.service, serviceFile),
		"taskdef.yaml": strings.ReplaceAll(or(s.task, taskFile), "IMAGE", or(s.image, "sim/web:v2"))} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for name, text := range s.more {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return &contract.DeploymentSource{ApplicationDirectory: dir, CommitHash: or(s.hash, "h2"),
		ApplicationConfig:         []byte(app),
		ApplicationConfigFilename: "app.pipecd.yaml", SharedConfigDirectory: dir}
}

// deployment is one as piped has it.
type deployment struct {
	*contract.Deployment
	rig             *rig
	running, target *contract.DeploymentSource
	pipeline        bool
}

// begin plans a deployment as piped does. stages are what piped sends of the
// pipeline: every stage of ours with its place; none is a quick sync.
func (r *rig) begin(running, target source, withs ...*contract.BuildPipelineSyncStagesRequest_StageConfig) *deployment {
	r.Helper()
	r.number++
	now := time.Now().Unix()
	d := &deployment{rig: r, running: running.write(r), target: target.write(r), pipeline: len(withs) > 0}
	d.running.CommitHash = "h1"
	d.Deployment = &contract.Deployment{
		Id: fmt.Sprintf("11111111-2222-3333-4444-%012d", r.number), ApplicationId: "app-1", ApplicationName: "web",
		PipedId: "piped-1", ProjectId: "project-1",
		GitPath: &contract.ApplicationGitPath{Repo: &contract.ApplicationGitRepository{Id: "repo"},
			Path: "web"},
		DeployTargetsByPlugin: map[string]*contract.DeployTargets{"ecs": {DeployTargets: []string{"dt"}}},
		Trigger: &contract.DeploymentTrigger{Timestamp: now,
			Commit: &contract.Commit{Hash: d.target.CommitHash, Message: "m", Author: "a", Branch: "main",
				CreatedAt: now}},
		RunningCommitHash: "h1", CreatedAt: now, UpdatedAt: now,
		Status: contract.DeploymentStatus_DEPLOYMENT_RUNNING,
	}
	if d.pipeline {
		d.Stages = got(r.plugin.BuildPipelineSyncStages(context.Background(),
			&contract.BuildPipelineSyncStagesRequest{Rollback: true, Stages: withs}))(r).GetStages()
	} else {
		d.Stages = got(r.plugin.BuildQuickSyncStages(context.Background(),
			&contract.BuildQuickSyncStagesRequest{Rollback: true}))(r).GetStages()
	}
	d.accept(withs)
	must(r, contracttest.Check(d.Deployment))
	r.piped.set(func() { r.piped.known[d.Id] = true })
	return d
}

// accept holds the stages that were built against piped's rules, and gives them
// their ids.
func (d *deployment) accept(asked []*contract.BuildPipelineSyncStagesRequest_StageConfig) {
	d.rig.Helper()
	seen := map[string]bool{}
	for i, s := range d.Stages {
		at := fmt.Sprintf("%d/%t", s.GetIndex(), s.GetRollback())
		if seen[at] {
			d.rig.Fatalf("two stages have index %s", at)
		}
		seen[at] = true
		known := !d.pipeline ||
			slices.ContainsFunc(asked, func(c *contract.BuildPipelineSyncStagesRequest_StageConfig) bool { return c.GetIndex() == s.GetIndex() })
		if !known {
			d.rig.Fatalf("missing stage with index %d", s.GetIndex())
		}
		s.Id = fmt.Sprintf("%s-stage-%d", d.Id, i)
		must(d.rig, contracttest.Check(s))
	}
}

// stagesOf is what piped sends of the usual pipeline.
func stagesOf() []*contract.BuildPipelineSyncStagesRequest_StageConfig {
	var all []*contract.BuildPipelineSyncStagesRequest_StageConfig
	for i, s := range []struct{ name, with string }{{"ECS_CANARY_ROLLOUT", `{"scale":50}`},
		{"ECS_TRAFFIC_ROUTING", `{"canary":10}`}, {},
		{"ECS_PRIMARY_ROLLOUT", "{}"}, {"ECS_TRAFFIC_ROUTING", `{"primary":100}`}, {"ECS_CANARY_CLEAN", "{}"}} {
		if s.name != "" {
			all = append(all, &contract.BuildPipelineSyncStagesRequest_StageConfig{Name: s.name, Index: int32(i),
				Config: []byte(s.with)})
		}
	}
	return all
}

// usual is the usual pipeline from v1 to v2.
func (r *rig) usual() *deployment {
	r.Helper()
	return r.begin(source{image: "sim/web:v1"}, source{}, stagesOf()...)
}

// forward are the stages in the order of piped; back is the rollback.
func (d *deployment) forward() []*contract.PipelineStage {
	return slices.DeleteFunc(slices.Clone(d.Stages), func(s *contract.PipelineStage) bool { return s.GetRollback() })
}

func (d *deployment) back() *contract.PipelineStage {
	return d.Stages[slices.IndexFunc(d.Stages, func(s *contract.PipelineStage) bool { return s.GetRollback() })]
}

// execute asks for a stage once.
func (d *deployment) execute(ctx context.Context, s *contract.PipelineStage) (contract.StageStatus, error) {
	in := &contract.ExecutePluginInput{Deployment: proto.CloneOf(d.Deployment), Stage: proto.CloneOf(s),
		RunningDeploymentSource: d.running, TargetDeploymentSource: d.target}
	out, err := d.rig.plugin.ExecuteStage(ctx, &contract.ExecuteStageRequest{Input: in})
	return out.GetStatus(), err
}

// run runs a stage and wants it to succeed, with its log complete.
func (d *deployment) run(s *contract.PipelineStage) {
	d.rig.Helper()
	status, err := d.execute(context.Background(), s)
	if err != nil || status != contract.StageStatus_STAGE_SUCCESS {
		d.rig.Fatalf("%s: %s %v\n%s\n%s", s.GetName(), status, err, d.rig.piped.text(s.GetId()), d.rig.plugin.out)
	}
	if err := d.rig.piped.completeLog(s.GetId()); err != nil {
		d.rig.Errorf("log of %s: %v", s.GetName(), err)
	}
}

// fails runs a stage that does not succeed, and returns its log.
func (d *deployment) fails(s *contract.PipelineStage) string {
	d.rig.Helper()
	status, err := d.execute(context.Background(), s)
	if err != nil || status != contract.StageStatus_STAGE_FAILURE {
		d.rig.Fatalf("%s: %s %v\n%s", s.GetName(), status, err, d.rig.piped.text(s.GetId()))
	}
	if err := d.rig.piped.completeLog(s.GetId()); err != nil {
		d.rig.Errorf("log of %s: %v", s.GetName(), err)
	}
	return d.rig.piped.text(s.GetId())
}

func (d *deployment) all() {
	d.rig.Helper()
	for _, s := range d.forward() {
		d.run(s)
	}
}
