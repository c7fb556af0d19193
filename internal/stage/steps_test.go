package stage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

const (
	migrated = "migrate by slc-0001/before/schema"
	smoked   = "smoke by slc-0001/after/smoke"
)

// writtenOperations are the operations that changed something, but for those on the claim.
func writtenOperations(b *stagetest.Bench) string {
	var all []string
	for _, e := range b.Events {
		if w, ok := e.Open().(sluice.Wrote); ok && w.Cause == "" && !strings.HasSuffix(w.Operation, "tagResource") &&
			!strings.HasSuffix(w.Operation, "agResource") {
			all = append(all, strings.TrimPrefix(w.Operation, "ecs:")+" "+w.Resource)
		}
	}
	return strings.Join(all, "; ")
}

func TestStepsRunBeforeAndAfterTheStages(t *testing.T) {
	for name, pipeline := range map[string]string{"canary": stagetest.CanaryPipeline, "quick sync": ""} {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			b.ExpectEnd(b.Deploy(stagetest.WithSteps(b.Files("sim/web:v2", pipeline), exits0, exits0)),
				sluice.Succeeded, "",
				stagetest.ServesV2)
			expectRan(b, migrated, smoked)
			b.ExpectNoneLost()
			if !strings.HasPrefix(writtenOperations(b),
				"RegisterTaskDefinition migrate; RunTask prod/migrate:1; RegisterTaskDefinition web;") ||
				!strings.HasSuffix(writtenOperations(b), "RegisterTaskDefinition smoke; RunTask prod/smoke:1") {
				b.Errorf("%s: wrote %s", name, writtenOperations(b))
			}
		})
	}
}

// A migration that fails ends the deployment, and the service was not changed.
func TestAFailingMigrationStopsTheDeployment(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		end := b.Deploy(stagetest.WithSteps(b.Files("sim/web:v2", stagetest.CanaryPipeline), exits3, exits0))
		b.ExpectEnd(end, sluice.Failed, "run step schema", stagetest.ServesV1)
		expectOutcome(b, end, sluice.Failed, "container job exited with 3; the service was not changed")
		expectRan(b, migrated)
		b.ExpectNoneLost()
		if strings.Contains(end.Next, "sluice rollback") {
			b.Errorf("nothing is to restore, and next: %s", end.Next)
		}
		if want := "RegisterTaskDefinition migrate; RunTask prod/migrate:1"; writtenOperations(b) != want {
			b.Errorf("wrote %s, want %s", writtenOperations(b), want)
		}
	})
}

func TestAFailingStepAfterwards(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		end := b.Deploy(stagetest.WithSteps(b.Files("sim/web:v2", stagetest.CanaryPipeline), "", exits3))
		b.ExpectEnd(end, sluice.Failed, "container job exited with 3; the new revision stays", stagetest.ServesV2)
		b.ExpectNoneLost()
	})
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		end := b.Deploy(stagetest.WithSteps(b.Files("sim/web:v2", stagetest.CanaryPipeline), "", exits3+" rollback"))
		b.ExpectEnd(end, sluice.RolledBack, "container job exited with 3", stagetest.ServesV1)
		b.ExpectNoneLost()
	})
}

func TestStepsOfAFirstDeployment(t *testing.T) {
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		b.ExpectEnd(b.Deploy(stagetest.WithSteps(b.Files("sim/web:v1", ""), exits0, exits0)), sluice.Succeeded, "",
			"PRIMARY sim/web:v1 100% 1 running; primary 100 canary 0")
		expectRan(b, migrated, smoked)
	})
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		end := b.Deploy(stagetest.WithSteps(b.Files("sim/web:v1", ""), exits3, ""))
		expectOutcome(b, end, sluice.Failed, "the service was not changed")
		if got := b.State(); got != "primary 100 canary 0" {
			b.Error(got)
		}
	})
}

// A step that takes longer than a claim holds keeps the claim.
func TestALongMigrationKeepsTheClaim(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		id := b.Start(stagetest.WithSteps(b.Files("sim/web:v2", ""), "sim/job:v1-crash-after-2h-exit-0", ""))
		until, second := time.Duration(0), error(nil)
		b.Clock.Go(func() {
			for range 11 {
				stagetest.Must(b, b.Clock.Sleep(context.Background(), 10*time.Minute))
				_, second = b.Plan(b.Files("sim/web:v3", ""), mode.Options{})
				k := stagetest.Got(plan.ParseClaim(serviceTag(b, plan.ClaimTag)))(b)
				if until = k.Until.Sub(b.Clock.Now()); until <= 0 || second != nil {
					b.Errorf("claimed for %s, %v", until, second)
				}
			}
		})
		b.ExpectEnd(stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "",
			stagetest.ServesV2)
	})
}

// Killed at any write and run again, the migration and the smoke test have run
// once, and the end is the same.
func TestStepsKilledAtEveryWriteRunOnce(t *testing.T) {
	for name, c := range map[string]struct{ before, after, end, ran string }{
		"both":           {exits0, exits0, "succeeded: " + stagetest.ServesV2, fmt.Sprint([]string{migrated, smoked})},
		"failing before": {exits3, exits0, "failed: " + stagetest.ServesV1, fmt.Sprint([]string{migrated})},
		"failing and back": {exits0, exits3 + " rollback", "rolled back: " + stagetest.ServesV1,
			fmt.Sprint([]string{migrated, smoked})},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
						more = b.KillAndResume(n, after,
							stagetest.WithSteps(b.Files("sim/web:v2", ""), c.before, c.after), c.end)
						if got := fmt.Sprint(ranTasks(b)); more && got != c.ran {
							b.Errorf("write %d: ran %s, want %s\n%s", n, got, c.ran, b.EventLog())
						}
					})
				}
			})
		}
	}
}

// serviceTag is the value of a tag of the service.
func serviceTag(b *stagetest.Bench, key string) string {
	b.Helper()
	out := stagetest.Got(b.ECS.DescribeServices(context.Background(),
		&awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"},
			Include:  []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(b)
	for _, t := range out.Services[0].Tags {
		if *t.Key == key {
			return *t.Value
		}
	}
	return ""
}
