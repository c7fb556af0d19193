package ecs

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// StoppedReader returns each stopped or stopping task of a service once, as soon as AWS gives the
// reason. The zero value has read nothing.
type Fallen struct {
	told map[string]bool // ARNs of tasks that were returned
}

// Update returns the tasks that stopped since the last Update, oldest first. AWS lists stopped
// tasks for about an hour.
func (f *Fallen) Update(ctx context.Context, s Service) ([]verdict.Stopped, error) {
	arns, err := s.list(ctx, awsecs.ListTasksInput{ServiceName: aws.String(s.Name), DesiredStatus: ecstypes.DesiredStatusStopped})
	if err != nil {
		return nil, err
	}
	arns = slices.DeleteFunc(arns, func(arn string) bool { return f.told[arn] })
	tasks, err := s.describe(ctx, arns)
	var fallen []verdict.Stopped
	for _, t := range tasks {
		if !explained(t) {
			continue
		}
		if f.told == nil {
			f.told = map[string]bool{}
		}
		f.told[aws.ToString(t.TaskArn)] = true
		fallen = append(fallen, verdict.Stopped{StoppedTask: stoppedTask(t), Deployment: aws.ToString(t.StartedBy),
			Revision: sluice.RevisionOf(aws.ToString(t.TaskDefinitionArn))})
	}
	slices.SortStableFunc(fallen, func(a, b verdict.Stopped) int { return a.StoppedAt.Compare(b.StoppedAt) })
	return fallen, err
}

// hasStopReason reports whether the task has stopped, or is stopping and AWS has given the final
// reason.
func explained(t ecstypes.Task) bool {
	if aws.ToString(t.LastStatus) == "STOPPED" {
		return true
	}
	switch t.StopCode {
	case ecstypes.TaskStopCodeTaskFailedToStart, ecstypes.TaskStopCodeServiceSchedulerInitiated:
		return true
	case ecstypes.TaskStopCodeEssentialContainerExited:
		return slices.ContainsFunc(t.Containers, func(c ecstypes.Container) bool { return c.ExitCode != nil })
	}
	return false
}
