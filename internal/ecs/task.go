package ecs

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// describeBatch is how many tasks one DescribeTasks takes (ECS API Reference).
const describeBatch = 100

// Stopped reads the stopped tasks of a task set that are not in seen, oldest
// first. AWS remembers them for about an hour.
func (s Service) Stopped(ctx context.Context, taskSet string, seen func(id string) bool) ([]sluice.StoppedTask, error) {
	arns, err := s.tasks(ctx, taskSet, ecstypes.DesiredStatusStopped)
	if err != nil {
		return nil, err
	}
	arns = slices.DeleteFunc(arns, func(arn string) bool { return seen(sluice.ARNName(arn)) })
	var stopped []sluice.StoppedTask
	for batch := range slices.Chunk(arns, describeBatch) {
		out, err := s.API.DescribeTasks(ctx, &awsecs.DescribeTasksInput{Cluster: aws.String(s.Cluster), Tasks: batch})
		if err != nil {
			return nil, fmt.Errorf("read stopped tasks: %w", sluice.Inner(err))
		}
		for _, t := range out.Tasks {
			if aws.ToString(t.LastStatus) == "STOPPED" {
				stopped = append(stopped, stoppedTask(t))
			}
		}
	}
	slices.SortStableFunc(stopped, func(a, b sluice.StoppedTask) int { return a.StoppedAt.Compare(b.StoppedAt) })
	return stopped, nil
}

// tasks lists the tasks of a task set. There is no call for it: each task's
// startedBy is the id of its set, and that filter stands alone.
func (s Service) tasks(ctx context.Context, taskSet string, status ecstypes.DesiredStatus) ([]string, error) {
	var arns []string
	in := &awsecs.ListTasksInput{Cluster: aws.String(s.Cluster), StartedBy: aws.String(taskSet), DesiredStatus: status}
	for {
		out, err := s.API.ListTasks(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list tasks of task set %s: %w", taskSet, sluice.Inner(err))
		}
		arns = append(arns, out.TaskArns...)
		if aws.ToString(out.NextToken) == "" {
			return arns, nil
		}
		in.NextToken = out.NextToken
	}
}

func stoppedTask(t ecstypes.Task) sluice.StoppedTask {
	s := sluice.StoppedTask{
		ID: sluice.ARNName(aws.ToString(t.TaskArn)), StopCode: string(t.StopCode),
		StoppedReason: aws.ToString(t.StoppedReason), StoppedAt: aws.ToTime(t.StoppedAt),
	}
	for _, c := range t.Containers {
		code := aws.ToInt32(c.ExitCode)
		explains := c.Reason != nil || c.ExitCode != nil && code != 0
		if s.Container == "" && explains {
			s.Container, s.ContainerReason = aws.ToString(c.Name), aws.ToString(c.Reason)
			if c.ExitCode != nil {
				exit := int(code)
				s.ExitCode = &exit
			}
		}
	}
	return s
}
