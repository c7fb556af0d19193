package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// withSteps adds a migration before the stages and a smoke test after them.
func withSteps(files fstest.MapFS, before, after string) fstest.MapFS {
	text := string(files["sluice.yaml"].Data)
	if before != "" {
		files["migrate.yaml"] = jobTask("migrate", before)
		text += "\nbefore:\n  - {name: schema, taskDefinitionFile: migrate.yaml}\n"
	}
	if after != "" {
		image, rollback, _ := strings.Cut(after, " ")
		files["smoke.yaml"] = jobTask("smoke", image)
		text += "\nafter:\n  - {name: smoke, taskDefinitionFile: smoke.yaml, rollback: " + fmt.Sprint(rollback != "") +
			"}\n"
	}
	files["sluice.yaml"] = &fstest.MapFile{Data: []byte(text)}
	return files
}

const (
	migrated = "migrate by slc-0001/before/schema"
	smoked   = "smoke by slc-0001/after/smoke"
)

// wrote are the operations that changed something, but for those on the claim.
func (b *bench) wrote() string {
	var all []string
	for _, e := range b.events {
		if w, ok := e.Open().(sluice.Wrote); ok && w.Cause == "" && !strings.HasSuffix(w.Operation, "tagResource") &&
			!strings.HasSuffix(w.Operation, "agResource") {
			all = append(all, strings.TrimPrefix(w.Operation, "ecs:")+" "+w.Resource)
		}
	}
	return strings.Join(all, "; ")
}

func TestStepsRunBeforeAndAfterTheStages(t *testing.T) {
	for name, pipeline := range map[string]string{"canary": canaryPipeline, "quick sync": ""} {
		on(t, options{}, func(b *bench) {
			b.expect(b.deploy(withSteps(b.files("sim/web:v2", pipeline), exits0, exits0)), sluice.Succeeded, "",
				servesV2)
			b.expectRan(migrated, smoked)
			b.noneLost()
			if !strings.HasPrefix(b.wrote(),
				"RegisterTaskDefinition migrate; RunTask prod/migrate:1; RegisterTaskDefinition web;") ||
				!strings.HasSuffix(b.wrote(), "RegisterTaskDefinition smoke; RunTask prod/smoke:1") {
				b.Errorf("%s: wrote %s", name, b.wrote())
			}
		})
	}
}

// A migration that fails ends the deployment, and the service was not changed.
func TestAFailingMigrationStopsTheDeployment(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.deploy(withSteps(b.files("sim/web:v2", canaryPipeline), exits3, exits0))
		b.expect(end, sluice.Failed, "run step schema", servesV1)
		b.endedWith(end, sluice.Failed, "container job exited with 3; the service was not changed")
		b.expectRan(migrated)
		b.noneLost()
		if want := "RegisterTaskDefinition migrate; RunTask prod/migrate:1"; b.wrote() != want {
			b.Errorf("wrote %s, want %s", b.wrote(), want)
		}
	})
}

func TestAFailingStepAfterwards(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.deploy(withSteps(b.files("sim/web:v2", canaryPipeline), "", exits3))
		b.expect(end, sluice.Failed, "container job exited with 3; the new revision stays", servesV2)
		b.noneLost()
	})
	on(t, options{}, func(b *bench) {
		end := b.deploy(withSteps(b.files("sim/web:v2", canaryPipeline), "", exits3+" rollback"))
		b.expect(end, sluice.RolledBack, "container job exited with 3", servesV1)
		b.noneLost()
	})
}

func TestStepsOfAFirstDeployment(t *testing.T) {
	on(t, options{noService: true}, func(b *bench) {
		b.expect(b.deploy(withSteps(b.files("sim/web:v1", ""), exits0, exits0)), sluice.Succeeded, "",
			"PRIMARY sim/web:v1 100% 1 running; primary 100 canary 0")
		b.expectRan(migrated, smoked)
	})
	on(t, options{noService: true}, func(b *bench) {
		end := b.deploy(withSteps(b.files("sim/web:v1", ""), exits3, ""))
		b.endedWith(end, sluice.Failed, "the service was not changed")
		if got := b.state(); got != "primary 100 canary 0" {
			b.Error(got)
		}
	})
}

// A step that takes longer than a claim holds keeps the claim.
func TestALongMigrationKeepsTheClaim(t *testing.T) {
	on(t, options{}, func(b *bench) {
		id := b.start(withSteps(b.files("sim/web:v2", ""), "sim/job:v1-crash-after-2h-exit-0", ""))
		until, second := time.Duration(0), error(nil)
		b.clock.Go(func() {
			for range 11 {
				must(b, b.clock.Sleep(context.Background(), 10*time.Minute))
				_, second = b.plan(b.files("sim/web:v3", ""), mode.Options{})
				k := got(plan.ParseClaim(b.tag(plan.ClaimTag)))(b)
				if until = k.Until.Sub(b.clock.Now()); until <= 0 || second != nil {
					b.Errorf("claimed for %s, %v", until, second)
				}
			}
		})
		b.expect(got(b.engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
	})
}

// Killed at any write and run again, the migration and the smoke test have run
// once, and the end is the same.
func TestStepsKilledAtEveryWriteRunOnce(t *testing.T) {
	for name, c := range map[string]struct{ before, after, end, ran string }{
		"both":           {exits0, exits0, "succeeded: " + servesV2, fmt.Sprint([]string{migrated, smoked})},
		"failing before": {exits3, exits0, "failed: " + servesV1, fmt.Sprint([]string{migrated})},
		"failing and back": {exits0, exits3 + " rollback", "rolled back: " + servesV1,
			fmt.Sprint([]string{migrated, smoked})},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					on(t, options{}, func(b *bench) {
						more = b.killAndResume(n, after, withSteps(b.files("sim/web:v2", ""), c.before, c.after), c.end)
						if got := fmt.Sprint(b.ran()); more && got != c.ran {
							b.Errorf("write %d: ran %s, want %s\n%s", n, got, c.ran, b.log())
						}
					})
				}
			})
		}
	}
}

// A person can end or take back a deployment while its migration runs.
func TestCommandsDuringAMigration(t *testing.T) {
	for kind, want := range map[string]sluice.Outcome{journal.Abort: sluice.Stopped,
		journal.Rollback: sluice.RolledBack} {
		on(t, options{}, func(b *bench) {
			id := b.start(withSteps(b.files("sim/web:v2", ""), "sim/job:v1-crash-after-1h-exit-0", ""))
			b.clock.Go(func() {
				must(b, b.clock.Sleep(context.Background(), 5*time.Minute))
				must(b, b.engine.SendCommand(context.Background(), id, kind, 0, "ann"))
			})
			b.expect(got(b.engine.Run(context.Background(), id, engine.Options{}))(b), want, "", servesV1)
			if !strings.Contains(b.log(), "the task keeps running in ECS: ") {
				b.Errorf("it is not said that the task goes on\n%s", b.log())
			}
		})
	}
}

// tag is the value of a tag of the service.
func (b *bench) tag(key string) string {
	b.Helper()
	out := got(b.ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"},
		Include:  []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(b)
	for _, t := range out.Services[0].Tags {
		if *t.Key == key {
			return *t.Value
		}
	}
	return ""
}
