package engine_test

import (
	"context"
	"errors"
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
)

// other is another process on the same journal.
func (b *bench) other(owner string) *engine.Engine {
	e := *b.engine
	e.Owner = owner
	return &e
}

// elsewhere is a sluice on another machine: a journal of its own.
func (b *bench) elsewhere() *engine.Engine {
	e := *b.engine
	e.Owner = "elsewhere/1"
	e.Journal = got(journal.Open(journal.Memory, b.clock))(b)
	e.NewID = func() string { return plan.IDPrefix + "elsewhere" }
	return &e
}

// beside runs a deployment in an actor of its own; the result is there once done.
type ran struct {
	engine.RunResult
	err  error
	done bool
}

func (b *bench) beside(e *engine.Engine, id string) *ran {
	r := &ran{}
	b.clock.Go(func() {
		r.RunResult, r.err = e.Run(context.Background(), id, engine.Options{})
		r.done = true
	})
	return r
}

// A running engine whose deployment another process takes over stops at its next
// look and leaves everything as it is; the other goes on to the same end.
func TestTakenOverByAnotherProcess(t *testing.T) {
	for name, at := range map[string]time.Duration{"in a stage": 30 * time.Second, "in a wait": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				ctx := context.Background()
				id := b.start(b.files("sim/web:v2", strings.Replace(canaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT}",
					"    - {name: WAIT, with: {duration: 20m}}\n    - {name: ECS_PRIMARY_ROLLOUT}", 1)))
				first := b.beside(b.engine, id)
				must(b, b.clock.Sleep(ctx, at))
				second := b.other("test/2")
				from, err := second.TakeOver(ctx, id, "ann")
				if must(b, err); from != "test/1" || !first.done {
					b.Fatalf("from %q, it stopped: %v", from, first.done)
				}
				if !errors.Is(first.err, engine.ErrTakenOver) || sluice.KindOf(first.err) != sluice.LostClaim ||
					first.State == journal.Ended {
					b.Errorf("the first: %s %v", first.State, first.err)
				}
				b.expect(got(second.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
				b.noneLost()
			})
		})
	}
}

// One that hangs is fenced out by its lease; once it wakes it writes nothing, not
// even to the deployment's rows.
func TestTakenOverFromAProcessThatHangs(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.start(b.files("sim/web:v2", held(3)))
		must(b, b.sim.Inject("latency ecs:DescribeServices by=50s times=1"))
		first := b.beside(b.engine, id)
		must(b, b.clock.Sleep(ctx, 5*time.Second))
		second := b.other("test/2")
		if from := got(second.TakeOver(ctx, id, "ann"))(b); from != "test/1" || first.done {
			b.Fatalf("from %q, it stopped: %v", from, first.done)
		}
		end := got(second.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if end.State != journal.Waiting || !errors.Is(first.err, engine.ErrTakenOver) {
			b.Errorf("%s; the first: %v\n%s", end.State, first.err, b.log())
		}
	})
}

func (b *bench) takeFrom(e *engine.Engine, files string, from string) (string, *plan.Plan) {
	b.Helper()
	p := got(b.plan(b.files(files, canaryPipeline), mode.Options{TakeOver: from, Adopt: true}))(b)
	return got(e.Start(context.Background(), p, engine.TriggerManual))(b), p
}

// A sluice on another machine takes the service: who held it notices, writes
// nothing more and ends superseded; what it left is cleared away, and the new
// deployment goes on. No request is lost.
func TestServiceTakenOverByAnotherMachine(t *testing.T) {
	for name, at := range map[string]time.Duration{"while the canary starts": 20 * time.Second,
		"while it has traffic": 70 * time.Second, "in a wait": 4 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				ctx := context.Background()
				id := b.start(b.files("sim/web:v2", strings.Replace(canaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT}",
					"    - {name: WAIT, with: {duration: 10m}}\n    - {name: ECS_PRIMARY_ROLLOUT}", 1)))
				first := b.beside(b.engine, id)
				must(b, b.clock.Sleep(ctx, at))
				e := b.elsewhere()
				second, _ := b.takeFrom(e, "sim/web:v3", id)
				b.expect(got(e.Run(ctx, second, engine.Options{}))(b), sluice.Succeeded, "",
					"PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0")
				b.until("the first has noticed", func() bool { return first.done })
				if first.Outcome != sluice.Superseded || first.err != nil ||
					!strings.Contains(first.Cause, "slc-elsewhere") &&
						!strings.Contains(first.Cause, "the tag was deleted") {
					b.Errorf("the first: %s %s %v", first.Outcome, first.Cause, first.err)
				}
				b.expect(engine.RunResult{Deployment: journal.Deployment{Outcome: sluice.Succeeded}}, sluice.Succeeded,
					"", "PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0")
				b.noneLost()
			})
		})
	}
}

// Nobody may take a claim that was not named.
func TestClaimOfAThirdIsNotTaken(t *testing.T) {
	on(t, options{}, func(b *bench) {
		id := b.start(b.files("sim/web:v2", held(2)))
		got(b.engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b)
		e := b.elsewhere()
		second, _ := b.takeFrom(e, "sim/web:v3", "slc-somebody")
		end := got(e.Run(context.Background(), second, engine.Options{}))(b)
		if end.Outcome != sluice.Superseded || !strings.Contains(end.Cause, id) {
			b.Errorf("%s: %s", end.Outcome, end.Cause)
		}
		b.expect(end, sluice.Superseded, "another deployment owns the claim",
			"ACTIVE sim/web:v2 50% 2 running; PRIMARY sim/web:v1 100% 4 running; tag sluice:deployment; primary 90 "+
				"canary 10")
	})
}

// A claim whose time has run out binds nobody.
func TestClaimThatRanOutIsTaken(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.start(b.files("sim/web:v2", held(0)))
		got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		must(b, b.clock.Sleep(ctx, 31*time.Minute))
		p := got(b.plan(b.files("sim/web:v2", canaryPipeline), mode.Options{}))(b)
		e := b.elsewhere()
		second := got(e.Start(ctx, p, engine.TriggerManual))(b)
		b.expect(got(e.Run(ctx, second, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
	})
}

// Wherever a machine was lost with its journal, what it left is cleared away by
// another that adopts the service: one version serves, nothing is left over and no
// request is lost.
func TestAdoptedWhereTheJournalIsLost(t *testing.T) {
	pipelines := map[string]string{"canary": canaryPipeline, "blue/green": blueGreen, "quick sync": ""}
	for name, pipeline := range pipelines {
		t.Run(name, func(t *testing.T) {
			for n, more := 2, true; more; n += 2 {
				on(t, options{}, func(b *bench) { more = b.adopted(pipeline, n) })
			}
		})
	}
}

func (b *bench) adopted(pipeline string, n int) (more bool) {
	id := b.start(b.files("sim/web:v2", strings.Replace(pipeline, "    - {name: WAIT_APPROVAL}\n", "", 1)))
	g := b.mortal(n, true)
	at := b.dies(id)
	g.left = -1
	if at == "" {
		return false
	}
	ctx := context.Background()
	serves := b.serving()
	p := got(b.plan(b.files("sim/web:v2", pipeline), mode.Options{TakeOver: id, Adopt: true, Only: true}))(b)
	e := b.elsewhere()
	end := got(e.Run(ctx, got(e.Start(ctx, p, engine.TriggerManual))(b), engine.Options{}))(b)
	want := "PRIMARY " + serves + " 100% 4 running; primary 100 canary 0"
	if end.Outcome != sluice.Succeeded || b.state() != want {
		b.Errorf("lost %s (write %d): %s %s; %s, want %s\n%s", at, n, end.Outcome, end.Cause, b.state(), want, b.log())
	}
	b.noneLost()
	return true
}

// serving is the image of the PRIMARY task set.
func (b *bench) serving() string {
	for _, part := range strings.Split(b.state(), "; ") {
		if rest, ok := strings.CutPrefix(part, "PRIMARY "); ok {
			return strings.Fields(rest)[0]
		}
	}
	return ""
}

// What sluice did not make stays, and a deployment that follows the adoption
// carries on.
func TestAdoptionLeavesWhatIsNotOurs(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.start(b.files("sim/web:v2", held(2)))
		got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		td := got(b.ecs.RegisterTaskDefinition(ctx, taskDefinition(b, "sim/web:other")))(b)
		got(b.ecs.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"), Service: aws.String("web"),
			TaskDefinition: td.TaskDefinition.TaskDefinitionArn,
			LaunchType:     "FARGATE", NetworkConfiguration: b.network(), ExternalId: aws.String("terraform")}))(b)
		e := b.elsewhere()
		second, p := b.takeFrom(e, "sim/web:v3", id)
		if !p.Adopts() {
			b.Fatalf("the plan begins with %s", p.Stages[0].Name)
		}
		end := got(e.Run(ctx, second, engine.Options{}))(b)
		if want := "PRIMARY sim/web:v3 100% 4 running"; end.Outcome != sluice.Succeeded ||
			!strings.Contains(b.state(), want) || !strings.Contains(b.state(), "ACTIVE sim/web:other") ||
			strings.Contains(b.state(), "v2") {
			b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, b.state(), b.log())
		}
		if !strings.Contains(b.log(), "exact previous weights are unknown") {
			b.Errorf("it does not say what is lost\n%s", b.log())
		}
	})
}

// An adoption that is killed at any write and resumed ends the same.
func TestAdoptionKilledAtEveryWriteAndResumed(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n, more := 1, true; more; n++ {
			on(t, options{}, func(b *bench) { more = b.adoptionKilled(n, after) })
		}
	}
}

func (b *bench) adoptionKilled(n int, after bool) (more bool) {
	ctx := context.Background()
	lost := b.start(b.files("sim/web:v2", held(2)))
	got(b.engine.Run(ctx, lost, engine.Options{NoWait: true}))(b)
	b.engine = b.elsewhere()
	second, _ := b.takeFrom(b.engine, "sim/web:v3", lost)
	g := b.mortal(n, after)
	at := b.dies(second)
	g.left = -1
	if at == "" || n > 8 { // the writes after the adoption are those of any deployment
		return false
	}
	end := got(b.engine.Run(ctx, second, engine.Options{}))(b)
	if want := "PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0"; end.Outcome != sluice.Succeeded ||
		b.state() != want {
		b.Errorf("killed %s (write %d): %s %s; %s, want %s\n%s", at, n, end.Outcome, end.Cause, b.state(), want,
			b.log())
	}
	b.noneLost()
	return true
}
