package discovered_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

var lookups = flag.Int("lookups", 20_000, "how often a name is looked up to measure a share")

// startHeld brings a deployment to its first approval.
func startHeld(b *stagetest.NameBench, pipeline string) (*plan.Plan, string) {
	b.Helper()
	p := stagetest.Got(b.Plan(b.NamedFiles("sim/api:v2", pipeline), mode.Options{}))(b)
	id := stagetest.Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
	if end := stagetest.Got(b.Engine.Run(context.Background(), id,
		engine.Options{NoWait: true}))(b); end.Outcome != "" {
		b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
	}
	return p, id
}

// canaryAddresses are the addresses of the canary's instances.
func canaryAddresses(b *stagetest.NameBench) map[string]bool {
	out := stagetest.Got(b.Discovery.ListInstances(context.Background(),
		&awssd.ListInstancesInput{ServiceId: aws.String("srv-0123456789abcdef")}))(b)
	all := map[string]bool{}
	for _, i := range out.Instances {
		if strings.HasPrefix(*i.Id, plan.IDPrefix) {
			all[i.Attributes["AWS_INSTANCE_IPV4"]] = true
		}
	}
	return all
}

// The share that callers have is the one that the plan prints, over DNS and over
// DiscoverInstances, on both hostings.
func TestNamedSharesAreThePlans(t *testing.T) {
	for _, c := range []struct{ count, scale, percent, canary int }{{4, 25, 25, 1}, {10, 10, 10, 1}, {20, 15, 15, 3},
		{20, 50, 50, 10}, {4, 25, 10, 1}} {
		for i, controller := range []string{"EXTERNAL", "ECS"} {
			t.Run(fmt.Sprintf("%d%% of %d, %s", c.percent, c.count, controller), func(t *testing.T) {
				stagetest.RunByName(t, stagetest.Named{Count: c.count, Controller: controller, Seed: uint64(i)},
					func(b *stagetest.NameBench) {
						p, _ := startHeld(b, stagetest.RoutedPipeline(c.scale, c.percent, ""))
						share := p.Stages[1].Share
						if share.Tasks.Canary != c.canary || fmt.Sprintf("%d primary, %d canary", share.Tasks.Primary,
							share.Tasks.Canary) != b.Found() {
							t.Errorf("planned %s, found %s", share, b.Found())
						}
						measureShare(b, share)
					})
			})
		}
	}
}

func measureShare(b *stagetest.NameBench, share *plan.Share) {
	b.Helper()
	stagetest.Must(b, b.Clock.Sleep(context.Background(), 5*time.Second)) // the name servers follow
	ours, n, first := canaryAddresses(b), *lookups, 0
	for range n {
		found, _ := b.Sim.Resolve("api.shop.local.", "A")
		if ours[found[0].Addr().String()] {
			first++
		}
	}
	got, want := 100*float64(first)/float64(n), share.Tasks.Percent()
	b.Logf("measured %.2f%%, planned %.2f%%", got, want)
	if sampling := 500 * math.Sqrt(want/100*(1-want/100)/float64(n)); math.Abs(got-want) > sampling ||
		math.Abs(got-float64(share.Requested)) > share.Bound+sampling && !share.Raised {
		b.Errorf("over DNS %.2f%%: planned %.2f%%, asked %d%% within %.2f%%", got, want, share.Requested, share.Bound)
	}
	found, canary := 0, 0
	for range 50 {
		out, err := b.Discovery.DiscoverInstances(context.Background(),
			&awssd.DiscoverInstancesInput{NamespaceName: aws.String("shop.local"), ServiceName: aws.String("api"),
				HealthStatus: sdtypes.HealthStatusFilterHealthy})
		stagetest.Must(b, err)
		for _, i := range out.Instances {
			found++
			if ours[i.Attributes["AWS_INSTANCE_IPV4"]] {
				canary++
			}
		}
	}
	if got := 100 * float64(canary) / float64(found); math.Abs(got-want) > 1e-9 {
		b.Errorf("over DiscoverInstances %.2f%%, planned %.2f%%", got, want)
	}
}

// Extra canary tasks make the share exact.
func TestNamedExactShareStartsMoreTasks(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
		p, _ := startHeld(b, stagetest.RoutedPipeline(25, 50, ", exact: true"))
		if s := p.Stages[1].Share; s.Extra != 1 || s.Tasks != (plan.Split{Primary: 2, Canary: 2}) {
			t.Errorf("planned %+v", s)
		}
		if b.Found() != "2 primary, 2 canary" || b.TaskSets() != "ACTIVE sim/api:v2 2, PRIMARY sim/api:v1 4" {
			t.Errorf("%s; %s", b.Found(), b.TaskSets())
		}
	})
}

// ECS rounds a task set's share of the desired count up.
func TestNamedExactShareStartsNoTaskTooMany(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{Count: 3}, func(b *stagetest.NameBench) {
		startHeld(b, stagetest.RoutedPipeline(15, 50, ", exact: true"))
		if b.Found() != "2 primary, 2 canary" || b.TaskSets() != "ACTIVE sim/api:v2 2, PRIMARY sim/api:v1 3" {
			b.Errorf("%s; %s", b.Found(), b.TaskSets())
		}
	})
}

func TestNamedExactShareBesideRolling(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{Controller: "ECS"}, func(b *stagetest.NameBench) {
		startHeld(b, stagetest.RoutedPipeline(25, 60, ", exact: true"))
		if b.Found() != "2 primary, 3 canary" || rollingState(b) != "api sim/api:v1 4;api-canary sim/api:v2 3;" {
			t.Errorf("%s; %s", b.Found(), rollingState(b))
		}
	})
}

func TestNamedPlansAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		pipeline, cause, old, text string
		in                         string
	}{
		"exact that the primary cannot make": {pipeline: stagetest.RoutedPipeline(25, 10, ", exact: true"),
			cause: "exactly 10%"},
		"everything to a small canary": {pipeline: stagetest.RoutedPipeline(50, 100, ""), cause: "2 of the 4 tasks"},
		"no registry": {in: "servicedef.yaml", old: "serviceRegistries", text: "x",
			cause: "needs a service registry"},
		"bridge network": {in: "taskdef.yaml", old: "networkMode: awsvpc",
			text: "networkMode: bridge", cause: "Fargate supports only network mode awsvpc"},
		"another registry than that which serves": {in: "servicedef.yaml", old: "srv-0123456789abcdef",
			text: "srv-other", cause: "srv-other"},
		"a routing stage without a canary": {pipeline: "\npipeline: {stages: [{name: ECS_TRAFFIC_ROUTING, with: " +
			"{canary: 50}}]}\n", cause: "no earlier stage starts a canary"},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
				files := b.NamedFiles("sim/api:v2", c.pipeline)
				if c.in != "" {
					text := string(files[c.in].Data)
					if c.text == "x" {
						text = strings.Join(strings.Split(text, "\n")[:5], "\n") +
							"\nnetworkConfiguration: {awsvpcConfiguration: {subnets: [subnet-0123456789abcdef0]}}\n"
					}
					files[c.in].Data = []byte(strings.Replace(text, c.old, c.text, 1))
				}
				_, err := b.Plan(files, mode.Options{})
				if err == nil || !strings.Contains(err.Error(), c.cause) ||
					sluice.NextStep(err) == "" && !strings.Contains(err.Error(), "\nnext: ") {
					t.Errorf("%v (next %q), want %q", err, sluice.NextStep(err), c.cause)
				}
			})
		})
	}
}

func TestNamedPlanWarns(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
		p := stagetest.Got(b.Plan(b.NamedFiles("sim/api:v2", stagetest.RoutedPipeline(25, 5, "")), mode.Options{}))(b)
		text := strings.Join(p.Warnings, "\n")
		for _, want := range []string{"less than one task: sluice uses one task", "no container has a health check",
			"no process monitors the deployment"} {
			if !strings.Contains(text, want) {
				t.Errorf("not warned of: %s\n%s", want, text)
			}
		}
		if s := p.Stages[1].Share.String(); s != "api.shop.local has 5 registered tasks, 1 of canary: 20% for the "+
			"requested 5%; half a task is 10%; 20 tasks would achieve it" {
			t.Error(s)
		}
	})
}

// A service that somebody scales while the canary is found keeps its share.
func TestNamedShareWhileSomebodyScales(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
		_, id := startHeld(b, stagetest.RoutedPipeline(50, 25, ""))
		ctx := context.Background()
		stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service:      aws.String("api"),
			DesiredCount: aws.Int32(8)}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, "approve", 2, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectNamed(end, sluice.Succeeded, "", "PRIMARY sim/api:v2 8", "8 primary, 0 canary")
		b.ExpectNobodyLost()
	})
}

// A service that is scaled in while the canary has a share keeps its name filled,
// whichever tasks ECS stops: the deployment goes on, or goes back.
func TestNamedShareWhileTheServiceIsScaledIn(t *testing.T) {
	const term = "?term=80s" // ECS stops tasks while callers have their addresses
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		for _, share := range []int{36, 80, 100} {
			for _, to := range []int32{1, 3} {
				for _, does := range []string{"approve", "rollback"} {
					t.Run(fmt.Sprintf("%s %d%% to %d, %s", controller, share, to, does), func(t *testing.T) {
						t.Parallel()
						for seed := range uint64(3) {
							stagetest.RunByName(t,
								stagetest.Named{Controller: controller, Count: 6, Image: term, Seed: seed},
								func(b *stagetest.NameBench) {
									scaleInAtShare(b, share, to, does, term)
								})
						}
					})
				}
			}
		}
	}
}

// scaleInAtShare scales the service in while a share is held, and goes on at once.
func scaleInAtShare(b *stagetest.NameBench, share int, to int32, does, term string) {
	ctx := context.Background()
	p := stagetest.Got(b.Plan(b.NamedFiles("sim/api:v2"+term, stagetest.RoutedPipeline(100, share, "")),
		mode.Options{}))(b)
	id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
	if end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b); end.Outcome != "" {
		b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
	}
	stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service:      aws.String("api"),
		DesiredCount: aws.Int32(to)}))(b)
	if does == "approve" {
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, "approve", 2, "ann"))
	} else {
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, does, 0, "ann"))
	}
	end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
	if want := map[string]sluice.Outcome{"approve": sluice.Succeeded,
		"rollback": sluice.RolledBack}[does]; end.Outcome != want {
		b.Fatalf("%s: %s, want %s\n%s", end.Outcome, end.Cause, want, b.EventLog())
	}
	if want := fmt.Sprintf("%d primary, 0 canary", to); b.Found() != want {
		b.Errorf("%s, want %s\n%s", b.Found(), want, b.EventLog())
	}
	b.ExpectNobodyLost()
}
