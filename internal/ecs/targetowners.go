package ecs

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// TargetOwners finds out which targets are tasks of one task set, by their addresses. Target groups
// do not return it, and two task sets can share a target group. The zero value is empty.
type TargetOwners struct {
	addresses  map[string]string // task ARN -> private address
	readCounts taskCounts
}

type taskCounts struct{ pending, running int }

// Update reads the addresses of the set's new tasks, if the counts changed since the last read, or if more
// tasks run than targets of known tasks are registered. A task may have replaced another one with unchanged
// counts. The targets are those of the group of the set.
func (r *TargetOwners) Update(ctx context.Context, s Service, set sluice.TaskSet, targets []sluice.Target) error {
	now := taskCounts{set.Pending, set.Running}
	if r.addresses != nil && now == r.readCounts && r.countRegistered(targets) >= set.Running {
		return nil
	}
	arns, err := s.listTasks(ctx, awsecs.ListTasksInput{StartedBy: aws.String(set.ID)})
	if err != nil {
		return err
	}
	known := make(map[string]string, len(arns))
	var fresh []string
	for _, arn := range arns {
		if a := r.addresses[arn]; a != "" {
			known[arn] = a
		} else {
			fresh = append(fresh, arn)
		}
	}
	r.addresses, r.readCounts = known, now
	tasks, err := s.describeTasks(ctx, fresh)
	for _, t := range tasks {
		if a := addressOf(t); a != "" {
			r.addresses[aws.ToString(t.TaskArn)] = a
		}
	}
	return err
}

// countRegistered counts the targets of known tasks. A draining target is that of a task that stops.
func (r *TargetOwners) countRegistered(targets []sluice.Target) (n int) {
	for _, t := range targets {
		if t.State != "draining" && r.Has(t.ID) {
			n++
		}
	}
	return n
}

// addressOf returns the private address of a task's network interface. It returns "" before the
// task has one, and for network modes other than awsvpc.
func addressOf(t ecstypes.Task) string {
	for _, a := range t.Attachments {
		for _, d := range a.Details {
			if aws.ToString(d.Name) == "privateIPv4Address" {
				return aws.ToString(d.Value)
			}
		}
	}
	return ""
}

// Has reports whether the address belongs to one of the set's tasks.
func (r *TargetOwners) Has(address string) bool {
	for _, a := range r.addresses {
		if a == address {
			return true
		}
	}
	return false
}

// StoppingTasks finds the addresses of stopping tasks in a target group. AWS no longer lists
// stopping tasks with their task set. The zero value knows none.
type StoppingTasks struct {
	read  map[string]bool // ARNs of tasks that were described
	other map[string]bool // addresses of tasks of other task sets
	own   map[string]bool // addresses of tasks of the task set
}

// Update reads the addresses of the stopping tasks of the service. It describes each task once.
func (l *StoppingTasks) Update(ctx context.Context, s Service, taskSet string) error {
	arns, err := s.listTasks(ctx, awsecs.ListTasksInput{ServiceName: aws.String(s.Name),
		DesiredStatus: ecstypes.DesiredStatusStopped})
	if err != nil {
		return err
	}
	arns = slices.DeleteFunc(arns, func(arn string) bool { return l.read[arn] })
	tasks, err := s.describeTasks(ctx, arns)
	if l.read == nil {
		l.read, l.other, l.own = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	for _, t := range tasks {
		l.read[aws.ToString(t.TaskArn)] = true
		switch a := addressOf(t); {
		case a == "":
		case aws.ToString(t.StartedBy) == taskSet:
			l.own[a] = true
		default:
			l.other[a] = true
		}
	}
	return err
}

// IsKnown reports whether the address belongs to a task that was read.
func (l *StoppingTasks) IsKnown(address string) bool { return l.own[address] || l.other[address] }

// IsOfOtherSet reports whether the address is known to belong to another task set. Callers wait for
// an unknown address.
func (l *StoppingTasks) IsOfOtherSet(address string) bool { return l.other[address] }
