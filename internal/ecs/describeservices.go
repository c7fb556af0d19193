package ecs

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// ServiceBatch is the maximum number of services per DescribeServices call (ECS API Reference).
const ServiceBatch = 10

// Cluster is the client that reads many services of one cluster.
type Cluster struct {
	API  *awsecs.Client
	Name string // name or ARN; empty is AWS's default
}

// displayName returns the cluster's name for people.
func (c Cluster) displayName() string {
	if c.Name == "" {
		return "default"
	}
	return sluice.ARNName(c.Name)
}

// ReadServices reads up to [ServiceBatch] services by name in one call, completely and with tags.
// The result omits services that AWS does not know.
func (c Cluster) ReadServices(ctx context.Context, names []string) (map[string]*ServiceState, error) {
	in := &awsecs.DescribeServicesInput{Services: names, Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}
	if c.Name != "" {
		in.Cluster = aws.String(c.Name)
	}
	out, err := c.API.DescribeServices(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("read %s of cluster %s: %w", sluice.Plural(len(names), "service"), c.displayName(),
			sluice.Inner(err))
	}
	found := make(map[string]*ServiceState, len(out.Services))
	for _, s := range out.Services {
		found[aws.ToString(s.ServiceName)] = newState(s)
	}
	return found, nil
}

// ForVerdict returns the service in the form that package verdict takes.
func (l *ServiceState) ForVerdict() *verdict.Service {
	s := l.Raw
	v := &verdict.Service{
		ARN: l.ARN, Cluster: sluice.ARNName(aws.ToString(s.ClusterArn)), Name: aws.ToString(s.ServiceName),
		Status: l.Status, Controller: l.Controller, Desired: l.Desired, Running: l.Running, Pending: l.Pending,
		TaskSets: l.TaskSets, Current: l.CurrentDeployment(), Groups: l.TargetGroups(), Events: l.Events(),
	}
	if k, err := plan.ParseClaim(l.ClaimValue()); err == nil {
		v.ClaimedBy, v.ClaimedUntil = k.Deployment, k.Until
	}
	for _, ts := range l.TaskSets {
		if plan.IsSluiceID(ts.ExternalID) {
			v.OwnSets = append(v.OwnSets, ts.ID)
		}
	}
	fillFailureDetection(v, s.DeploymentConfiguration)
	for _, d := range s.Deployments {
		v.Deployments = append(v.Deployments, verdictDeployment(d))
	}
	return v
}

// ForVerdictOrNil is ForVerdict for a read that may be missing.
func (l *ServiceState) ForVerdictOrNil() *verdict.Service {
	if l == nil {
		return nil
	}
	return l.ForVerdict()
}

// Events returns the events of the service, newest first.
func (l *ServiceState) Events() []diagnosis.Event {
	all := make([]diagnosis.Event, 0, len(l.Raw.Events))
	for _, e := range l.Raw.Events {
		all = append(all, diagnosis.Event{ID: aws.ToString(e.Id), Message: aws.ToString(e.Message),
			At: aws.ToTime(e.CreatedAt)})
	}
	return all
}

func fillFailureDetection(v *verdict.Service, c *ecstypes.DeploymentConfiguration) {
	if c == nil {
		return
	}
	v.Strategy = string(c.Strategy)
	v.MinPercent, v.MaxPercent = int(aws.ToInt32(c.MinimumHealthyPercent)), int(aws.ToInt32(c.MaximumPercent))
	v.Bake = time.Duration(aws.ToInt32(c.BakeTimeInMinutes)) * time.Minute
	if b := c.DeploymentCircuitBreaker; b != nil {
		v.Breaker = verdict.FailureDetection{Enabled: b.Enable, Rollback: b.Rollback}
	}
	if a := c.Alarms; a != nil {
		v.Alarms = verdict.FailureDetection{Enabled: a.Enable, Rollback: a.Rollback}
	}
}

func verdictDeployment(d ecstypes.Deployment) verdict.Deployment {
	return verdict.Deployment{
		ID: aws.ToString(d.Id), Status: aws.ToString(d.Status), State: string(d.RolloutState),
		Reason:   aws.ToString(d.RolloutStateReason),
		Revision: sluice.RevisionOf(aws.ToString(d.TaskDefinition)), Desired: int(d.DesiredCount),
		Pending: int(d.PendingCount),
		Running: int(d.RunningCount), Failed: int(d.FailedTasks), CreatedAt: aws.ToTime(d.CreatedAt),
	}
}
