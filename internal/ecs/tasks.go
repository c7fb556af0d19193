package ecs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// Task is the state of a task in one read.
type Task struct {
	ID        string    `json:"id"` // the last part of the ARN
	ARN       string    `json:"arn"`
	StartedBy string    `json:"-"`                 // task set or deployment, "ecs-svc/<digits>"
	Revision  string    `json:"revision"`          // family:revision
	Status    string    `json:"status"`            // lastStatus: PENDING, RUNNING …
	Health    string    `json:"health"`            // HEALTHY, UNHEALTHY, UNKNOWN: of its containers' health checks
	Address   string    `json:"address,omitempty"` // private address; empty before it has one
	Zone      string    `json:"zone,omitempty"`    // Availability Zone
	CreatedAt time.Time `json:"created"`
	StartedAt time.Time `json:"started,omitzero"` // zero before it runs
	// AllowsExec is whether commands may run in it by ECS Exec.
	AllowsExec bool `json:"-"`
	// Containers is the health of each container, by name.
	Containers map[string]string `json:"-"`
	// Images are those that the containers run, by the container's name.
	Images map[string]RunningImage `json:"-"`
}

// RunningImage is the image that a container runs.
type RunningImage struct {
	Name   string // as the task definition names it
	Digest string // to which ECS resolved it; empty: AWS does not show it
}

// UnhealthyStates returns the health of its containers that are not HEALTHY.
func (t Task) UnhealthyStates() []string {
	var all []string
	for _, health := range t.Containers {
		if health != "HEALTHY" {
			all = append(all, health)
		}
	}
	return all
}

func containerHealth(t ecstypes.Task) map[string]string {
	all := make(map[string]string, len(t.Containers))
	for _, c := range t.Containers {
		all[aws.ToString(c.Name)] = string(c.HealthStatus)
	}
	return all
}

func imagesOf(t ecstypes.Task) map[string]RunningImage {
	all := make(map[string]RunningImage, len(t.Containers))
	for _, c := range t.Containers {
		all[aws.ToString(c.Name)] = RunningImage{aws.ToString(c.Image), aws.ToString(c.ImageDigest)}
	}
	return all
}

// ServingTasks returns the running tasks of the PRIMARY task set of a service, or of its newest deployment.
func (s Service) ServingTasks(ctx context.Context, of ecstypes.Service) ([]Task, error) {
	starter := ""
	if d := primaryDeployment(of); d != nil {
		starter = aws.ToString(d.Id)
	}
	for _, set := range of.TaskSets {
		if aws.ToString(set.Status) == "PRIMARY" {
			starter = aws.ToString(set.Id)
		}
	}
	all, err := s.Tasks(ctx)
	return slices.DeleteFunc(all, func(t Task) bool { return t.StartedBy != starter || t.Status != "RUNNING" }), err
}

// Tasks returns the tasks of the service whose desired status is not STOPPED.
func (s Service) Tasks(ctx context.Context) ([]Task, error) {
	return s.tasksOf(ctx, awsecs.ListTasksInput{ServiceName: aws.String(s.Name)})
}

// RunsRevision returns a check of the id of a task: whether the task belongs to the service, and runs the revision.
func (s Service) RunsRevision(ctx context.Context, revision string) (func(id string) bool, error) {
	tasks, err := s.Tasks(ctx)
	return func(id string) bool {
		return slices.ContainsFunc(tasks, func(t Task) bool {
			return t.ID == id && t.Status == "RUNNING" && t.Revision == revision
		})
	}, err
}

// TasksOfFamily returns the tasks of a family in the cluster whose desired status is not STOPPED.
func (s Service) TasksOfFamily(ctx context.Context, family string) ([]Task, error) {
	return s.tasksOf(ctx, awsecs.ListTasksInput{Family: &family})
}

func (s Service) tasksOf(ctx context.Context, in awsecs.ListTasksInput) ([]Task, error) {
	arns, err := s.listTasks(ctx, in)
	if err != nil {
		return nil, err
	}
	tasks, err := s.describeTasks(ctx, arns)
	all := make([]Task, 0, len(tasks))
	for _, t := range tasks {
		if aws.ToString(t.DesiredStatus) == "STOPPED" {
			continue // stopped after the list was read
		}
		all = append(all, Task{
			ARN: aws.ToString(t.TaskArn), ID: sluice.ARNName(aws.ToString(t.TaskArn)),
			StartedBy: aws.ToString(t.StartedBy),
			Status:    aws.ToString(t.LastStatus), Health: string(t.HealthStatus),
			Revision: sluice.RevisionOf(aws.ToString(t.TaskDefinitionArn)),
			Address:  addressOf(t), Zone: aws.ToString(t.AvailabilityZone), CreatedAt: aws.ToTime(t.CreatedAt),
			StartedAt:  aws.ToTime(t.StartedAt),
			Containers: containerHealth(t), Images: imagesOf(t), AllowsExec: t.EnableExecuteCommand,
		})
	}
	return all, err
}

// Addresses returns the private addresses of the tasks of the service, including stopping ones. A
// service that does not exist has none.
func (s Service) Addresses(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	for _, status := range []ecstypes.DesiredStatus{ecstypes.DesiredStatusRunning, ecstypes.DesiredStatusStopped} {
		arns, err := s.listTasks(ctx, awsecs.ListTasksInput{ServiceName: aws.String(s.Name), DesiredStatus: status})
		if sluice.KindOf(err) == sluice.NotFound {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		tasks, err := s.describeTasks(ctx, arns)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			if a := addressOf(t); a != "" {
				all[a] = true
			}
		}
	}
	return all, nil
}

// StoppedTasks returns which of the tasks are stopping or have stopped. ECS no longer returns them
// an hour later. If Confirm is set, two reads must agree that a task is not returned: one read may be
// older than the task.
func (s Service) StoppedTasks(ctx context.Context, ids []string) ([]string, error) {
	stopped, missing, err := s.splitStopped(ctx, ids)
	if err != nil || len(missing) == 0 || s.Confirm == nil {
		return append(stopped, missing...), err
	}
	if err := s.Confirm(ctx); err != nil {
		return nil, err
	}
	again, missing, err := s.splitStopped(ctx, missing)
	return slices.Concat(stopped, again, missing), err
}

// splitStopped reads the tasks once. It returns those that are stopping or have stopped, and those that ECS does not
// return.
func (s Service) splitStopped(ctx context.Context, ids []string) (stopped, missing []string, err error) {
	tasks, err := s.describeTasks(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	wanted := map[string]string{}
	for _, t := range tasks {
		wanted[sluice.ARNName(aws.ToString(t.TaskArn))] = aws.ToString(t.DesiredStatus)
	}
	for _, id := range ids {
		switch status, found := wanted[id]; {
		case !found:
			missing = append(missing, id)
		case status == "STOPPED":
			stopped = append(stopped, id)
		}
	}
	return stopped, missing, nil
}

// LaunchTimes returns the median time that the running tasks of the service took from creation to
// start; 0 if none runs. zones is the number of Availability Zones of the tasks.
func (s Service) LaunchTimes(ctx context.Context) (start time.Duration, zones int, err error) {
	tasks, err := s.Tasks(ctx)
	seen := map[string]bool{}
	var all []time.Duration
	for _, t := range tasks {
		if t.Zone != "" {
			seen[t.Zone] = true
		}
		if took := t.StartedAt.Sub(t.CreatedAt); !t.StartedAt.IsZero() && took > 0 {
			all = append(all, took)
		}
	}
	if len(all) > 0 {
		slices.Sort(all)
		start = all[len(all)/2].Round(time.Second)
	}
	return start, len(seen), err
}

// TaskSetsTagged returns the ids of the task sets of the service whose tags fit. DescribeServices
// does not guarantee the tags of task sets, so it calls DescribeTaskSets.
func (s Service) TaskSetsTagged(ctx context.Context, fit func(tags map[string]string) bool) ([]string, error) {
	out, err := s.API.DescribeTaskSets(ctx, &awsecs.DescribeTaskSetsInput{
		Cluster: aws.String(s.Cluster), Service: aws.String(s.Name),
		Include: []ecstypes.TaskSetField{ecstypes.TaskSetFieldTags}})
	if err != nil {
		return nil, fmt.Errorf("read task sets of %s: %w", s.Resource(), sluice.Inner(err))
	}
	var ids []string
	for _, ts := range out.TaskSets {
		if fit(tagMap(ts.Tags)) {
			ids = append(ids, aws.ToString(ts.Id))
		}
	}
	return ids, nil
}
