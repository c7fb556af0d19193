package claim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

func startTakeOver(b *stagetest.Bench, e *engine.Engine, files string, from string) (string, *plan.Plan) {
	b.Helper()
	p := stagetest.Got(b.Plan(b.Files(files, stagetest.CanaryPipeline), mode.Options{TakeOver: from, Adopt: true}))(b)
	return stagetest.Got(e.Start(context.Background(), p, engine.TriggerManual))(b), p
}

// A sluice on another machine takes the service: who held it notices, writes
// nothing more and ends superseded; what it left is cleared away, and the new
// deployment goes on. No request is lost.
func TestServiceTakenOverByAnotherMachine(t *testing.T) {
	for name, at := range map[string]time.Duration{"while the canary starts": 20 * time.Second,
		"while it has traffic": 70 * time.Second, "in a wait": 4 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				ctx := context.Background()
				id := b.Start(b.Files("sim/web:v2",
					strings.Replace(stagetest.CanaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT}",
						"    - {name: WAIT, with: {duration: 10m}}\n    - {name: ECS_PRIMARY_ROLLOUT}", 1)))
				first := b.RunBeside(b.Engine, id)
				stagetest.Must(b, b.Clock.Sleep(ctx, at))
				e := b.StartOnOtherMachine()
				second, _ := startTakeOver(b, e, "sim/web:v3", id)
				b.ExpectEnd(stagetest.Got(e.Run(ctx, second, engine.Options{}))(b), sluice.Succeeded, "",
					"PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0")
				b.Until("the first has noticed", func() bool { return first.Done })
				if first.Outcome != sluice.Superseded || first.Err != nil ||
					!strings.Contains(first.Cause, "slc-elsewhere") &&
						!strings.Contains(first.Cause, "the tag was deleted") {
					b.Errorf("the first: %s %s %v", first.Outcome, first.Cause, first.Err)
				}
				b.ExpectEnd(engine.RunResult{Deployment: journal.Deployment{Outcome: sluice.Succeeded}},
					sluice.Succeeded,
					"", "PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0")
				b.ExpectNoneLost()
			})
		})
	}
}

// A deployment of another machine has replaced the version of a deployment, and has ended. A rollback of the older one
// would replace the newer version: it changes nothing and says so, whether the older one was superseded or had succeeded
// before, and whether or not both run the same revision. That refusal is a failure of the rollback.
func TestRollbackAfterADeploymentOfAnotherMachine(t *testing.T) {
	ctx := context.Background()
	for _, image := range []string{"sim/web:v2", "sim/web:v3"} {
		for name, pipeline := range map[string]string{"superseded": stagetest.PipelineHeldAfter(2),
			"succeeded": stagetest.CanaryPipeline} {
			t.Run(image+" "+name, func(t *testing.T) {
				stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
					id := b.Start(b.Files("sim/web:v2", pipeline))
					stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
					from := ""
					if name == "superseded" {
						from = id
					}
					e := b.StartOnOtherMachine()
					second, _ := startTakeOver(b, e, image, from)
					serves := "PRIMARY " + image + " 100% 4 running; primary 100 canary 0"
					b.ExpectEnd(stagetest.Got(e.Run(ctx, second, engine.Options{}))(b), sluice.Succeeded, "", serves)
					if name == "superseded" { // also a rollback of the one that has not ended says so
						stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
						b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b), sluice.Superseded,
							"deployment "+second+" has deployed", serves)
					}
					stagetest.Must(b, b.Engine.Reopen(ctx, id))
					stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
					end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
					b.ExpectEnd(end, sluice.Failed, "a rollback of "+id+" would replace it", serves)
					if strings.Contains(end.Next, "sluice rollback "+id) || !strings.Contains(end.Next, "sluice rollback "+second) {
						b.Errorf("next: %s", end.Next)
					}
					if gets, want := b.CallersGet(), strings.TrimPrefix(image, "sim/web:")+" 200"; gets != want {
						b.Errorf("callers get %q, want %q", gets, want)
					}
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// Nobody may take a claim that was not named.
func TestClaimOfAThirdIsNotTaken(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(2)))
		stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b)
		e := b.StartOnOtherMachine()
		second, _ := startTakeOver(b, e, "sim/web:v3", "slc-somebody")
		end := stagetest.Got(e.Run(context.Background(), second, engine.Options{}))(b)
		if end.Outcome != sluice.Superseded || !strings.Contains(end.Cause, id) {
			b.Errorf("%s: %s", end.Outcome, end.Cause)
		}
		b.ExpectEnd(end, sluice.Superseded, "another deployment owns the claim",
			"ACTIVE sim/web:v2 50% 2 running; PRIMARY sim/web:v1 100% 4 running; tag sluice:deployment; primary 90 "+
				"canary 10")
	})
}

// A claim whose time has run out binds nobody.
func TestClaimThatRanOutIsTaken(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(0)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Must(b, b.Clock.Sleep(ctx, 31*time.Minute))
		p := stagetest.Got(b.Plan(b.Files("sim/web:v2", stagetest.CanaryPipeline), mode.Options{}))(b)
		e := b.StartOnOtherMachine()
		second := stagetest.Got(e.Start(ctx, p, engine.TriggerManual))(b)
		b.ExpectEnd(stagetest.Got(e.Run(ctx, second, engine.Options{}))(b), sluice.Succeeded, "", stagetest.ServesV2)
	})
}

// Wherever a machine was lost with its journal, what it left is cleared away by
// another that adopts the service: one version serves, nothing is left over and no
// request is lost.
func TestAdoptedWhereTheJournalIsLost(t *testing.T) {
	pipelines := map[string]string{
		"canary":     stagetest.CanaryPipeline,
		"blue/green": stagetest.BlueGreenPipeline,
		"quick sync": "",
	}
	for name, pipeline := range pipelines {
		t.Run(name, func(t *testing.T) {
			for n, more := 2, true; more; n += 2 {
				stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) { more = adoptPipeline(b, pipeline, n) })
			}
		})
	}
}

func adoptPipeline(b *stagetest.Bench, pipeline string, n int) (more bool) {
	id := b.Start(b.Files("sim/web:v2", strings.Replace(pipeline, "    - {name: WAIT_APPROVAL}\n", "", 1)))
	g := b.KillAtWrite(n, true)
	at := b.RunUntilKilled(id)
	g.Left = -1
	if at == "" {
		return false
	}
	ctx := context.Background()
	serves := servingImage(b)
	p := stagetest.Got(b.Plan(b.Files("sim/web:v2", pipeline), mode.Options{TakeOver: id, Adopt: true, Only: true}))(b)
	e := b.StartOnOtherMachine()
	end := stagetest.Got(e.Run(ctx, stagetest.Got(e.Start(ctx, p, engine.TriggerManual))(b), engine.Options{}))(b)
	want := "PRIMARY " + serves + " 100% 4 running; primary 100 canary 0"
	if end.Outcome != sluice.Succeeded || b.State() != want {
		b.Errorf("lost %s (write %d): %s %s; %s, want %s\n%s", at, n, end.Outcome, end.Cause, b.State(), want,
			b.EventLog())
	}
	b.ExpectNoneLost()
	return true
}

// servingImage is the image of the PRIMARY task set.
func servingImage(b *stagetest.Bench) string {
	for _, part := range strings.Split(b.State(), "; ") {
		if rest, ok := strings.CutPrefix(part, "PRIMARY "); ok {
			return strings.Fields(rest)[0]
		}
	}
	return ""
}

// What sluice did not make stays, and a deployment that follows the adoption
// carries on.
func TestAdoptionLeavesWhatIsNotOurs(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(2)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		td := stagetest.Got(b.ECS.RegisterTaskDefinition(ctx, stagetest.TaskDefinition(b, "sim/web:other")))(b)
		stagetest.Got(b.ECS.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
			Service:        aws.String("web"),
			TaskDefinition: td.TaskDefinition.TaskDefinitionArn,
			LaunchType:     "FARGATE", NetworkConfiguration: b.Network(), ExternalId: aws.String("terraform")}))(b)
		e := b.StartOnOtherMachine()
		second, p := startTakeOver(b, e, "sim/web:v3", id)
		if !p.Adopts() {
			b.Fatalf("the plan begins with %s", p.Stages[0].Name)
		}
		end := stagetest.Got(e.Run(ctx, second, engine.Options{}))(b)
		if want := "PRIMARY sim/web:v3 100% 4 running"; end.Outcome != sluice.Succeeded ||
			!strings.Contains(b.State(), want) || !strings.Contains(b.State(), "ACTIVE sim/web:other") ||
			strings.Contains(b.State(), "v2") {
			b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, b.State(), b.EventLog())
		}
		if !strings.Contains(b.EventLog(), "exact previous weights are unknown") {
			b.Errorf("it does not say what is lost\n%s", b.EventLog())
		}
	})
}

// An adoption that is killed at any write and resumed ends the same.
func TestAdoptionKilledAtEveryWriteAndResumed(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n, more := 1, true; more; n++ {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) { more = killAdoption(b, n, after) })
		}
	}
}

func killAdoption(b *stagetest.Bench, n int, after bool) (more bool) {
	ctx := context.Background()
	lost := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(2)))
	stagetest.Got(b.Engine.Run(ctx, lost, engine.Options{NoWait: true}))(b)
	b.Engine = b.StartOnOtherMachine()
	second, _ := startTakeOver(b, b.Engine, "sim/web:v3", lost)
	g := b.KillAtWrite(n, after)
	at := b.RunUntilKilled(second)
	g.Left = -1
	if at == "" || n > 8 { // the writes after the adoption are those of any deployment
		return false
	}
	end := stagetest.Got(b.Engine.Run(ctx, second, engine.Options{}))(b)
	if want := "PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0"; end.Outcome != sluice.Succeeded ||
		b.State() != want {
		b.Errorf("killed %s (write %d): %s %s; %s, want %s\n%s", at, n, end.Outcome, end.Cause, b.State(), want,
			b.EventLog())
	}
	b.ExpectNoneLost()
	return true
}
