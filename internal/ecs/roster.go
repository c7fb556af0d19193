package ecs

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// Roster tells which targets are tasks of one task set, by their addresses.
// Target groups do not say: two task sets can share one. The zero value is
// empty.
type Roster struct {
	address map[string]string // task ARN -> private address
	at      counts
}

type counts struct{ pending, running int }

// Update learns the addresses of the set's tasks. It reads only what is new.
func (r *Roster) Update(ctx context.Context, s Service, set sluice.TaskSet) error {
	now := counts{set.Pending, set.Running}
	if r.address != nil && now == r.at && len(r.address) >= set.Running {
		return nil
	}
	arns, err := s.list(ctx, awsecs.ListTasksInput{StartedBy: aws.String(set.ID)})
	if err != nil {
		return err
	}
	known := make(map[string]string, len(arns))
	var fresh []string
	for _, arn := range arns {
		if a := r.address[arn]; a != "" {
			known[arn] = a
		} else {
			fresh = append(fresh, arn)
		}
	}
	r.address, r.at = known, now
	tasks, err := s.describe(ctx, fresh)
	for _, t := range tasks {
		if a := addressOf(t); a != "" {
			r.address[aws.ToString(t.TaskArn)] = a
		}
	}
	return err
}

// Cover is Update for looks that are far apart: a task may have taken another's
// place without the counts telling, and then fewer of the targets are known than
// tasks run.
func (r *Roster) Cover(ctx context.Context, s Service, set sluice.TaskSet, targets []sluice.Target) error {
	known := 0
	for _, t := range targets {
		if r.Has(t.ID) {
			known++
		}
	}
	if known < set.Running {
		r.at = counts{-1, -1}
	}
	return r.Update(ctx, s, set)
}

// addressOf is the private address of a task's network interface; empty before
// it has one, and for network modes other than awsvpc.
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

// Has reports whether the address is one of the set's tasks.
func (r *Roster) Has(address string) bool {
	for _, a := range r.address {
		if a == address {
			return true
		}
	}
	return false
}

// Leaving tells whose addresses are leaving a target group: tasks that are being
// stopped are no longer listed with their task set. The zero value knows none.
type Leaving struct {
	read  map[string]bool // ARNs of tasks that were described
	other map[string]bool // addresses of tasks of other task sets
}

// Update learns the addresses of the tasks of the service that are leaving. It
// describes each task once.
func (l *Leaving) Update(ctx context.Context, s Service, taskSet string) error {
	arns, err := s.list(ctx, awsecs.ListTasksInput{ServiceName: aws.String(s.Name), DesiredStatus: ecstypes.DesiredStatusStopped})
	if err != nil {
		return err
	}
	arns = slices.DeleteFunc(arns, func(arn string) bool { return l.read[arn] })
	tasks, err := s.describe(ctx, arns)
	if l.read == nil {
		l.read, l.other = map[string]bool{}, map[string]bool{}
	}
	for _, t := range tasks {
		l.read[aws.ToString(t.TaskArn)] = true
		if a := addressOf(t); a != "" && aws.ToString(t.StartedBy) != taskSet {
			l.other[a] = true
		}
	}
	return err
}

// Other reports whether the address is known to be of another task set. What is
// not known is waited for.
func (l *Leaving) Other(address string) bool { return l.other[address] }
