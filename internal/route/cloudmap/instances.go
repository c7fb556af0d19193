package cloudmap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route"
)

// InstanceClient is the client for the instances of one registry.
type InstanceClient struct {
	API      *awssd.Client
	Registry plan.Registry
	// Pause sleeps until the next read of an operation.
	Pause func(ctx context.Context, d time.Duration) error
	// Confirm waits before a second read, which confirms that the registry does not exist. If
	// Confirm is nil, one read is enough.
	Confirm func(context.Context) error
	// Token returns a new creator request id at each call: AWS treats a repeated id as the same
	// request.
	Token func(action string) string
	// Tries is how often a failed operation is started; 0 is once.
	Tries int
}

// Instance is an instance in Cloud Map.
type Instance struct {
	ID         string
	Attributes map[string]string
	Healthy    bool // always true without custom health
}

// readConfirmed reads from the registry. Two reads must agree that the registry does not exist.
func readConfirmed[In, Out any](ctx context.Context, n InstanceClient, in In,
	call func(context.Context, In, ...func(*awssd.Options)) (Out, error)) (Out, error) {
	return route.ReadTwice(ctx, n.Confirm, func() (Out, error) { return call(ctx, in) })
}

// ListInstances lists the registry's instances, whatever their health.
func (n InstanceClient) ListInstances(ctx context.Context) ([]Instance, error) {
	in := &awssd.ListInstancesInput{ServiceId: aws.String(n.Registry.ID), MaxResults: aws.Int32(100)}
	var all []Instance
	for {
		out, err := readConfirmed(ctx, n, in, n.API.ListInstances)
		if err != nil {
			return nil, fmt.Errorf("list the instances of %s: %w", n.Registry.FullName(), sluice.Inner(err))
		}
		for _, i := range out.Instances {
			all = append(all, Instance{ID: aws.ToString(i.Id), Attributes: i.Attributes, Healthy: true})
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	if !n.Registry.Custom || len(all) == 0 {
		return all, nil
	}
	known, err := n.readHealth(ctx)
	for i := range all {
		all[i].Healthy = isHealthy(all[i].Attributes, known[all[i].ID])
	}
	return all, err
}

// isHealthy reports whether callers are sent to an instance with that custom health. AWS returns
// the health of a new instance shortly after its registration (Cloud Map API Reference,
// GetInstancesHealthStatus). Until then the instance has the status of its registration, HEALTHY if
// none was given (RegisterInstance, AWS_INIT_HEALTH_STATUS).
func isHealthy(attributes map[string]string, known sdtypes.HealthStatus) bool {
	if known == "" {
		known = sdtypes.HealthStatus(attributes[initHealthKey])
	}
	return known != sdtypes.HealthStatusUnhealthy
}

// readHealth reads the custom health of the instances. The result omits an instance whose health is
// not known yet.
func (n InstanceClient) readHealth(ctx context.Context) (map[string]sdtypes.HealthStatus, error) {
	in := &awssd.GetInstancesHealthStatusInput{ServiceId: aws.String(n.Registry.ID), MaxResults: aws.Int32(100)}
	all := map[string]sdtypes.HealthStatus{}
	for {
		out, err := readConfirmed(ctx, n, in, n.API.GetInstancesHealthStatus)
		if err != nil {
			return nil, fmt.Errorf("read the health of the instances of %s: %w", n.Registry.FullName(),
				sluice.Inner(err))
		}
		maps.Copy(all, out.Status)
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return all, nil
		}
	}
}

// Register registers instances, or overwrites them, and returns when DiscoverInstances returns all
// of them. label is their name in plans.
func (n InstanceClient) Register(ctx context.Context, act sluice.Act, label string, all []Instance) error {
	err := n.runEach(ctx, act, "RegisterInstance", label, instanceIDs(all), func(ctx context.Context, i int) (*string,
		error) {
		out, err := n.API.RegisterInstance(ctx, &awssd.RegisterInstanceInput{ServiceId: aws.String(n.Registry.ID),
			InstanceId:       aws.String(all[i].ID),
			CreatorRequestId: aws.String(n.Token("register " + all[i].ID)),
			Attributes:       n.withInitHealth(all[i].Attributes)})
		if err != nil {
			return nil, err
		}
		return out.OperationId, nil
	})
	if err != nil {
		return err
	}
	return n.awaitDiscovery(ctx, instanceIDs(all), true)
}

// withInitHealth returns the attributes with an initial status of HEALTHY, so callers can resolve
// the instance immediately.
func (n InstanceClient) withInitHealth(attributes map[string]string) map[string]string {
	if !n.Registry.Custom {
		return attributes
	}
	out := map[string]string{initHealthKey: "HEALTHY"}
	for k, v := range attributes {
		if k != initHealthKey {
			out[k] = v
		}
	}
	return out
}

// Deregister deregisters instances and returns when DiscoverInstances returns none of them. An
// instance that does not exist is no error.
func (n InstanceClient) Deregister(ctx context.Context, act sluice.Act, label string, all []string) error {
	err := n.runEach(ctx, act, "DeregisterInstance", label, all, func(ctx context.Context, i int) (*string, error) {
		out, err := n.API.DeregisterInstance(ctx, &awssd.DeregisterInstanceInput{ServiceId: aws.String(n.Registry.ID),
			InstanceId: aws.String(all[i])})
		if gone := new(sdtypes.InstanceNotFound); errors.As(err, &gone) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return out.OperationId, nil
	})
	if err != nil {
		return err
	}
	return n.awaitDiscovery(ctx, all, false)
}

func instanceIDs(all []Instance) []string {
	out := make([]string, 0, len(all))
	for _, i := range all {
		out = append(out, i.ID)
	}
	return out
}

// maxReads and readInterval limit the wait until AWS returns the result of an accepted operation.
const (
	maxReads     = 60
	readInterval = time.Second
)

// awaitDiscovery waits until DiscoverInstances, which callers use, returns all of the instances, or
// none. It follows registrations with a delay (Cloud Map API Reference, RegisterInstance).
func (n InstanceClient) awaitDiscovery(ctx context.Context, all []string, there bool) error {
	for try := 1; len(all) > 0; try++ {
		found, err := n.discoverIDs(ctx)
		if err != nil {
			return err
		}
		wrong := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return found[id] == there })
		if len(wrong) == 0 {
			return nil
		}
		otherwise := false
		if try%5 == 0 {
			if otherwise, err = n.changedSince(ctx, wrong, there); err != nil {
				return err
			}
		}
		if try == maxReads || otherwise {
			return &sluice.Error{Op: "read back the instances of " + n.Registry.FullName(), Resource: n.Registry.ID +
				"/" + wrong[0], Kind: sluice.Stall,
				Err: fmt.Errorf("the operation succeeded, but %w another state for %s", route.ErrMismatch,
					sluice.Plural(len(wrong), "instance")),
				Next: "see the instances: " + discoverCommand(n.Registry)}
		}
		if err := n.Pause(ctx, readInterval); err != nil {
			return err
		}
	}
	return nil
}

// changedSince reports whether the expected result cannot appear any more. An instance is not
// listed any more, because its task stopped and ECS deregistered it. Or an instance is listed
// again, because ECS or another actor registered it.
func (n InstanceClient) changedSince(ctx context.Context, all []string, there bool) (bool, error) {
	listed, err := n.ListInstances(ctx)
	return slices.ContainsFunc(all, func(id string) bool {
		return there != slices.ContainsFunc(listed, func(i Instance) bool { return i.ID == id })
	}), err
}

// discoverIDs returns the ids that DiscoverInstances returns, whatever their health.
func (n InstanceClient) discoverIDs(ctx context.Context) (map[string]bool, error) {
	all, err := n.discover(ctx)
	found := map[string]bool{}
	for _, i := range all {
		found[i.ID] = true
	}
	return found, err
}

// discover returns the instances that DiscoverInstances returns, whatever their health.
func (n InstanceClient) discover(ctx context.Context) (all []Instance, err error) {
	out, err := readConfirmed(ctx, n, &awssd.DiscoverInstancesInput{NamespaceName: aws.String(n.Registry.Namespace),
		ServiceName:  aws.String(n.Registry.Name),
		HealthStatus: sdtypes.HealthStatusFilterAll, MaxResults: aws.Int32(1000)}, n.API.DiscoverInstances)
	if err != nil {
		return nil, fmt.Errorf("discover the instances of %s: %w", n.Registry.FullName(), sluice.Inner(err))
	}
	for _, i := range out.Instances {
		all = append(all, Instance{ID: aws.ToString(i.InstanceId), Attributes: i.Attributes,
			Healthy: i.HealthStatus != sdtypes.HealthStatusUnhealthy})
	}
	return all, nil
}
