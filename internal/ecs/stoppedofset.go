package ecs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// describeBatch is the maximum number of tasks per DescribeTasks call (ECS API Reference).
const describeBatch = 100

// StoppedOfSet returns each stopped task of one task set once. The zero value has read nothing.
type StoppedOfSet struct {
	seen     map[string]bool // ARNs of tasks that were read when they had stopped
	stopping int
}

// CountStopping returns how many tasks of the set ECS has told to stop, although they still count as
// running, as of the last Update.
func (p *StoppedOfSet) CountStopping() int { return p.stopping }

// Update returns the tasks of the set that stopped since the last Update, oldest first, as soon as AWS has given the
// final reason. AWS lists stopped tasks for about an hour. It cannot list the stopped tasks of a task set, because
// startedBy allows no other filter. Update therefore lists those of the service.
func (p *StoppedOfSet) Update(ctx context.Context, s Service, taskSet string) ([]diagnosis.Stopped, error) {
	arns, err := s.listTasks(ctx, awsecs.ListTasksInput{ServiceName: aws.String(s.Name),
		DesiredStatus: ecstypes.DesiredStatusStopped})
	if err != nil {
		return nil, err
	}
	arns = slices.DeleteFunc(arns, func(arn string) bool { return p.seen[arn] })
	tasks, err := s.describeTasks(ctx, arns)
	var stopped []diagnosis.Stopped
	p.stopping = 0
	for _, t := range tasks {
		if aws.ToString(t.LastStatus) == "RUNNING" {
			if aws.ToString(t.StartedBy) == taskSet {
				p.stopping++
			}
			continue
		}
		if !hasStopReason(t) {
			continue
		}
		if p.seen == nil {
			p.seen = map[string]bool{}
		}
		p.seen[aws.ToString(t.TaskArn)] = true
		if aws.ToString(t.StartedBy) == taskSet {
			stopped = append(stopped, newStoppedTask(t))
		}
	}
	sortByStop(stopped)
	return stopped, err
}

func (s Service) listTasks(ctx context.Context, in awsecs.ListTasksInput) ([]string, error) {
	in.Cluster = aws.String(s.Cluster)
	var arns []string
	for {
		out, err := s.API.ListTasks(ctx, &in)
		if err != nil {
			return nil, fmt.Errorf("list tasks of %s: %w", s.Resource(), sluice.Inner(err))
		}
		arns = append(arns, out.TaskArns...)
		if aws.ToString(out.NextToken) == "" {
			return arns, nil
		}
		in.NextToken = out.NextToken
	}
}

// describeTasks reads tasks in as few calls as AWS allows. The result omits tasks that AWS does not
// know yet or any more.
func (s Service) describeTasks(ctx context.Context, arns []string) ([]ecstypes.Task, error) {
	var tasks []ecstypes.Task
	for batch := range slices.Chunk(arns, describeBatch) {
		out, err := s.API.DescribeTasks(ctx, &awsecs.DescribeTasksInput{Cluster: aws.String(s.Cluster), Tasks: batch})
		if err != nil {
			return tasks, fmt.Errorf("read tasks of %s: %w", s.Resource(), sluice.Inner(err))
		}
		tasks = append(tasks, out.Tasks...)
	}
	return tasks, nil
}

func newStoppedTask(t ecstypes.Task) diagnosis.Stopped {
	s := sluice.StoppedTask{
		ID: sluice.ARNName(aws.ToString(t.TaskArn)), StopCode: string(t.StopCode),
		StoppedReason: aws.ToString(t.StoppedReason), StartedAt: aws.ToTime(t.StartedAt),
		StoppedAt: cmp.Or(aws.ToTime(t.StoppedAt), aws.ToTime(t.ExecutionStoppedAt), aws.ToTime(t.StoppingAt)),
	}
	for _, c := range t.Containers {
		code := aws.ToInt32(c.ExitCode)
		explains := c.Reason != nil || c.ExitCode != nil && code != 0
		if explains && (s.Container == "" || diagnosis.IsWaiting(s.ContainerReason)) {
			s.Container, s.ContainerReason = aws.ToString(c.Name), aws.ToString(c.Reason)
			if c.ExitCode != nil {
				exit := int(code)
				s.ExitCode = &exit
			}
		}
	}
	return diagnosis.Stopped{StoppedTask: s, Deployment: aws.ToString(t.StartedBy),
		Revision: sluice.RevisionOf(aws.ToString(t.TaskDefinitionArn))}
}
