package rolling_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// shifter stands before a local AWS that has rolling updates only, and answers as
// ECS does of a strategy of its own: with the strategy, the stages and a PAUSE
// hook that somebody answers after a while. A deployment that rolls stands for
// ECS's work.
type shifter struct {
	*stagetest.Bench
	strategy ecstypes.DeploymentStrategy
	asked    []awsecs.UpdateServiceInput
	paused   time.Time // since when the hook awaits an answer
	passed   bool
}

const hookFor = 90 * time.Second

func (s *shifter) middleware(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("shifter",
		func(ctx context.Context, in middleware.InitializeInput,
			next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if u, ok := in.Parameters.(*awsecs.UpdateServiceInput); ok {
				s.asked = append(s.asked, *u)
				plain := *u
				plain.DeploymentConfiguration, plain.LoadBalancers = nil, nil
				in.Parameters = &plain
			}
			out, meta, err := next.HandleInitialize(ctx, in)
			if err != nil || len(s.asked) == 0 {
				return out, meta, err
			}
			switch answer := out.Result.(type) {
			case *awsecs.DescribeServicesOutput:
				for i := range answer.Services {
					s.configure(&answer.Services[i])
				}
			case *awsecs.DescribeServiceDeploymentsOutput:
				for i := range answer.ServiceDeployments {
					s.stages(&answer.ServiceDeployments[i])
				}
			}
			return out, meta, err
		}), middleware.Before)
}

func (s *shifter) configure(svc *ecstypes.Service) {
	c := ecstypes.DeploymentConfiguration{Strategy: s.strategy}
	if svc.DeploymentConfiguration != nil {
		c = *svc.DeploymentConfiguration
		c.Strategy = s.strategy
	}
	svc.DeploymentConfiguration = &c
	if s.passed {
		return
	}
	for i := range svc.Deployments {
		svc.Deployments[i].RolloutState = ecstypes.DeploymentRolloutStateInProgress
	}
}

// stages: what ECS has rolled is not successful before the hook is answered.
func (s *shifter) stages(d *ecstypes.ServiceDeployment) {
	if d.Status != ecstypes.ServiceDeploymentStatusSuccessful || s.passed {
		return
	}
	now := s.Clock.Now()
	if s.paused.IsZero() {
		s.paused = now
	}
	if now.Sub(s.paused) > hookFor {
		s.passed = true
		return
	}
	d.Status, d.LifecycleStage = ecstypes.ServiceDeploymentStatusInProgress,
		ecstypes.ServiceDeploymentLifecycleStagePostScaleUp
	d.LifecycleHookDetails = []ecstypes.DeploymentLifecycleHookDetail{{HookId: aws.String("ecs-pause-1"),
		Status:    "AWAITING_ACTION",
		ExpiresAt: aws.Time(s.paused.Add(time.Hour)), TimeoutAction: "ROLLBACK"}}
}

// through gives the bench's engine an account behind the shifter.
func (s *shifter) through() {
	s.Account = s.OpenAccount(s.middleware)
	s.Engine.Account = s.Account
}

func TestStrategyOfECSIsAskedForOnceAndFollowedThroughItsHooks(t *testing.T) {
	for _, strategy := range []ecstypes.DeploymentStrategy{ecstypes.DeploymentStrategyBlueGreen,
		ecstypes.DeploymentStrategyLinear, ecstypes.DeploymentStrategyCanary} {
		t.Run(string(strategy), func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				s := &shifter{Bench: b, strategy: strategy}
				s.through()
				files := b.NativeFiles("sim/web:v2", "strategy: "+string(strategy))
				if p := stagetest.Got(b.Plan(files, mode.Options{}))(b); p.Strategy != string(strategy) {
					t.Errorf("the plan has strategy %q", p.Strategy)
				}
				before := b.Clock.Now()
				b.ExpectRolled(b.Deploy(files), sluice.Succeeded, "", stagetest.RolledV2)
				if len(s.asked) != 1 || s.asked[0].DeploymentConfiguration == nil ||
					s.asked[0].DeploymentConfiguration.Strategy != strategy {
					t.Errorf("%d UpdateService: %+v", len(s.asked), s.asked)
				}
				if took := b.Clock.Now().Sub(before); !s.passed || took < hookFor {
					t.Errorf("it ended after %s, before the hook was answered", took)
				}
				if log := b.EventLog(); strings.Count(log, "hook ecs-pause-1 awaits an answer by sluice continue until") == 0 {
					t.Errorf("nobody was told of the hook\n%s", log)
				}
				b.ExpectNoneLost()
			})
		})
	}
}
