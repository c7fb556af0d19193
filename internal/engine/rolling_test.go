package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

const breaker = "deploymentConfiguration: {deploymentCircuitBreaker: {enable: true, rollback: true}}\n"

// rolling is an application whose service rolls; more goes into its service
// definition.
func (b *bench) rolling(image, more string) fstest.MapFS {
	files := b.files(image, "")
	files["servicedef.yaml"] = &fstest.MapFile{Data: []byte(fmt.Sprintf(`
serviceName: web
cluster: prod
launchType: FARGATE
networkConfiguration: {awsvpcConfiguration: {subnets: [%s]}}
loadBalancers: [{targetGroupArn: %q, containerName: web, containerPort: 8080}]
%s`, strings.Join(b.subnets(), ", "), b.primary, more))}
	return files
}

// rolls is a world in which the service rolls and serves v1.
func rolls(t testing.TB, f func(*bench)) {
	t.Helper()
	on(t, options{noService: true}, func(b *bench) {
		end := b.deploy(b.rolling("sim/web:v1", "desiredCount: 4\n"+breaker))
		if end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.log())
		}
		b.attach()
		b.events, b.calls = nil, nil
		f(b)
	})
}

// deployed is the rolling service as somebody would tell it.
func (b *bench) deployed() string {
	b.Helper()
	out := got(b.ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}, Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(b)
	var lines []string
	for _, d := range out.Services[0].Deployments {
		td := got(b.ecs.DescribeTaskDefinition(context.Background(),
			&awsecs.DescribeTaskDefinitionInput{TaskDefinition: d.TaskDefinition}))(b)
		lines = append(lines, fmt.Sprintf("%s %s %s %d running", *d.Status,
			*td.TaskDefinition.ContainerDefinitions[0].Image, d.RolloutState, d.RunningCount))
	}
	for _, tag := range out.Services[0].Tags {
		lines = append(lines, "tag "+*tag.Key)
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

func (b *bench) rolled(end engine.RunResult, outcome sluice.Outcome, cause, state string) {
	b.Helper()
	if end.Outcome != outcome || !strings.Contains(end.Cause, cause) || b.deployed() != state {
		b.Errorf("%s: %s; %s\nwant %s: …%s…; %s\n%s", end.Outcome, end.Cause, b.deployed(), outcome, cause, state,
			b.log())
	}
}

const (
	rolledV1 = "PRIMARY sim/web:v1 COMPLETED 4 running"
	rolledV2 = "PRIMARY sim/web:v2 COMPLETED 4 running"
)

func TestRollingGoesFromV1ToV2WithoutLosingARequest(t *testing.T) {
	rolls(t, func(b *bench) {
		b.rolled(b.deploy(b.rolling("sim/web:v2", breaker)), sluice.Succeeded, "", rolledV2)
		b.noneLost()
		updates := 0
		for _, c := range b.calls {
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
	rolls(t, func(b *bench) {
		b.rolled(b.deploy(b.rolling("sim/web:v2?healthy-after=1h&crash-after=2s&exit=3", breaker)), sluice.RolledBack,
			"exit code 3", rolledV1)
		b.noneLost()
	})
}

func TestRollingWithoutABreakerIsRolledBackByUs(t *testing.T) {
	rolls(t, func(b *bench) {
		b.rolled(b.deploy(b.rolling("sim/web:v2?healthy-after=1h&crash-after=2s&exit=3",
			"deploymentConfiguration: {deploymentCircuitBreaker: {enable: false, rollback: false}}\n")),
			sluice.RolledBack, "exit code 3", rolledV1)
		b.noneLost()
	})
}

func TestRollingIsRolledBackOnDemand(t *testing.T) {
	rolls(t, func(b *bench) {
		ctx := context.Background()
		end := b.deploy(b.rolling("sim/web:v2", breaker))
		must(b, b.engine.Reopen(ctx, end.ID))
		must(b, b.engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
		b.rolled(got(b.engine.Run(ctx, end.ID, engine.Options{}))(b), sluice.RolledBack, "", rolledV1)
		b.noneLost()
	})
}

func TestForcedRollingMakesOneNewDeployment(t *testing.T) {
	rolls(t, func(b *bench) {
		before := b.current()
		p := got(b.plan(b.rolling("sim/web:v1", breaker), mode.Options{Force: true}))(b)
		id := got(b.engine.Start(context.Background(), p, engine.TriggerManual))(b)
		must(b, b.sim.Inject("lost-reply ecs:UpdateService times=1"))
		b.rolled(got(b.engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "", rolledV1)
		if b.current() == before {
			b.Error("no new deployment")
		}
		list := got(b.ecs.ListServiceDeployments(context.Background(),
			&awsecs.ListServiceDeploymentsInput{Cluster: aws.String("prod"), Service: aws.String("web")}))(b)
		if n := len(list.ServiceDeployments); n != 2 {
			b.Errorf("%d service deployments, want the first and the forced one", n)
		}
		b.noneLost()
	})
}

func (b *bench) current() string {
	out := got(b.ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}}))(b)
	return aws.ToString(out.Services[0].Deployments[0].Id)
}

func TestRollingChangesTheCountOnlyIfTheFileGivesOne(t *testing.T) {
	rolls(t, func(b *bench) {
		six := 6
		p := got(b.plan(b.rolling("sim/web:v1", breaker), mode.Options{Tasks: &six}))(b)
		id := got(b.engine.Start(context.Background(), p, engine.TriggerManual))(b)
		b.rolled(got(b.engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "",
			"PRIMARY sim/web:v1 COMPLETED 6 running")
		b.rolled(b.deploy(b.rolling("sim/web:v2", breaker)), sluice.Succeeded, "",
			"PRIMARY sim/web:v2 COMPLETED 6 running")
	})
}

func TestRollingKilledAtEveryWriteAndResumed(t *testing.T) {
	for name, c := range map[string]struct{ image, end string }{
		"to v2":    {"sim/web:v2", "succeeded: " + rolledV2},
		"and back": {"sim/web:v2?healthy-after=1h&crash-after=2s", "rolled back: " + rolledV1},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					rolls(t, func(b *bench) {
						id := b.start(b.rolling(c.image,
							"deploymentConfiguration: {deploymentCircuitBreaker: {enable: false, rollback: false}}\n"))
						g := b.mortal(n, after)
						at := b.dies(id)
						g.left = -1
						if more = at != ""; !more {
							return
						}
						end := got(b.engine.Run(context.Background(), id, engine.Options{}))(b)
						if state := fmt.Sprintf("%s: %s", end.Outcome, b.deployed()); state != c.end {
							b.Errorf("killed %s (write %d): %s (%s), want %s\n%s", at, n, state, end.Cause, c.end,
								b.log())
						}
						b.noneLost()
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
		on(t, options{noService: true, seed: seed, codec: seed == 20}, func(b *bench) {
			size := fmt.Sprintf("desiredCount: %d\n", 2+seed%5)
			if end := b.deploy(b.rolling("sim/web:v1", size+breaker)); end.Outcome != sluice.Succeeded {
				b.Fatalf("seed %d: %s: %s\n%s", seed, end.Outcome, end.Cause, b.log())
			}
			b.tally = loadgen.Attach(b.sim.World(), b.sim.Balancer(), loadgen.Caller{Key: here, Balancer: b.balancer,
				Port: 80, Rate: 500})
			began := b.clock.Now()
			end := b.deploy(b.rolling("sim/web:v2", breaker))
			b.noneLost()
			took, r := b.clock.Now().Sub(began), b.tally.Report()
			if want := 500 * took.Seconds(); r.Requests < want*0.99 || took < 10*time.Second {
				b.Errorf("seed %d: %.0f requests in %s, want 500 a second", seed, r.Requests, took)
			}
			if end.Outcome == sluice.Succeeded && r.Failed == 0 &&
				strings.HasPrefix(b.deployed(), "PRIMARY sim/web:v2 COMPLETED") {
				clean++
			}
		})
	}
	t.Logf("rolling deployments without a lost request: %d of 20", clean)
	if clean != 20 {
		t.Errorf("%d of 20 runs", clean)
	}
}
