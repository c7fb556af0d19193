package ecs_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// onSpot creates service api with three tasks on FARGATE_SPOT.
func (s *street) onSpot(image string) {
	s.Helper()
	must(s.room.PutClusterCapacityProviders(s.ctx, &awsecs.PutClusterCapacityProvidersInput{Cluster: aws.String("web"),
		CapacityProviders:               []string{"FARGATE_SPOT"},
		DefaultCapacityProviderStrategy: []ecstypes.CapacityProviderStrategyItem{}}))(s.T)
	in := rollingInput(*s.register(image), 3, s.group)
	in.LaunchType, in.CapacityProviderStrategy = "", []ecstypes.CapacityProviderStrategyItem{
		{CapacityProvider: aws.String("FARGATE_SPOT"), Weight: 1}}
	must(s.room.CreateService(s.ctx, in))(s.T)
	s.pass(5 * time.Minute)
}

// interrupt interrupts the oldest task, and returns it.
func (s *street) interrupt() (x *world.Task) {
	s.Helper()
	if err := s.w.Do(worldtest.Key, func(tx *world.Tx) error {
		x = tx.Tasks.Values()[0]
		s.room.Scheduler().InterruptTask(tx, x)
		return nil
	}); err != nil {
		s.Fatal(err)
	}
	return x
}

// A task on Spot that is interrupted gets SIGTERM at once, has AWS's code and reason, and is replaced.
// Callers lose requests only if the task does not serve for some seconds after SIGTERM.
func TestASpotTaskIsInterrupted(t *testing.T) {
	for image, loses := range map[string]bool{"sim/web:v1-term-20s": false, "sim/web:v1": true} {
		s := newStreet(t, 1)
		s.onSpot(image)
		tally := s.call()
		s.pass(10 * time.Second)
		x := s.interrupt()
		if x.LastStatus != "STOPPING" || x.StopCode != "SpotInterruption" ||
			x.StoppedReason != "Your Spot Task was interrupted." || !x.SignalledAt.Equal(s.now) {
			t.Errorf("%s: %+v", image, x)
		}
		s.pass(5 * time.Minute)
		if lost := tally.Report().Failed; lost > 0 != loses {
			t.Errorf("%s: %v requests were lost", image, lost)
		}
		svc := must(s.room.DescribeServices(s.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
			Services: []string{"api"}}))(t).Services[0]
		if svc.RunningCount != 3 || x.LastStatus != "STOPPED" || svc.Deployments[0].FailedTasks != 0 {
			t.Errorf("%s: %d tasks run, the task is %s, %d failed", image, svc.RunningCount, x.LastStatus,
				svc.Deployments[0].FailedTasks)
		}
	}
}

// A program that ignores SIGTERM is killed after the stop timeout.
func TestAnInterruptedTaskIsKilled(t *testing.T) {
	s := newStreet(t, 1)
	s.onSpot("sim/web:v1-ignores-term")
	x := s.interrupt()
	s.pass(time.Minute)
	if d := x.ExecutionStoppedAt.Sub(x.SignalledAt); d != 30*time.Second || *x.Containers[0].ExitCode != 137 {
		t.Errorf("stopped %s after the signal with %d", d, *x.Containers[0].ExitCode)
	}
}
