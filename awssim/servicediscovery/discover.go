package servicediscovery

import (
	"context"
	"maps"

	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// DiscoverInstances returns instances of a service by names, in random order.
func (s *Service) DiscoverInstances(ctx context.Context,
	in *awssd.DiscoverInstancesInput) (*awssd.DiscoverInstancesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.DiscoverInstancesOutput, error) {
		t, e, err := s.findEntry(tx, in.NamespaceName, in.ServiceName)
		if err != nil {
			return nil, err
		}
		q := cloudmap.Query{Health: string(in.HealthStatus), Parameters: in.QueryParameters,
			Optional: in.OptionalParameters, MaxResults: int(val(in.MaxResults))}
		n := tx.NextCount("discover " + e.ID)
		out := &awssd.DiscoverInstancesOutput{Instances: []sdtypes.HttpInstanceSummary{},
			InstancesRevision: ptr(e.Revision)}
		for _, v := range e.DiscoverInstances(q, func(i int) float64 { return tx.Random("discover", e.ID, n<<10|i) }) {
			out.Instances = append(out.Instances, sdtypes.HttpInstanceSummary{
				InstanceId: ptr(v.ID), NamespaceName: ptr(t.Name), ServiceName: ptr(e.Name),
				Attributes: maps.Clone(v.Attributes), HealthStatus: shownHealth(e.HasCustomHealth, v.Healthy)})
		}
		return out, nil
	})
}

// DiscoverInstancesRevision returns a number that changes when an instance is registered or
// deregistered.
func (s *Service) DiscoverInstancesRevision(ctx context.Context,
	in *awssd.DiscoverInstancesRevisionInput) (*awssd.DiscoverInstancesRevisionOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.DiscoverInstancesRevisionOutput, error) {
		_, e, err := s.findEntry(tx, in.NamespaceName, in.ServiceName)
		if err != nil {
			return nil, err
		}
		return &awssd.DiscoverInstancesRevisionOutput{InstancesRevision: ptr(e.Revision)}, nil
	})
}

// findEntry returns a service by its names, as callers see it.
func (s *Service) findEntry(tx *world.Tx, namespace, service *string) (*cloudmap.Table, *cloudmap.Entry, error) {
	t := s.controller.Table(tx.Key, *namespace)
	if t == nil {
		return nil, nil, world.Refuse("NamespaceNotFound", "Failed to find namespace with name: %s", *namespace)
	}
	e := t.Entry(*service)
	if e == nil {
		return nil, nil, world.Refuse("ServiceNotFound", "Failed to find service with name: %s, in namespace: %s",
			*service, *namespace)
	}
	return t, e, nil
}
