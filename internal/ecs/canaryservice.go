package ecs

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// CanaryService hosts the canary as a service of its own, next to a service that ECS rolls. Its
// name is the name of that service with a suffix. The tag [plan.CanaryTag] shows that sluice
// created it, and which action did.
type CanaryService struct{ Service }

// CanarySpec describes the requested canary service.
type CanarySpec struct {
	By         sluice.ActionID           // its identity: tag and client token
	Template   awsecs.CreateServiceInput // see definition.Beside
	Revision   Revision
	Count      int // of tasks
	Attach     Attachment
	ForceWrite bool // write even if the read matches: the read may be older than an earlier write of sluice
}

// CreatedBy returns the action that created the service or took it over. It returns "" if sluice
// did neither.
func (l *ServiceState) CreatedBy() sluice.ActionID {
	if made := l.Tags[plan.CanaryTag]; plan.IsSluiceID(made) {
		return sluice.ActionID(made)
	}
	return ""
}

// IsActive reports whether the service exists and is not being deleted.
func (l *ServiceState) IsActive() bool { return l != nil && l.Status == "ACTIVE" }

// IsDraining reports whether the service is being deleted.
func (l *ServiceState) IsDraining() bool { return l != nil && l.Status == "DRAINING" }

// ClaimValue returns the value of the claim tag. AWS keeps the tags of a deleted service for a while; its claim protects
// nothing, so it returns "" for a service that is deleted or being deleted.
func (l *ServiceState) ClaimValue() string {
	if !l.IsActive() {
		return ""
	}
	return l.Tags[plan.ClaimTag]
}

// EnsureService creates the canary service or updates it to the revision and the count. It takes
// over a service that an earlier deployment left, together with its requests. It refuses a service
// that sluice did not create. found reports whether this action had created the service before.
func (b CanaryService) EnsureService(ctx context.Context, act sluice.Act, w CanarySpec) (now *ServiceState, found bool,
	err error) {
	for attempt := 1; ; attempt++ {
		live, err := b.Observe(ctx)
		switch {
		case err != nil:
			return nil, false, err
		case live.IsActive():
			return b.updateTo(ctx, act, live, w)
		}
		now, err = b.createService(ctx, act, w)
		if err == nil || !errors.Is(err, sluice.ErrUnanswered) || attempt == MaxTries {
			return now, false, err
		}
	}
}

func (b CanaryService) createService(ctx context.Context, act sluice.Act, w CanarySpec) (now *ServiceState, err error) {
	in := w.Template
	in.Cluster, in.ServiceName, in.ClientToken = aws.String(b.Cluster), aws.String(b.Name), aws.String(w.By.Token())
	in.TaskDefinition, in.DesiredCount = aws.String(w.Revision.ARN), aws.Int32(int32(w.Count))
	in.Tags = mergeTags(in.Tags, b.ownerTag(w))
	if in.LoadBalancers = w.Attach.loadBalancers(); in.LoadBalancers == nil {
		in.HealthCheckGracePeriodSeconds = nil // AWS rejects it without a load balancer
	}
	write := sluice.Write{Operation: "ecs:CreateService", Resource: b.Resource()}
	err = act(ctx, sluice.Attempt{Action: "create canary service", Planned: write, Actual: write},
		func(ctx context.Context) (string, error) {
			out, err := b.API.CreateService(ctx, &in)
			if err != nil {
				return "", err
			}
			now = newState(*out.Service)
			return fmt.Sprintf("%s at %s", w.Revision.Name, sluice.Plural(w.Count, "task")), nil
		})
	return now, err
}

func (b CanaryService) ownerTag(w CanarySpec) map[string]string {
	return map[string]string{plan.CanaryTag: string(w.By)}
}

// updateTo updates an existing service to the requested one.
func (b CanaryService) updateTo(ctx context.Context, act sluice.Act, now *ServiceState, w CanarySpec) (*ServiceState,
	bool, error) {
	maker := now.CreatedBy()
	if maker == "" {
		return nil, false, &sluice.Error{Op: "create the canary service", Resource: b.Resource(), Kind: sluice.Conflict,
			Err:  errors.New("a service of that name exists, and sluice did not create it"),
			Next: "rename that service, or the one that is deployed"}
	}
	if maker != w.By || w.ForceWrite {
		if err := b.Tag(ctx, act, "take over the canary service", now.ARN, b.ownerTag(w)); err != nil {
			return nil, false, err
		}
	}
	if _, revision := now.PrimaryDeployment(); !w.ForceWrite && revision == w.Revision.Name && now.Desired == w.Count &&
		now.isInGroup(w.Attach) {
		return now, maker == w.By, nil
	}
	in := awsecs.UpdateServiceInput{Cluster: aws.String(b.Cluster), Service: aws.String(b.Name),
		TaskDefinition: aws.String(w.Revision.ARN), DesiredCount: aws.Int32(int32(w.Count))}
	if !now.isInGroup(w.Attach) {
		in.LoadBalancers = append([]ecstypes.LoadBalancer{}, w.Attach.loadBalancers()...)
	}
	after, err := b.updateService(ctx, act, "update the canary service to "+w.Revision.Name, in)
	if after == nil {
		after = now
	}
	return after, maker == w.By, err
}

// isInGroup reports whether the service's tasks are in the target group and in no other.
func (l *ServiceState) isInGroup(a Attachment) bool {
	var groups []string
	for _, lb := range l.Raw.LoadBalancers {
		groups = append(groups, aws.ToString(lb.TargetGroupArn))
	}
	if a.TargetGroup == "" {
		return len(groups) == 0
	}
	return len(groups) == 1 && groups[0] == a.TargetGroup
}

// SetCount sets the desired count of the canary service. A service that does not exist has no tasks, so 0 is
// no error then.
func (b CanaryService) SetCount(ctx context.Context, act sluice.Act, count int) error {
	in := awsecs.UpdateServiceInput{Cluster: aws.String(b.Cluster), Service: aws.String(b.Name),
		DesiredCount: aws.Int32(int32(count))}
	w := sluice.Write{Operation: "ecs:UpdateService", Resource: b.Resource()}
	return act(ctx, sluice.Attempt{Action: "scale the canary service", Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			_, err := b.API.UpdateService(ctx, &in)
			if count == 0 && IsDeleted(err) {
				return "already deleted", nil
			}
			return sluice.Plural(count, "task"), err
		})
}

// IsDeleted reports whether a write was refused because the service is being deleted or does not exist.
func IsDeleted(err error) bool {
	var gone *ecstypes.ServiceNotFoundException
	var going *ecstypes.ServiceNotActiveException
	return errors.As(err, &gone) || errors.As(err, &going)
}

func (b CanaryService) updateService(ctx context.Context, act sluice.Act, action string,
	in awsecs.UpdateServiceInput) (now *ServiceState, err error) {
	w := sluice.Write{Operation: "ecs:UpdateService", Resource: b.Resource()}
	err = act(ctx, sluice.Attempt{Action: action, Planned: w, Actual: w}, func(ctx context.Context) (string, error) {
		out, err := b.API.UpdateService(ctx, &in)
		if err == nil && out.Service != nil {
			now = newState(*out.Service)
		}
		return sluice.Plural(int(aws.ToInt32(in.DesiredCount)), "task"), err
	})
	return now, err
}

// Remove deletes the canary service. A service that does not exist is no error. After a lost
// response Remove reads the service, because the name may belong to a new service by then. It
// deletes again only a service that maker created.
func (b CanaryService) Remove(ctx context.Context, act sluice.Act, maker sluice.ActionID) error {
	for attempt := 1; ; attempt++ {
		err := b.deleteOnce(ctx, act)
		if err == nil || !errors.Is(err, sluice.ErrUnanswered) || attempt == MaxTries {
			return err
		}
		now, err := b.observeDeleted(ctx)
		if err != nil || !now.IsActive() || now.CreatedBy() != maker {
			return err
		}
	}
}

// observeDeleted reads the service after a call that perhaps deleted it. AWS returns a deleted service for a while,
// DRAINING and INACTIVE. So a response without the service is probably from before its creation, and is read again.
func (b CanaryService) observeDeleted(ctx context.Context) (now *ServiceState, err error) {
	for n := 1; ; n++ {
		now, err = b.Observe(ctx)
		if err != nil || now != nil || n == MaxTries {
			return now, err
		}
	}
}

func (b CanaryService) deleteOnce(ctx context.Context, act sluice.Act) error {
	w := sluice.Write{Operation: "ecs:DeleteService", Resource: b.Resource()}
	return act(ctx, sluice.Attempt{Action: "delete canary service", Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			_, err := b.API.DeleteService(ctx, &awsecs.DeleteServiceInput{Cluster: aws.String(b.Cluster),
				Service: aws.String(b.Name), Force: aws.Bool(true)})
			if IsDeleted(err) {
				return "already deleted", nil
			}
			return "DRAINING", err
		})
}

// AsTaskSet returns the newest deployment of a rolling service in the form of a task set: its
// counts, and the id in startedBy of its tasks. Tasks of older deployments count as pending,
// because the service is not steady while they exist. ok is false while AWS lists no deployment.
func (l *ServiceState) AsTaskSet() (set sluice.TaskSet, ok bool) {
	d := primaryDeployment(l.Raw)
	if d == nil {
		return sluice.TaskSet{ARN: l.ARN, Status: l.Status, Desired: l.Desired, Running: l.Running, Pending: l.Pending},
			false
	}
	set = sluice.TaskSet{ID: aws.ToString(d.Id), ARN: l.ARN, Status: l.Status,
		Revision:   sluice.RevisionOf(aws.ToString(d.TaskDefinition)),
		ExternalID: string(l.CreatedBy()), Scale: 100, Desired: l.Desired, Running: int(d.RunningCount),
		Pending:   int(d.PendingCount),
		CreatedAt: aws.ToTime(d.CreatedAt), Tags: l.Tags}
	for _, other := range l.Raw.Deployments {
		if aws.ToString(other.Id) != set.ID {
			set.Pending += int(other.RunningCount + other.PendingCount)
		}
	}
	set.Steady = len(l.Raw.Deployments) == 1 && set.Running == set.Desired && set.Pending == 0 &&
		d.RolloutState == ecstypes.DeploymentRolloutStateCompleted
	if len(l.Raw.LoadBalancers) > 0 {
		set.TargetGroup = aws.ToString(l.Raw.LoadBalancers[0].TargetGroupArn)
	}
	return set, true
}
