package rolling_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

func TestRollingGoesFromV1ToV2WithoutLosingARequest(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		b.ExpectRolled(b.Deploy(b.RollingFiles("sim/web:v2", stagetest.Breaker)), sluice.Succeeded, "",
			stagetest.RolledV2)
		b.ExpectNoneLost()
		updates := 0
		for _, c := range b.Calls {
			if c.Operation == "ecs:UpdateService" || c.Operation == "UpdateService" {
				updates++
			}
		}
		if updates != 1 {
			b.Errorf("%d UpdateService", updates)
		}
	})
}

func TestRollingThatBreaksIsRolledBackByTheBreaker(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		b.ExpectRolled(b.Deploy(b.RollingFiles("sim/web:v2?healthy-after=1h&crash-after=2s&exit=3", stagetest.Breaker)),
			sluice.RolledBack,
			"exit code 3", stagetest.RolledV1)
		b.ExpectNoneLost()
	})
}

func TestRollingWithoutABreakerIsRolledBackByUs(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		b.ExpectRolled(b.Deploy(b.RollingFiles("sim/web:v2?healthy-after=1h&crash-after=2s&exit=3",
			"deploymentConfiguration: {deploymentCircuitBreaker: {enable: false, rollback: false}}\n")),
			sluice.RolledBack, "exit code 3", stagetest.RolledV1)
		b.ExpectNoneLost()
	})
}

func TestRollingIsRolledBackOnDemand(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx := context.Background()
		end := b.Deploy(b.RollingFiles("sim/web:v2", stagetest.Breaker))
		stagetest.Must(b, b.Engine.Reopen(ctx, end.ID))
		stagetest.Must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
		b.ExpectRolled(stagetest.Got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b), sluice.RolledBack, "",
			stagetest.RolledV1)
		b.ExpectNoneLost()
	})
}

func TestForcedRollingMakesOneNewDeployment(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		before := currentDeployment(b)
		p := stagetest.Got(b.Plan(b.RollingFiles("sim/web:v1", stagetest.Breaker), mode.Options{Force: true}))(b)
		id := stagetest.Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
		stagetest.Must(b, b.Sim.Inject("lost-reply ecs:UpdateService times=1"))
		b.ExpectRolled(stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "",
			stagetest.RolledV1)
		if currentDeployment(b) == before {
			b.Error("no new deployment")
		}
		list := stagetest.Got(b.ECS.ListServiceDeployments(context.Background(),
			&awsecs.ListServiceDeploymentsInput{Cluster: aws.String("prod"), Service: aws.String("web")}))(b)
		if n := len(list.ServiceDeployments); n != 2 {
			b.Errorf("%d service deployments, want the first and the forced one", n)
		}
		b.ExpectNoneLost()
	})
}

func currentDeployment(b *stagetest.Bench) string {
	out := stagetest.Got(b.ECS.DescribeServices(context.Background(),
		&awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}}))(b)
	return aws.ToString(out.Services[0].Deployments[0].Id)
}

func TestRollingChangesTheCountOnlyIfTheFileGivesOne(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		six := 6
		p := stagetest.Got(b.Plan(b.RollingFiles("sim/web:v1", stagetest.Breaker), mode.Options{Tasks: &six}))(b)
		id := stagetest.Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
		b.ExpectRolled(stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "",
			"PRIMARY sim/web:v1 COMPLETED 6 running")
		b.ExpectRolled(b.Deploy(b.RollingFiles("sim/web:v2", stagetest.Breaker)), sluice.Succeeded, "",
			"PRIMARY sim/web:v2 COMPLETED 6 running")
	})
}

// ECS starts two tasks a minute, and as many crash: the number of running tasks goes up and down for ever.
func TestCountsThatOnlyChangeAreNoProgress(t *testing.T) {
	k := world.DefaultSettings()
	k.TaskStartsPerMinute = 2
	stagetest.Run(t, stagetest.Options{NoService: true, Settings: &k}, func(b *stagetest.Bench) {
		four := b.RollingFiles("sim/web:v1?crash-after=2m", "desiredCount: 4\n"+stagetest.Breaker)
		if end := b.Deploy(four); end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		began := b.Clock.Now()
		end := b.Deploy(b.RollingFiles("sim/web:v1?crash-after=2m", "desiredCount: 12\n"+stagetest.Breaker))
		if took := b.Clock.Now().Sub(began); end.Outcome == sluice.Succeeded || took > time.Hour {
			b.Errorf("%s after %s: %s\n%s", end.Outcome, took, end.Cause, b.EventLog())
		}
	})
}

func TestRollingKilledAtEveryWriteAndResumed(t *testing.T) {
	for name, c := range map[string]struct{ image, end string }{
		"to v2":    {"sim/web:v2", "succeeded: " + stagetest.RolledV2},
		"and back": {"sim/web:v2?healthy-after=1h&crash-after=2s", "rolled back: " + stagetest.RolledV1},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					stagetest.RunRolling(t, func(b *stagetest.Bench) {
						id := b.Start(b.RollingFiles(c.image,
							"deploymentConfiguration: {deploymentCircuitBreaker: {enable: false, rollback: false}}\n"))
						g := b.KillAtWrite(n, after)
						at := b.RunUntilKilled(id)
						g.Left = -1
						if more = at != ""; !more {
							return
						}
						end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
						if state := fmt.Sprintf("%s: %s", end.Outcome, b.RollingState()); state != c.end {
							b.Errorf("killed %s (write %d): %s (%s), want %s\n%s", at, n, state, end.Cause, c.end,
								b.EventLog())
						}
						b.ExpectNoneLost()
					})
				}
			})
		}
	}
}

// The figure that is promised: through a healthy rolling deployment at 500
// requests a second none is lost, 20 of 20 runs, each of another seed and size.
func TestFigureTwentyRollingDeploymentsLoseNoRequest(t *testing.T) {
	clean := 0
	for seed := uint64(1); seed <= 20; seed++ {
		stagetest.Run(t, stagetest.Options{NoService: true, Seed: seed, Codec: seed == 20}, func(b *stagetest.Bench) {
			size := fmt.Sprintf("desiredCount: %d\n", 2+seed%5)
			if end := b.Deploy(b.RollingFiles("sim/web:v1", size+stagetest.Breaker)); end.Outcome != sluice.Succeeded {
				b.Fatalf("seed %d: %s: %s\n%s", seed, end.Outcome, end.Cause, b.EventLog())
			}
			b.Tally = loadgen.Attach(b.Sim.World(), b.Sim.Balancer(),
				loadgen.Caller{Key: stagetest.Key, Balancer: b.Balancer,
					Port: 80, Rate: 500})
			began := b.Clock.Now()
			end := b.Deploy(b.RollingFiles("sim/web:v2", stagetest.Breaker))
			b.ExpectNoneLost()
			took, r := b.Clock.Now().Sub(began), b.Tally.Report()
			if want := 500 * took.Seconds(); r.Requests < want*0.99 || took < 10*time.Second {
				b.Errorf("seed %d: %.0f requests in %s, want 500 a second", seed, r.Requests, took)
			}
			if end.Outcome == sluice.Succeeded && r.Failed == 0 &&
				strings.HasPrefix(b.RollingState(), "PRIMARY sim/web:v2 COMPLETED") {
				clean++
			}
		})
	}
	t.Logf("rolling deployments without a lost request: %d of 20", clean)
	if clean != 20 {
		t.Errorf("%d of 20 runs", clean)
	}
}
