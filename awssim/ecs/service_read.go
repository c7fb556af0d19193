package ecs

import (
	"context"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxDescribed is how many services one DescribeServices accepts.
const maxDescribed = 10

// DescribeServices returns up to 10 services by name or ARN, and a failure for each unknown one. The
// ARN in a failure is without the cluster if the service was named by its name, as AWS shows it.
func (s *Service) DescribeServices(ctx context.Context,
	in *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DescribeServicesOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		switch {
		case err != nil:
			return nil, err
		case len(in.Services) == 0:
			return nil, invalidParameter("Services cannot be empty.")
		case len(in.Services) > maxDescribed:
			return nil, invalidParameter("Services cannot have more than %d elements.", maxDescribed)
		}
		out := &awsecs.DescribeServicesOutput{Services: []ecstypes.Service{}, Failures: []ecstypes.Failure{}}
		for _, id := range in.Services {
			svc, ok := serviceIn(tx, c, id)
			if !ok {
				arn := id
				if !isARN(id) {
					arn = tx.ARN("ecs", "service/"+id)
				}
				out.Failures = append(out.Failures, missingFailure(arn))
				continue
			}
			d := s.history.showService(svc, false)
			if hasItem(in.Include, "TAGS") {
				d.Tags = shownTags(docOfService(svc).shape.Tags)
			}
			out.Services = append(out.Services, *d)
		}
		return out, nil
	})
}

// ListServices lists the ACTIVE services of a cluster, 10 at a time unless up to 100 are requested.
func (s *Service) ListServices(ctx context.Context, in *awsecs.ListServicesInput) (*awsecs.ListServicesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListServicesOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		var arns []string
		for _, svc := range tx.Services.All() {
			if svc.Cluster == c && svc.Status == "ACTIVE" && isListed(svc, in) {
				arns = append(arns, svc.ARN)
			}
		}
		page, next, err := pageFrom(arns, in.NextToken, int(val(in.MaxResults)), 10, 100)
		return &awsecs.ListServicesOutput{ServiceArns: page, NextToken: next}, err
	})
}

func isListed(svc *world.Service, in *awsecs.ListServicesInput) bool {
	if in.SchedulingStrategy != "" && in.SchedulingStrategy != docOfService(svc).shape.SchedulingStrategy {
		return false
	}
	if in.ResourceManagementType != "" && in.ResourceManagementType != "CUSTOMER" {
		return false
	}
	if in.LaunchType == "" {
		return true
	}
	p := svc.Primary()
	return p != nil && p.LaunchType == string(in.LaunchType)
}

// ListServicesByNamespace returns an empty list: no service is in a namespace.
func (s *Service) ListServicesByNamespace(ctx context.Context,
	in *awsecs.ListServicesByNamespaceInput) (*awsecs.ListServicesByNamespaceOutput, error) {
	if val(in.Namespace) == "" {
		return nil, invalidParameter("Namespace can not be blank.")
	}
	return &awsecs.ListServicesByNamespaceOutput{ServiceArns: []string{}}, nil
}

func (h rolloutHistory) showService(svc *world.Service, tags bool) *ecstypes.Service {
	d := deepCopy(docOfService(svc).shape)
	if !tags {
		d.Tags = nil
	}
	d.ServiceArn, d.ServiceName, d.ClusterArn = ptr(svc.ARN), ptr(svc.Name), ptr(svc.Cluster.ARN)
	d.Status, d.CreatedAt, d.DesiredCount = ptr(svc.Status), optionalTime(svc.CreatedAt), int32(svc.Desired)
	d.LoadBalancers, d.ServiceRegistries = []ecstypes.LoadBalancer{}, []ecstypes.ServiceRegistry{}
	d.Events = make([]ecstypes.ServiceEvent, len(svc.Events))
	for i, e := range svc.Events {
		d.Events[i] = ecstypes.ServiceEvent{Id: ptr(e.ID), CreatedAt: ptr(e.At), Message: ptr(e.Message)}
	}
	if p := shownPrimary(svc); p != nil {
		showPrimary(&d, p)
	}
	h.showSets(&d, svc)
	return &d
}

// shownPrimary returns the task set (or deployment) that describe calls return as PRIMARY, or nil. A
// DRAINING service keeps it until it is INACTIVE.
func shownPrimary(svc *world.Service) *world.TaskSet {
	if svc.Status == "DRAINING" {
		return svc.Drained
	}
	return svc.Primary()
}

// shownStatus returns the status of a task set (or deployment) in describe calls.
func shownStatus(ts *world.TaskSet) string {
	if ts.Service.Status == "DRAINING" && ts == ts.Service.Drained {
		return "PRIMARY"
	}
	return ts.Status
}

// showPrimary copies the workload of the primary task set (or deployment) to the service. Without a
// primary those fields are empty.
func showPrimary(d *ecstypes.Service, p *world.TaskSet) {
	doc := deepCopy(*docOfSet(p))
	d.TaskDefinition, d.LaunchType = ptr(p.Definition.ARN), doc.LaunchType
	d.CapacityProviderStrategy, d.NetworkConfiguration = doc.CapacityProviderStrategy, doc.NetworkConfiguration
	d.LoadBalancers, d.ServiceRegistries = orEmpty(doc.LoadBalancers), orEmpty(doc.ServiceRegistries)
	d.PlatformFamily = doc.PlatformFamily
	if v := requestedPlatform(p); v != nil {
		d.PlatformVersion = v
	}
}

// showSets adds the deployments with controller ECS, newest first, and the task sets with any other
// controller.
func (h rolloutHistory) showSets(d *ecstypes.Service, svc *world.Service) {
	d.Deployments = []ecstypes.Deployment{}
	if svc.Controller != "ECS" {
		d.TaskSets = []ecstypes.TaskSet{}
	}
	for i, ts := range svc.TaskSets {
		running, pending := countTasks(ts)
		d.RunningCount += int32(running)
		d.PendingCount += int32(pending)
		if svc.Controller == "ECS" {
			d.Deployments = append(d.Deployments, showDeployment(svc.TaskSets[len(svc.TaskSets)-1-i]))
		} else {
			d.TaskSets = append(d.TaskSets, *showTaskSet(ts, false))
		}
	}
	if svc.Controller == "ECS" {
		h.showCurrent(d, svc)
	}
}

func showDeployment(ts *world.TaskSet) ecstypes.Deployment {
	doc := deepCopy(*docOfSet(ts))
	running, pending := countTasks(ts)
	desired := ts.Computed
	if ts.Status == "ACTIVE" {
		desired = running + pending
	}
	return ecstypes.Deployment{
		Id: ptr(ts.ID), Status: ptr(shownStatus(ts)), TaskDefinition: ptr(ts.Definition.ARN),
		DesiredCount: int32(desired), RunningCount: int32(running), PendingCount: int32(pending),
		FailedTasks: int32(ts.FailedTasks),
		CreatedAt:   optionalTime(ts.CreatedAt), UpdatedAt: optionalTime(ts.UpdatedAt), LaunchType: doc.LaunchType,
		CapacityProviderStrategy: doc.CapacityProviderStrategy, PlatformVersion: doc.PlatformVersion,
		PlatformFamily:       doc.PlatformFamily,
		NetworkConfiguration: doc.NetworkConfiguration,
		RolloutState:         ecstypes.DeploymentRolloutState(ts.RolloutState),
		RolloutStateReason:   optionalText(ts.RolloutReason),
		VolumeConfigurations: deepCopy(docOfDeployment(ts).volumes),

		ServiceConnectConfiguration: deepCopy(docOfDeployment(ts).connect),
	}
}
