package ecs

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// StoppedReader returns each stopped or stopping task of a service once, as soon as AWS gives the
// reason. The zero value has read nothing.
type StoppedReader struct {
	returned map[string]bool // ARNs of tasks that were returned
}

// Update returns the tasks that stopped since the last Update, oldest first. AWS lists stopped
// tasks for about an hour.
func (f *StoppedReader) Update(ctx context.Context, s Service) ([]diagnosis.Stopped, error) {
	arns, err := s.listTasks(ctx, awsecs.ListTasksInput{ServiceName: aws.String(s.Name),
		DesiredStatus: ecstypes.DesiredStatusStopped})
	if err != nil {
		return nil, err
	}
	arns = slices.DeleteFunc(arns, func(arn string) bool { return f.returned[arn] })
	tasks, err := s.describeTasks(ctx, arns)
	var fallen []diagnosis.Stopped
	for _, t := range tasks {
		if !hasStopReason(t) {
			continue
		}
		if f.returned == nil {
			f.returned = map[string]bool{}
		}
		f.returned[aws.ToString(t.TaskArn)] = true
		fallen = append(fallen, newStoppedTask(t))
	}
	sortByStop(fallen)
	return fallen, err
}

// StoppedOfRevision returns the tasks of a revision that stopped, of every service, oldest first. AWS lists stopped tasks
// for about an hour. It lists those of a deleted service by their family only.
func (s Service) StoppedOfRevision(ctx context.Context, revision string) ([]diagnosis.Stopped, error) {
	family, _, _ := strings.Cut(revision, ":")
	arns, err := s.listTasks(ctx, awsecs.ListTasksInput{Family: aws.String(family),
		DesiredStatus: ecstypes.DesiredStatusStopped})
	if err != nil {
		return nil, err
	}
	tasks, err := s.describeTasks(ctx, arns)
	var stopped []diagnosis.Stopped
	for _, t := range tasks {
		x := newStoppedTask(t)
		if hasStopReason(t) && x.Revision == revision && strings.HasPrefix(x.Deployment, "ecs-svc/") { // not run by itself
			stopped = append(stopped, x)
		}
	}
	sortByStop(stopped)
	return stopped, err
}

// ReadSurvival reads whether a version of the service works, by its tasks that stopped and those that run. events are
// those of the service.
func (s Service) ReadSurvival(ctx context.Context, now time.Time, revision string, events []diagnosis.Event) (
	verdict.Survival, error) {
	stopped, err := (&StoppedReader{}).Update(ctx, s)
	if err != nil {
		return verdict.Survival{}, err
	}
	stopped = slices.DeleteFunc(stopped, func(t diagnosis.Stopped) bool { return t.Revision != revision })
	return s.JudgeSurvival(ctx, now, revision, stopped, events, nil)
}

// JudgeSurvival judges a version by its stopped tasks. Only if enough have failed, it reads those that run: those that
// own selects, or all if it is nil.
func (s Service) JudgeSurvival(ctx context.Context, now time.Time, revision string, stopped []diagnosis.Stopped,
	events []diagnosis.Event, own func(Task) bool) (verdict.Survival, error) {
	if v := verdict.JudgeSurvival(now, stopped, events, nil); v.Works {
		return v, nil
	}
	tasks, err := s.Tasks(ctx)
	tasks = slices.DeleteFunc(tasks, func(t Task) bool { return own != nil && !own(t) })
	return verdict.JudgeSurvival(now, stopped, events, WorkingSince(tasks, revision)), err
}

// WorkingSince returns since when each task of a revision runs whose health checks do not fail.
func WorkingSince(tasks []Task, revision string) (all []time.Time) {
	for _, t := range tasks {
		if t.Revision == revision && t.Status == "RUNNING" && t.Health != "UNHEALTHY" {
			all = append(all, t.StartedAt)
		}
	}
	return all
}

// sortByStop sorts tasks by the time at which they stopped.
func sortByStop(all []diagnosis.Stopped) {
	slices.SortStableFunc(all, func(a, b diagnosis.Stopped) int { return a.StoppedAt.Compare(b.StoppedAt) })
}

// hasStopReason reports whether the task has stopped, or is stopping and AWS has given the final
// reason.
func hasStopReason(t ecstypes.Task) bool {
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
