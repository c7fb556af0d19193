package piped_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// The steps of PipeCD's files run within the first and the last stage. A failure leaves what sluice deploy leaves:
// before the stages the service as it was, and after them the new version, unless the step asks for a rollback.
func TestSteps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ends   string
		stands string
		ran    string
		told   []string
		untold []string
	}{
		"task sets, with steps": {"ECS_CANARY_CLEAN STAGE_SUCCESS", "PRIMARY sim/web:v2 100% 2 running", "2 tasks were run",
			[]string{"step migrate, before the stages", "step smoke, after the stages"}, []string{"ECS_ROLLBACK:\nstep"}},
		"rolling, with steps": {"ECS_SYNC STAGE_SUCCESS", "PRIMARY sim/web:v2 100% 2 running", "2 tasks were run", nil, nil},
		"standalone, with steps": {"ECS_SYNC STAGE_SUCCESS", "", "3 tasks were run",
			[]string{"step migrate, before the stages", "step smoke, after the stages"}, nil},
		"the first deployment, with steps": {"ECS_SYNC STAGE_SUCCESS", "PRIMARY sim/web:v2 100% 2 running",
			"2 tasks were run", nil, nil},
		"task sets, a step before fails": {"ECS_CANARY_ROLLOUT STAGE_FAILURE, ECS_ROLLBACK STAGE_SUCCESS",
			"PRIMARY sim/web:v1 100% 2 running; primary 100; canary 0; 1 revisions", "1 tasks were run",
			[]string{"container web exited with 3; the service was not changed", "no version is rolled back: run step migrate"},
			[]string{"CreateTaskSet", "UpdateTaskSet", "ModifyListener", "ModifyRule", "step smoke"}},
		"the first deployment, a step before fails": {"ECS_SYNC STAGE_FAILURE, ECS_ROLLBACK STAGE_SUCCESS", "0 revisions",
			"1 tasks were run", []string{"the service was not changed", "no version is rolled back"},
			[]string{"CreateService", "step smoke"}},
		"rolling, a step after fails": {"ECS_SYNC STAGE_FAILURE, ECS_ROLLBACK STAGE_SUCCESS",
			"PRIMARY sim/web:v2 100% 2 running", "2 tasks were run",
			[]string{"container web exited with 3; the new revision stays", "no version is rolled back: run step smoke"}, nil},
		"task sets, a step after fails and rolls back": {"ECS_CANARY_CLEAN STAGE_FAILURE, ECS_ROLLBACK STAGE_SUCCESS",
			"PRIMARY sim/web:v1 100% 2 running; primary 100; canary 0", "2 tasks were run", nil,
			[]string{"no version is rolled back"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := stepCourses()[name].play(t, point{})
			if got := strings.Join(out.ends, ", "); !strings.HasSuffix(got, c.ends) || out.failed > 0 ||
				!strings.Contains(out.stands, c.stands) || !strings.Contains(out.stands, c.ran) ||
				strings.Contains(out.stands, "sluice:deployment:") {
				t.Errorf("%s, %s, %.1f requests failed\n%s", got, out.stands, out.failed, out.log)
			}
			for _, want := range c.told {
				if !strings.Contains(out.log, want) {
					t.Errorf("the log lacks %q:\n%s", want, out.log)
				}
			}
			for _, no := range c.untold {
				if strings.Contains(out.log, no) {
					t.Errorf("the log has %q:\n%s", no, out.log)
				}
			}
		})
	}
}

// The preview lists the steps among the stages, and does not number them: PipeCD does not know them.
func TestPreviewListsTheSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	target := withSteps(source{app: appFile(pipeline)}, "exit-0", "exit-0")
	details := string(got(r.plugin.preview.GetPlanPreview(context.Background(), &contract.GetPlanPreviewRequest{
		ApplicationId: "app-1", ApplicationName: "web", DeployTargets: []string{"dt"},
		RunningDeploymentSource: source{image: "sim/web:v1"}.write(t), TargetDeploymentSource: target.write(t)}))(t).
		GetResults()[0].GetDetails())
	for _, want := range []string{"#   - RUN_TASK: step migrate, 1 task, until it stops\n#   0 ECS_CANARY_ROLLOUT 50%\n",
		"#   2 ANALYSIS, a stage of another plugin\n", "#   5 ECS_CANARY_CLEAN\n",
		"#   - RUN_TASK: step smoke, 1 task, until it stops\n"} {
		if !strings.Contains(details, want) {
			t.Errorf("the preview lacks %q:\n%s", want, details)
		}
	}
}

// A step after the stages that fails on one deploy target keeps the new version on all targets that have it.
func TestStepAfterThatFailsOnOneTarget(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	target := registering()
	target.app = strings.Replace(target.app, "taskDefinitionFile: taskdef.yaml", "taskDefinitionFile: taskdef.yaml, "+
		"clusterArn: prod, awsvpcConfiguration: {subnets: [subnet-0123456789abcdef0]}, "+
		"after: [{name: smoke, taskDefinitionFile: after.yaml}]", 1)
	target.more = map[string]string{"after.yaml": strings.NewReplacer("family: web", "family: after", "IMAGE",
		"sim/web:v1-crash-after-3s-exit-0").Replace(taskFile)}
	d := r.onTargets(target, "us-east-1", "eu-west-1")
	log := d.fails(d.Stages[0]) // eu-west-1 has no cluster prod
	if !strings.Contains(log, "the new revision stays") {
		t.Fatalf("log:\n%s", log)
	}
	d.run(d.back())
	if log := r.piped.text(d.back().GetId()); strings.Count(log, "no version is rolled back: ") != 2 {
		t.Errorf("log of the rollback:\n%s", log)
	}
}

// A step has time of its own: the timeout of the stage begins after it.
func TestLongStepLeavesTheStageItsTime(t *testing.T) {
	t.Parallel()
	c := stepCourses()["task sets, with steps"]
	c.target.app = strings.Replace(c.target.app, "- name: ECS_CANARY_ROLLOUT\n",
		"- name: ECS_CANARY_ROLLOUT\n        timeout: 10m\n", 1)
	c.target.more["before.yaml"] = strings.Replace(c.target.more["before.yaml"], "after-3s", "after-20m", 1)
	if out := c.play(t, point{}); !out.ended() || !strings.Contains(out.stands, "sim/web:v2") {
		t.Errorf("%s\n%s", out, out.log)
	}
}
