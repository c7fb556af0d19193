package bluegreen_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// CodeDeploy does not watch tasks that were healthy once, also while it keeps the original ones. A version whose tasks
// die then again and again is rolled back with its cause, and callers get the former one.
func TestVersionThatDiesLaterIsRolledBackByCodeDeploy(t *testing.T) {
	for _, c := range []struct {
		image, cause, bake string
		shop               shop
	}{
		{"sim/web:v2-oom-after-50s", "exit code 137", "", shop{terminate: 5 * time.Minute}},
		{"sim/web:v2-unhealthy-after-50s-term-2s", "Task failed ELB health checks", "", shop{terminate: 5 * time.Minute}},
		// the replacement of the first unhealthy task has started at the last poll, and no read shows its end yet
		{"sim/web:v2-unhealthy-after-16s-term-20s", "Task failed ELB health checks", "", shop{}},
		{"sim/web:v2-oom-after-25s", "exit code 137", "", shop{}},
		{"sim/web:v2-crash-after-70s", "exit code 1", "bake: 3m\n", shop{}},
		{"sim/web:v2-crash-after-130s", "exit code 1", "bake: 3m\n", shop{terminate: 2 * time.Minute}},
	} {
		t.Run(c.image, func(t *testing.T) {
			shifts(t, c.shop, func(b *stagetest.Bench) {
				end := b.Deploy(stagetest.AddLines(shiftFiles(b, c.image, ""), "sluice.yaml", c.bake))
				got := b.CallersGet()
				if end.Outcome != sluice.RolledBack || !strings.Contains(end.Cause, c.cause) || got != "v1 200" {
					b.Errorf("%s: %s; callers get %q\n%s", end.Outcome, end.Cause, got, b.EventLog())
				}
			})
		})
	}
}

// One task that dies while CodeDeploy keeps the original ones withholds the success until the others have been stable.
// A version without a death pays nothing, also if a task of the former one dies.
func TestOneDeathWhileCodeDeployKeepsTheOriginal(t *testing.T) {
	var took [3]time.Duration
	for i, deaths := range []string{"", "task-crash web revision=1", "task-crash web revision=2"} {
		shifts(t, shop{terminate: 2 * time.Minute}, func(b *stagetest.Bench) {
			id, began := b.Start(shiftFiles(b, "sim/web:v2", "")), b.Clock.Now()
			if deaths != "" {
				b.Clock.Go(func() {
					b.Until("v2 serves", func() bool { return b.Weights() == "primary 0 canary 100" })
					b.Sleep(100 * time.Second)
					stagetest.Must(b, b.Sim.Inject(deaths))
				})
			}
			end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
			took[i] = b.Clock.Now().Sub(began)
			if got := b.CallersGet(); end.Outcome != sluice.Succeeded || got != "v2 200" {
				b.Errorf("%s: %s: %s; callers get %q\n%s", deaths, end.Outcome, end.Cause, got, b.EventLog())
			}
		})
	}
	if took[1] > took[0]+time.Second || took[2] < took[0]+time.Minute || took[2] > took[0]+6*time.Minute {
		t.Errorf("took %s; %s", took[0], took[1:])
	}
}

// Without an automatic rollback, a deployment is rolled back if CodeDeploy has restored the former version, and stopped
// by somebody otherwise. The outcome tells what callers get.
func TestOutcomeOfAStopWithoutAutomaticRollback(t *testing.T) {
	for restores, outcome := range map[bool]sluice.Outcome{true: sluice.RolledBack, false: sluice.Failed} {
		shifts(t, shop{config: "CodeDeployDefault.ECSCanary10Percent5Minutes"}, func(b *stagetest.Bench) {
			id := b.Start(stagetest.AddLines(shiftFiles(b, "sim/web:v2", ""), "sluice.yaml", "planner: {autoRollback: false}\n"))
			b.Clock.Go(func() {
				b.Until("v2 gets requests", func() bool { return b.Weights() == "primary 90 canary 10" })
				stagetest.Got(codeDeployClient(b).StopDeployment(context.Background(), &awscd.StopDeploymentInput{
					DeploymentId: newestShift(b).DeploymentId, AutoRollbackEnabled: aws.Bool(restores)}))(b)
			})
			end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
			if got := b.CallersGet(); end.Outcome != outcome || restores && got != "v1 200" ||
				strings.Contains(end.Next, "sluice rollback") == restores {
				b.Errorf("restores %t: %s: %s; callers get %q; next: %s\n%s", restores, end.Outcome, end.Cause, got, end.Next,
					b.EventLog())
			}
		})
	}
}
