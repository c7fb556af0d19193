package ecs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// PrimaryDeployment returns the id of the newest deployment of a rolling service,
// "ecs-svc/<digits>", and its revision.
func (l *ServiceState) PrimaryDeployment() (id, revision string) {
	if d := primaryDeployment(l.Raw); d != nil {
		return aws.ToString(d.Id), sluice.RevisionOf(aws.ToString(d.TaskDefinition))
	}
	return "", ""
}

// PrimaryCreated returns when AWS created the newest deployment of a rolling service; zero if there
// is none.
func (l *ServiceState) PrimaryCreated() time.Time {
	if d := primaryDeployment(l.Raw); d != nil {
		return aws.ToTime(d.CreatedAt)
	}
	return time.Time{}
}

// DeploymentInProgress reports whether ECS is still rolling out the newest deployment.
func (l *ServiceState) DeploymentInProgress() bool {
	d := primaryDeployment(l.Raw)
	return d != nil && d.RolloutState == ecstypes.DeploymentRolloutStateInProgress
}

// DeploymentFailed reports whether ECS has given up the newest deployment of a rolling service and
// starts no more tasks.
func (l *ServiceState) DeploymentFailed() bool {
	d := primaryDeployment(l.Raw)
	return d != nil && d.RolloutState == ecstypes.DeploymentRolloutStateFailed
}

// CurrentDeployment returns the ARN of the current service deployment; "" if AWS returns none.
func (l *ServiceState) CurrentDeployment() string {
	return aws.ToString(l.Raw.CurrentServiceDeployment)
}

// CreateRolling creates the service with deployment controller ECS.
func (s Service) CreateRolling(ctx context.Context, act sluice.Act, id sluice.ActionID, want awsecs.CreateServiceInput,
	rev Revision, tags map[string]string) error {
	want.Cluster, want.ServiceName, want.ClientToken = aws.String(s.Cluster), aws.String(s.Name), aws.String(id.Token())
	want.TaskDefinition, want.Role = aws.String(rev.ARN), nonEmpty(want.Role)
	want.Tags = mergeTags(want.Tags, tags)
	if want.DesiredCount == nil && want.SchedulingStrategy != ecstypes.SchedulingStrategyDaemon {
		want.DesiredCount = aws.Int32(1)
	}
	w := sluice.Write{Operation: "ecs:CreateService", Resource: s.Resource()}
	return act(ctx, sluice.Attempt{Action: "create service", Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			_, err := s.API.CreateService(ctx, &want)
			return rev.Name, err
		})
}

// UpdateRolling requests a rolling deployment of the revision with the attributes of u. force
// requests a new deployment even if nothing changes. One call makes all changes, so there is one
// deployment. The returned state is newer than what AWS returns to reads for the next seconds. It
// is nil if AWS returns no service.
func (s Service) UpdateRolling(ctx context.Context, act sluice.Act, action string, rev Revision, u Update,
	force bool) (now *ServiceState, err error) {
	in := u.Values
	in.Cluster, in.Service, in.TaskDefinition, in.ForceNewDeployment = aws.String(s.Cluster), aws.String(s.Name),
		aws.String(rev.ARN), force || u.NeedsNewDeployment()
	w := sluice.Write{Operation: "ecs:UpdateService", Resource: s.Resource()}
	err = act(ctx, sluice.Attempt{Action: action, Planned: w, Actual: w}, func(ctx context.Context) (string, error) {
		out, err := s.API.UpdateService(ctx, &in)
		if err == nil && out.Service != nil {
			now = newState(*out.Service)
		}
		return rev.Name, err
	})
	return now, err
}

// TargetGroups returns the ARNs of the service's target groups with controller ECS, and of those to which ECS's own
// strategies shift the requests: either of a pair may have the tasks.
func (l *ServiceState) TargetGroups() []string {
	return ScopeOf(ecstypes.Service{LoadBalancers: l.Raw.LoadBalancers}).Groups
}

// ListsDeployment reports whether the service still lists the deployment with that id.
func (l *ServiceState) ListsDeployment(id string) bool {
	return slices.ContainsFunc(l.Raw.Deployments, func(d ecstypes.Deployment) bool { return aws.ToString(d.Id) == id })
}

// StopDeployment stops a running service deployment with its rollback. A deployment that has ended
// is no error: stopped is false then.
func (s Service) StopDeployment(ctx context.Context, act sluice.Act, label, arn string) (stopped bool, err error) {
	a := sluice.Attempt{Action: "stop " + label,
		Planned: sluice.Write{Operation: "ecs:StopServiceDeployment", Resource: label},
		Actual:  sluice.Write{Operation: "ecs:StopServiceDeployment", Resource: arn}}
	err = act(ctx, a, func(ctx context.Context) (string, error) {
		_, err := s.API.StopServiceDeployment(ctx, &awsecs.StopServiceDeploymentInput{
			ServiceDeploymentArn: aws.String(arn), StopType: ecstypes.StopServiceDeploymentStopTypeRollback})
		var over *ecstypes.ConflictException
		var gone *ecstypes.ServiceDeploymentNotFoundException
		if errors.As(err, &over) || errors.As(err, &gone) {
			return "already ended", nil
		}
		stopped = err == nil
		return "ROLLBACK", err
	})
	return stopped, err
}

// RunningDeployment returns the ARN of the running service deployment that can be stopped, or "".
func (s Service) RunningDeployment(ctx context.Context) (string, error) {
	out, err := s.API.ListServiceDeployments(ctx, &awsecs.ListServiceDeploymentsInput{
		Cluster: aws.String(s.Cluster), Service: aws.String(s.Name), MaxResults: aws.Int32(1),
		Status: []ecstypes.ServiceDeploymentStatus{ecstypes.ServiceDeploymentStatusPending,
			ecstypes.ServiceDeploymentStatusInProgress}})
	if err != nil {
		return "", fmt.Errorf("list service deployments of %s: %w", s.Resource(), sluice.Inner(err))
	}
	if len(out.ServiceDeployments) == 0 {
		return "", nil
	}
	return aws.ToString(out.ServiceDeployments[0].ServiceDeploymentArn), nil
}
