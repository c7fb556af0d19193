package ecs

import (
	"context"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const maxTasks = 100

// taskIn returns a task of a cluster by id or ARN.
func taskIn(tx *world.Tx, c *world.Cluster, id string) (*world.Task, bool) {
	arn := id
	if !isARN(id) {
		arn = tx.ARN("ecs", "task/"+c.Name+"/"+id)
	}
	t, ok := tx.Tasks.Get(arn)
	if !ok || t.Cluster != c {
		return nil, false
	}
	return t, true
}

// checkTaskIDs rejects ids that no task can have: task ids have 32 characters, or 36 if they were
// created before 2019.
func checkTaskIDs(ids ...string) error {
	for _, id := range ids {
		if n := len(lastSegment(id)); n != 32 && n != 36 {
			return invalidParameter("taskId length should be one of [32,36]")
		}
	}
	return nil
}

// DescribeTasks returns up to 100 tasks by id or ARN, including stopped ones for an hour.
func (s *Service) DescribeTasks(ctx context.Context, in *awsecs.DescribeTasksInput) (*awsecs.DescribeTasksOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DescribeTasksOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		switch {
		case err != nil:
			return nil, err
		case len(in.Tasks) == 0:
			return nil, invalidParameter("Tasks cannot be empty.")
		case len(in.Tasks) > maxTasks:
			return nil, invalidParameter("Tasks cannot have more than %d elements.", maxTasks)
		}
		if err := checkTaskIDs(in.Tasks...); err != nil {
			return nil, err
		}
		out := &awsecs.DescribeTasksOutput{Tasks: []ecstypes.Task{}, Failures: []ecstypes.Failure{}}
		for _, id := range in.Tasks {
			if t, ok := taskIn(tx, c, id); ok {
				out.Tasks = append(out.Tasks, *showTask(t, hasItem(in.Include, "TAGS")))
				continue
			}
			arn := id
			if !isARN(id) {
				arn = tx.ARN("ecs", "task/"+c.Name+"/"+id)
			}
			out.Failures = append(out.Failures, missingFailure(arn))
		}
		return out, nil
	})
}

// ListTasks lists the tasks of a cluster, 100 at a time. It lists tasks with desired status RUNNING
// unless desiredStatus is given. startedBy cannot be combined with another filter.
func (s *Service) ListTasks(ctx context.Context, in *awsecs.ListTasksInput) (*awsecs.ListTasksOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListTasksOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		is, err := filterOf(tx, c, in)
		if err != nil {
			return nil, err
		}
		var arns []string
		for _, t := range tx.Tasks.All() {
			if t.Cluster == c && is(t) {
				arns = append(arns, t.ARN)
			}
		}
		page, next, err := pageOf(arns, in.NextToken, int(val(in.MaxResults)), maxTasks)
		return &awsecs.ListTasksOutput{TaskArns: page, NextToken: next}, err
	})
}

func filterOf(tx *world.Tx, c *world.Cluster, in *awsecs.ListTasksInput) (func(*world.Task) bool, error) {
	others := val(in.ServiceName) != "" || val(in.Family) != "" || val(in.ContainerInstance) != "" ||
		val(in.DaemonName) != "" ||
		in.DesiredStatus != "" || in.LaunchType != ""
	if val(in.StartedBy) != "" && others {
		return nil, invalidParameter("cannot specify startedBy with other filters.")
	}
	desired := string(in.DesiredStatus)
	if desired == "" {
		desired = "RUNNING"
	}
	var group string
	if id := val(in.ServiceName); id != "" {
		svc, ok := serviceIn(tx, c, id)
		if !ok {
			return nil, world.Refuse("ServiceNotFoundException", "Service not found.")
		}
		group = "service:" + svc.Name
	}
	nowhere := val(in.DaemonName) != ""
	return func(t *world.Task) bool {
		return !nowhere && isOn(t, val(in.ContainerInstance)) && t.DesiredStatus == desired &&
			(val(in.StartedBy) == "" || t.StartedBy == *in.StartedBy) &&
			(val(in.Family) == "" || t.Definition.Family == *in.Family) &&
			(in.LaunchType == "" || t.LaunchType == string(in.LaunchType)) &&
			(group == "" || t.Service != nil && t.Group == group)
	}, nil
}

// isOn reports whether a task runs on the container instance of that id or ARN; every task is on "".
func isOn(t *world.Task, instance string) bool {
	return instance == "" || t.Instance != nil && lastSegment(t.Instance.ARN) == lastSegment(instance)
}
