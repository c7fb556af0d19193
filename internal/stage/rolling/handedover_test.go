package rolling_test

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
	"github.com/sluice-ecs/sluice/internal/plan/history"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// However much later it is resumed, the deployment that was asked for is the one
// that is judged, and nothing is asked for again.
func TestRollingLeftToECSIsJudgedByItsOwnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		image, second string
		outcome       sluice.Outcome
		state         string
	}{
		"succeeded":   {"sim/web:v2", "", sluice.Succeeded, stagetest.RolledV2},
		"rolled back": {"sim/web:v2?healthy-after=1h&crash-after=2s", "", sluice.RolledBack, stagetest.RolledV1},
		"superseded":  {"sim/web:v2", "sim/web:v3", sluice.Superseded, "PRIMARY sim/web:v3 COMPLETED 4 running"},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				ctx := context.Background()
				id := b.LeaveToECS(c.image, stagetest.Breaker)
				if c.second != "" {
					td := stagetest.Got(b.ECS.RegisterTaskDefinition(ctx, stagetest.TaskDefinition(b, c.second)))(b)
					stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
						Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn}))(b)
				}
				stagetest.Must(b, b.Clock.Sleep(ctx, 30*time.Minute))
				b.Calls = nil
				b.ExpectRolled(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), c.outcome, "", c.state)
				for _, call := range b.Calls {
					if strings.HasSuffix(call.Operation, "UpdateService") {
						b.Errorf("%s again", call.Operation)
					}
				}
			})
		})
	}
}

// A process that does not wait ends at an approval, also after the stage that ECS could finish alone.
func TestRollingIsNotLeftToECSBeforeAnApproval(t *testing.T) {
	for name, c := range map[string]struct{ after, waiting string }{
		"approval": {stagetest.Approval, "1 approval of stage 2"},
		"wait":     {"{name: WAIT, with: {duration: 1m}}", engine.HandedToECS},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				files := b.RollingFiles("sim/web:v2", stagetest.Breaker)
				files["sluice.yaml"].Data = append(files["sluice.yaml"].Data,
					"\npipeline: {stages: [{name: ECS_SYNC}, "+c.after+"]}\n"...)
				end := stagetest.Got(b.Engine.Run(context.Background(), b.Start(files), engine.Options{NoWait: true}))(b)
				if end.WaitingFor != c.waiting || (end.Outcome == sluice.Succeeded) != (c.waiting == "") {
					b.Errorf("the process ended with the deployment %s %q, waiting for %q; want it waiting for %q\n%s", end.State,
						end.Outcome, end.WaitingFor, c.waiting, b.EventLog())
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
					stagetest.RunRolling(t, func(b *stagetest.Bench) { more = killReturn(b, n, after, running) })
				}
			})
		}
	}
}

func killReturn(b *stagetest.Bench, n int, after, running bool) (more bool) {
	ctx := context.Background()
	td := stagetest.Got(b.ECS.RegisterTaskDefinition(ctx, stagetest.TaskDefinition(b, "sim/web:v2")))(b)
	stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service:        aws.String("web"),
		TaskDefinition: td.TaskDefinition.TaskDefinitionArn}))(b)
	if !running {
		stagetest.Must(b, b.Clock.Sleep(ctx, 20*time.Minute))
	}
	live, back, err := survey.ReadRollbackInputs(ctx, b.Account, b.Clock, "prod", "web", "")
	stagetest.Must(b, err)
	p := stagetest.Got(history.MakeReturn("prod", live, back))(b)
	id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
	g := b.KillAtWrite(n, after)
	at := b.RunUntilKilled(id)
	g.Left = -1
	if at == "" {
		return false
	}
	end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
	if state := fmt.Sprintf("%s: %s", end.Outcome, b.RollingState()); state != "succeeded: "+stagetest.RolledV1 {
		b.Errorf("killed %s (write %d): %s (%s)\n%s", at, n, state, end.Cause, b.EventLog())
	}
	b.ExpectNoneLost()
	return true
}

// What the service revision had is restored with it, not only its task
// definition; the desired count stays as it is.
func TestReturnByHistoryRestoresTheAttributes(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx := context.Background()
		subnets := b.Subnets()
		td := stagetest.Got(b.ECS.RegisterTaskDefinition(ctx, stagetest.TaskDefinition(b, "sim/web:v2")))(b)
		stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service:              aws.String("web"),
			TaskDefinition:       td.TaskDefinition.TaskDefinitionArn,
			DesiredCount:         aws.Int32(6),
			NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: subnets[:1]}}}))(b)
		stagetest.Must(b, b.Clock.Sleep(ctx, 20*time.Minute))
		live, back, err := survey.ReadRollbackInputs(ctx, b.Account, b.Clock, "prod", "web", "")
		stagetest.Must(b, err)
		p := stagetest.Got(history.MakeReturn("prod", live, back))(b)
		id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		b.ExpectRolled(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "",
			"PRIMARY sim/web:v1 COMPLETED 6 running")
		out := stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}}))(b)
		if now := out.Services[0].NetworkConfiguration.AwsvpcConfiguration.Subnets; len(now) != len(subnets) {
			b.Errorf("subnets %v, want %v", now, subnets)
		}
		b.ExpectNoneLost()
	})
}

// AWS starts no task of a revision that was deregistered: a copy of it is registered and deployed.
func TestReturnToARevisionThatIsInactiveDeploysACopy(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx := context.Background()
		stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
		b.Deploy(b.RollingFiles("sim/web:v2", stagetest.Breaker))
		stagetest.Got(b.ECS.DeregisterTaskDefinition(ctx,
			&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("web:1")}))(b)
		live, back, err := survey.ReadRollbackInputs(ctx, b.Account, b.Clock, "prod", "web", "")
		stagetest.Must(b, err)
		p := stagetest.Got(history.MakeReturn("prod", live, back))(b)
		id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		b.ExpectRolled(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "",
			stagetest.RolledV1)
		b.ExpectNoneLost()
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
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				ctx := context.Background()
				stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
				p := stagetest.Got(b.Plan(b.RollingFiles(c.image, stagetest.Breaker), mode.Options{Force: c.force}))(b)
				id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
				b.RollingState() // old answers are among those that were given
				stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Second))
				for _, f := range c.faults {
					stagetest.Must(b, b.Sim.Inject(f))
				}
				end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
				b.Sim.ClearFaults()
				b.ExpectRolled(end, sluice.Succeeded, "", "PRIMARY "+c.image+" COMPLETED 4 running")
				list := stagetest.Got(b.ECS.ListServiceDeployments(ctx,
					&awsecs.ListServiceDeploymentsInput{Cluster: aws.String("prod"), Service: aws.String("web")}))(b)
				if n := len(list.ServiceDeployments); n != 2 {
					b.Errorf("%d service deployments, want the first and ours\n%s", n, b.EventLog())
				}
				b.ExpectNoneLost()
			})
		})
	}
}
