// Package pausehook answers lifecycle hooks of type PAUSE, at which ECS pauses a deployment of its own strategies. It is
// apart from package ecs, so that front ends that answer no hook need no permission for it.
//
// Start reading at [Answer].
package pausehook

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// Answer answers a hook at which a service deployment is paused: the deployment continues, or ECS rolls it back.
// A hook answers once, so the call is not sent again: without a response, the record shows whether the answer arrived.
func Answer(ctx context.Context, s ecs.Service, act sluice.Act, deployment, hook string, rollBack bool) error {
	action := ecstypes.DeploymentLifecycleHookActionContinue
	if rollBack {
		action = ecstypes.DeploymentLifecycleHookActionRollback
	}
	w := sluice.Write{Operation: "ecs:ContinueServiceDeployment", Resource: deployment}
	return act(ctx, sluice.Attempt{Action: "answer hook " + hook, Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			_, err := s.API.ContinueServiceDeployment(ctx, &awsecs.ContinueServiceDeploymentInput{
				ServiceDeploymentArn: aws.String(deployment), HookId: aws.String(hook), Action: action})
			result := string(action) + " " + hook
			if !errors.Is(err, sluice.ErrUnanswered) {
				return result, err
			}
			return result + ecs.ByRead, confirmAnswer(ctx, s, deployment, hook, err)
		})
}

// confirmAnswer returns nil if the deployment no longer waits at the hook, otherwise lost: the error of the answer.
func confirmAnswer(ctx context.Context, s ecs.Service, deployment, hook string, lost error) error {
	rec, err := ServiceDeployment(ctx, s, deployment)
	if err != nil {
		return errors.Join(lost, err)
	}
	if slices.ContainsFunc(rec.AwaitedHooks(), func(h verdict.Hook) bool { return h.ID == hook }) {
		return lost
	}
	return nil
}

// ServiceDeployment reads one service deployment; nil if AWS does not know it.
func ServiceDeployment(ctx context.Context, s ecs.Service, arn string) (*verdict.Record, error) {
	all, err := ecs.NewRecords(s.API).Read(ctx, []string{arn})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// CurrentDeployment reads the service deployment that a service has now; nil if it has none.
func CurrentDeployment(ctx context.Context, s ecs.Service) (*verdict.Record, error) {
	live, err := s.Observe(ctx)
	if err != nil || live == nil || live.CurrentDeployment() == "" {
		return nil, err
	}
	return ServiceDeployment(ctx, s, live.CurrentDeployment())
}
