package servicediscovery

import (
	"context"
	"maps"

	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// RegisterInstance starts to register an instance, or to overwrite the one with that id.
func (s *Service) RegisterInstance(ctx context.Context, in *awssd.RegisterInstanceInput) (*awssd.RegisterInstanceOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.RegisterInstanceOutput, error) {
		r, err := serviceOf(tx, in.ServiceId)
		if err != nil {
			return nil, err
		}
		if err := checkAttributes(r, in.Attributes); err != nil {
			return nil, err
		}
		id, about := *in.InstanceId, aboutInstance(r, *in.InstanceId)
		if err := firstOf(s.checkNotBusy(tx, about, "REGISTER_INSTANCE"), checkQuotas(r, id)); err != nil {
			return nil, err
		}
		attributes, creator := maps.Clone(in.Attributes), val(in.CreatorRequestId)
		op := s.startOperation(ctx, tx, cloudmap.Operation{Type: "REGISTER_INSTANCE", Call: "RegisterInstance",
			About: about, Targets: targetsOf(r, id), Creator: creator},
			func(tx *world.Tx) *world.Refusal {
				if r.Deleted {
					return world.Refuse("INTERNAL_FAILURE", "The service is gone.")
				}
				tx.RegisterInstance(r, id, attributes).Doc = creator
				return nil
			})
		return &awssd.RegisterInstanceOutput{OperationId: op}, nil
	})
}

func aboutInstance(r *world.Registry, id string) string { return "instance " + r.ID + " " + id }

func targetsOf(r *world.Registry, id string) map[string]string {
	return map[string]string{"NAMESPACE": r.Namespace.ID, "SERVICE": r.ID, "INSTANCE": id}
}

// checkQuotas refuses an instance beyond the quotas.
func checkQuotas(r *world.Registry, id string) error {
	if _, ok := r.Instances.Get(id); ok {
		return nil
	}
	n := 0
	for _, x := range r.Namespace.Registries.All() {
		n += x.Instances.Len()
	}
	if r.Instances.Len() >= maxInstances || n >= maxNamespaceInstances {
		return world.Refuse("ResourceLimitExceeded",
			"The maximum number of instances has been reached: %d per service, %d per namespace.", maxInstances,
			maxNamespaceInstances)
	}
	return nil
}

// DeregisterInstance starts to deregister an instance.
func (s *Service) DeregisterInstance(ctx context.Context,
	in *awssd.DeregisterInstanceInput) (*awssd.DeregisterInstanceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.DeregisterInstanceOutput, error) {
		i, err := instanceOf(tx, in.ServiceId, in.InstanceId)
		if err != nil && i == nil {
			return nil, s.notFoundOrBusy(tx, in.ServiceId, in.InstanceId, err)
		}
		about := aboutInstance(i.Registry, i.ID)
		if err := s.checkNotBusy(tx, about, "DEREGISTER_INSTANCE"); err != nil {
			return nil, err
		}
		op := s.startOperation(ctx, tx, cloudmap.Operation{Type: "DEREGISTER_INSTANCE", Call: "DeregisterInstance",
			About: about, Targets: targetsOf(i.Registry, i.ID)},
			func(tx *world.Tx) *world.Refusal {
				if now, ok := i.Registry.Instances.Get(i.ID); ok {
					tx.DeregisterInstance(now)
				}
				return nil
			})
		return &awssd.DeregisterInstanceOutput{OperationId: op}, nil
	})
}

// notFoundOrBusy returns the refusal for a missing instance: in use while it is being registered,
// otherwise err.
func (s *Service) notFoundOrBusy(tx *world.Tx, service, id *string, err error) error {
	if r, no := serviceOf(tx, service); no == nil {
		if busy := s.checkNotBusy(tx, aboutInstance(r, val(id)), "DEREGISTER_INSTANCE"); busy != nil {
			return busy
		}
	}
	return err
}

func instanceOf(tx *world.Tx, service, id *string) (*world.Instance, error) {
	r, err := serviceOf(tx, service)
	if err != nil {
		return nil, err
	}
	i, ok := r.Instances.Get(*id)
	if !ok {
		return nil, world.Refuse("InstanceNotFound", "The instance %s can't be found in service %s.", *id, r.ID)
	}
	return i, nil
}

// GetInstance returns an instance.
func (s *Service) GetInstance(ctx context.Context, in *awssd.GetInstanceInput) (*awssd.GetInstanceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.GetInstanceOutput, error) {
		i, err := instanceOf(tx, in.ServiceId, in.InstanceId)
		if err != nil {
			return nil, err
		}
		creator, _ := i.Doc.(string)
		return &awssd.GetInstanceOutput{ResourceOwner: ptr(tx.Key.Account), Instance: &sdtypes.Instance{
			Id: ptr(i.ID), Attributes: maps.Clone(i.Attributes), CreatorRequestId: optionalText(creator),
			CreatedByAccount: ptr(tx.Key.Account)}}, nil
	})
}

// ListInstances lists the instances of a service.
func (s *Service) ListInstances(ctx context.Context, in *awssd.ListInstancesInput) (*awssd.ListInstancesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.ListInstancesOutput, error) {
		r, err := serviceOf(tx, in.ServiceId)
		if err != nil {
			return nil, err
		}
		page, next, err := pageOf(r.Instances.Values(), in.NextToken, in.MaxResults,
			func(i *world.Instance) string { return i.ID })
		if err != nil {
			return nil, err
		}
		out := &awssd.ListInstancesOutput{Instances: []sdtypes.InstanceSummary{}, NextToken: next,
			ResourceOwner: ptr(tx.Key.Account)}
		for _, i := range page {
			out.Instances = append(out.Instances,
				sdtypes.InstanceSummary{Id: ptr(i.ID), Attributes: maps.Clone(i.Attributes),
					CreatedByAccount: ptr(tx.Key.Account)})
		}
		return out, nil
	})
}

// GetInstancesHealthStatus returns the health of named instances, or of all.
func (s *Service) GetInstancesHealthStatus(ctx context.Context,
	in *awssd.GetInstancesHealthStatusInput) (*awssd.GetInstancesHealthStatusOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.GetInstancesHealthStatusOutput, error) {
		r, err := serviceOf(tx, in.ServiceId)
		if err != nil {
			return nil, err
		}
		list := r.Instances.Values()
		if len(in.Instances) > 0 {
			list = nil
		}
		for _, id := range in.Instances {
			i, err := instanceOf(tx, in.ServiceId, ptr(id))
			if err != nil {
				return nil, err
			}
			list = append(list, i)
		}
		page, next, err := pageOf(list, in.NextToken, in.MaxResults,
			func(i *world.Instance) string { return i.ID })
		if err != nil {
			return nil, err
		}
		out := &awssd.GetInstancesHealthStatusOutput{Status: map[string]sdtypes.HealthStatus{}, NextToken: next}
		for _, i := range page {
			if isHealthKnown(tx, i) {
				out.Status[i.ID] = shownHealth(r.HasCustomHealth, i.Health == "HEALTHY")
			}
		}
		return out, nil
	})
}

// isHealthKnown reports whether an instance's health is already visible. AWS documents a brief
// delay after the registration (setting InstanceHealthGap).
func isHealthKnown(tx *world.Tx, i *world.Instance) bool {
	k := tx.Settings().InstanceHealthGap
	gap := tx.RandomBetween(k.Min, k.Max, "instance health", i.Registry.ARN+i.ID, int(i.At.Unix()))
	return tx.Now().Sub(i.At) >= gap
}

// shownHealth returns the health, or UNKNOWN for a service without custom health.
func shownHealth(custom, healthy bool) sdtypes.HealthStatus {
	switch {
	case !custom:
		return sdtypes.HealthStatusUnknown
	case healthy:
		return sdtypes.HealthStatusHealthy
	}
	return sdtypes.HealthStatusUnhealthy
}

// UpdateInstanceCustomHealthStatus sets an instance's health, which is in effect half a minute
// later.
func (s *Service) UpdateInstanceCustomHealthStatus(ctx context.Context,
	in *awssd.UpdateInstanceCustomHealthStatusInput) (*awssd.UpdateInstanceCustomHealthStatusOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.UpdateInstanceCustomHealthStatusOutput, error) {
		i, err := instanceOf(tx, in.ServiceId, in.InstanceId)
		if err != nil {
			return nil, err
		}
		if !i.Registry.HasCustomHealth {
			return nil, world.Refuse("CustomHealthNotFound", "The service %s has no HealthCheckCustomConfig.",
				i.Registry.ID)
		}
		s.controller.SetCustomHealth(tx, i, string(in.Status))
		return &awssd.UpdateInstanceCustomHealthStatusOutput{}, nil
	})
}
