package engine_test

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
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/history"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// left is a rolling deployment that was left to ECS, as far as it got until a
// person resumes it.
func (b *bench) left(image, more string) string {
	id := b.start(b.rolling(image, more))
	end := got(b.engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b)
	if end.State != journal.Waiting || end.WaitingFor != engine.HandedToECS {
		b.Fatalf("%s, waiting for %q\n%s", end.State, end.WaitingFor, b.log())
	}
	return id
}

func TestRollingLeftToECSIsHeldByNobodyAndResumed(t *testing.T) {
	rolls(t, func(b *bench) {
		id := b.left("sim/web:v2", breaker)
		if state := b.deployed(); strings.Contains(state, "tag ") ||
			!strings.Contains(state, "sim/web:v2 IN_PROGRESS") {
			b.Errorf("left as %s", state)
		}
		b.rolled(got(b.engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "", rolledV2)
		b.noneLost()
	})
}

// However much later it is resumed, the deployment that was asked for is the one
// that is judged, and nothing is asked for again.
func TestRollingLeftToECSIsJudgedByItsOwnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		image, second string
		outcome       sluice.Outcome
		state         string
	}{
		"succeeded":   {"sim/web:v2", "", sluice.Succeeded, rolledV2},
		"rolled back": {"sim/web:v2?healthy-after=1h&crash-after=2s", "", sluice.RolledBack, rolledV1},
		"superseded":  {"sim/web:v2", "sim/web:v3", sluice.Superseded, "PRIMARY sim/web:v3 COMPLETED 4 running"},
	} {
		t.Run(name, func(t *testing.T) {
			rolls(t, func(b *bench) {
				ctx := context.Background()
				id := b.left(c.image, breaker)
				if c.second != "" {
					td := got(b.ecs.RegisterTaskDefinition(ctx, taskDefinition(b, c.second)))(b)
					got(b.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
						Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn}))(b)
				}
				must(b, b.clock.Sleep(ctx, 30*time.Minute))
				b.calls = nil
				b.rolled(got(b.engine.Run(ctx, id, engine.Options{}))(b), c.outcome, "", c.state)
				for _, call := range b.calls {
					if strings.HasSuffix(call.Operation, "UpdateService") {
						b.Errorf("%s again", call.Operation)
					}
				}
			})
		})
	}
}

// A rollback by ECS's history is a deployment like others: killed at any write and
// resumed it ends the same.
func TestReturnByHistoryKilledAtEveryWriteAndResumed(t *testing.T) {
	for name, running := range map[string]bool{"while one runs": true, "after it succeeded": false} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					rolls(t, func(b *bench) { more = b.returnKilled(n, after, running) })
				}
			})
		}
	}
}

func (b *bench) returnKilled(n int, after, running bool) (more bool) {
	ctx := context.Background()
	td := got(b.ecs.RegisterTaskDefinition(ctx, taskDefinition(b, "sim/web:v2")))(b)
	got(b.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("web"),
		TaskDefinition: td.TaskDefinition.TaskDefinitionArn}))(b)
	if !running {
		must(b, b.clock.Sleep(ctx, 20*time.Minute))
	}
	live, back, err := survey.ReadRollbackInputs(ctx, b.account, b.clock, "prod", "web", "")
	must(b, err)
	p := got(history.MakeReturn("prod", live, back))(b)
	id := got(b.engine.Start(ctx, p, engine.TriggerManual))(b)
	g := b.mortal(n, after)
	at := b.dies(id)
	g.left = -1
	if at == "" {
		return false
	}
	end := got(b.engine.Run(ctx, id, engine.Options{}))(b)
	if state := fmt.Sprintf("%s: %s", end.Outcome, b.deployed()); state != "succeeded: "+rolledV1 {
		b.Errorf("killed %s (write %d): %s (%s)\n%s", at, n, state, end.Cause, b.log())
	}
	b.noneLost()
	return true
}

// What the service revision had is restored with it, not only its task
// definition; the desired count stays as it is.
func TestReturnByHistoryRestoresTheAttributes(t *testing.T) {
	rolls(t, func(b *bench) {
		ctx := context.Background()
		subnets := b.subnets()
		td := got(b.ecs.RegisterTaskDefinition(ctx, taskDefinition(b, "sim/web:v2")))(b)
		got(b.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("web"),
			TaskDefinition:       td.TaskDefinition.TaskDefinitionArn,
			DesiredCount:         aws.Int32(6),
			NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: subnets[:1]}}}))(b)
		must(b, b.clock.Sleep(ctx, 20*time.Minute))
		live, back, err := survey.ReadRollbackInputs(ctx, b.account, b.clock, "prod", "web", "")
		must(b, err)
		p := got(history.MakeReturn("prod", live, back))(b)
		id := got(b.engine.Start(ctx, p, engine.TriggerManual))(b)
		b.rolled(got(b.engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "",
			"PRIMARY sim/web:v1 COMPLETED 6 running")
		out := got(b.ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}}))(b)
		if now := out.Services[0].NetworkConfiguration.AwsvpcConfiguration.Subnets; len(now) != len(subnets) {
			b.Errorf("subnets %v, want %v", now, subnets)
		}
		b.noneLost()
	})
}

func TestReturnToARevisionThatIsInactiveIsRefused(t *testing.T) {
	rolls(t, func(b *bench) {
		ctx := context.Background()
		must(b, b.clock.Sleep(ctx, time.Minute))
		b.deploy(b.rolling("sim/web:v2", breaker))
		got(b.ecs.DeregisterTaskDefinition(ctx,
			&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("web:1")}))(b)
		live, back, err := survey.ReadRollbackInputs(ctx, b.account, b.clock, "prod", "web", "")
		must(b, err)
		_, err = history.MakeReturn("prod", live, back)
		if sluice.KindOf(err) != sluice.Conflict || !strings.Contains(err.Error(), "web:1 is INACTIVE") {
			b.Errorf("%v", err)
		}
	})
}

// AWS's answers may be old and its reply may be lost: forced or not, one
// deployment is made, and it is the one that is followed.
func TestRollingWithOldAnswersIsOneDeployment(t *testing.T) {
	for name, c := range map[string]struct {
		image  string
		force  bool
		faults []string
	}{
		"old answers": {"sim/web:v2", false, []string{"stale ecs:DescribeServices by=5s"}},
		"lost reply, old answers": {"sim/web:v2", false, []string{"lost-reply ecs:UpdateService times=1",
			"stale ecs:DescribeServices by=5s"}},
		"forced, old answers": {"sim/web:v1", true, []string{"stale ecs:DescribeServices by=5s"}},
		"forced, lost reply, old answers": {"sim/web:v1", true, []string{"lost-reply ecs:UpdateService times=1",
			"stale ecs:DescribeServices by=5s"}},
		"forced, never sent, old answers": {"sim/web:v1", true, []string{"no-send ecs:UpdateService times=1",
			"stale ecs:DescribeServices by=5s"}},
		"forced, refused once, throttling": {"sim/web:v1", true, []string{"5xx ecs:UpdateService times=1",
			"throttle ecs:DescribeServices times=5"}},
	} {
		t.Run(name, func(t *testing.T) {
			rolls(t, func(b *bench) {
				ctx := context.Background()
				must(b, b.clock.Sleep(ctx, time.Minute))
				p := got(b.plan(b.rolling(c.image, breaker), mode.Options{Force: c.force}))(b)
				id := got(b.engine.Start(ctx, p, engine.TriggerManual))(b)
				b.deployed() // old answers are among those that were given
				must(b, b.clock.Sleep(ctx, 10*time.Second))
				for _, f := range c.faults {
					must(b, b.sim.Inject(f))
				}
				end := got(b.engine.Run(ctx, id, engine.Options{}))(b)
				b.sim.ClearFaults()
				b.rolled(end, sluice.Succeeded, "", "PRIMARY "+c.image+" COMPLETED 4 running")
				list := got(b.ecs.ListServiceDeployments(ctx,
					&awsecs.ListServiceDeploymentsInput{Cluster: aws.String("prod"), Service: aws.String("web")}))(b)
				if n := len(list.ServiceDeployments); n != 2 {
					b.Errorf("%d service deployments, want the first and ours\n%s", n, b.log())
				}
				b.noneLost()
			})
		})
	}
}
