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

// Names is the hand for the instances of one registry.
type Names struct {
	API      *awssd.Client
	Registry plan.Registry
	// Pause sleeps until the next look at an operation.
	Pause func(ctx context.Context, d time.Duration) error
	// Confirm waits until a second read confirms that the registry does not exist. Nil:
	// one read is enough.
	Confirm func(context.Context) error
	// Token makes a creator request id, another one at each call: AWS takes a
	// repeated one for the same request.
	Token func(action string) string
	// Tries is how often an operation that fails is begun; 0 is once.
	Tries int
}

// Instance is a task as Cloud Map has it.
type Instance struct {
	ID         string
	Attributes map[string]string
	Healthy    bool // without custom health always
}

// confirmed makes a read of the registry. That it does not exist takes two answers.
func confirmed[In, Out any](ctx context.Context, n Names, in In, call func(context.Context, In, ...func(*awssd.Options)) (Out, error)) (out Out, err error) {
	err = route.Twice(ctx, n.Confirm, func() error {
		out, err = call(ctx, in)
		return err
	})
	return out, err
}

// Instances lists the registry's instances, whatever their health.
func (n Names) Instances(ctx context.Context) ([]Instance, error) {
	in := &awssd.ListInstancesInput{ServiceId: aws.String(n.Registry.ID), MaxResults: aws.Int32(100)}
	var all []Instance
	for {
		out, err := confirmed(ctx, n, in, n.API.ListInstances)
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
	known, err := n.health(ctx)
	for i := range all {
		all[i].Healthy = isHealthy(all[i].Attributes, known[all[i].ID])
	}
	return all, err
}

// isHealthy reports whether callers are sent to an instance of that custom health. AWS
// shows the health of a new instance a moment after its registration (Cloud Map API
// Reference, GetInstancesHealthStatus). Until then it is the one that it was registered
// with, HEALTHY if none was given (RegisterInstance, AWS_INIT_HEALTH_STATUS).
func isHealthy(attributes map[string]string, known sdtypes.HealthStatus) bool {
	if known == "" {
		known = sdtypes.HealthStatus(attributes[initHealth])
	}
	return known != sdtypes.HealthStatusUnhealthy
}

// health reads the custom health of the instances. One that is not known yet is missing.
func (n Names) health(ctx context.Context) (map[string]sdtypes.HealthStatus, error) {
	in := &awssd.GetInstancesHealthStatusInput{ServiceId: aws.String(n.Registry.ID), MaxResults: aws.Int32(100)}
	all := map[string]sdtypes.HealthStatus{}
	for {
		out, err := confirmed(ctx, n, in, n.API.GetInstancesHealthStatus)
		if err != nil {
			return nil, fmt.Errorf("read the health of the instances of %s: %w", n.Registry.FullName(), sluice.Inner(err))
		}
		maps.Copy(all, out.Status)
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return all, nil
		}
	}
}

// Register registers instances, or overwrites them, and returns when
// DiscoverInstances shows them all. label is how the plan calls them.
func (n Names) Register(ctx context.Context, act sluice.Act, label string, all []Instance) error {
	err := n.each(ctx, act, "RegisterInstance", label, ids(all), func(ctx context.Context, i int) (*string, error) {
		out, err := n.API.RegisterInstance(ctx, &awssd.RegisterInstanceInput{ServiceId: aws.String(n.Registry.ID), InstanceId: aws.String(all[i].ID),
			CreatorRequestId: aws.String(n.Token("register " + all[i].ID)), Attributes: n.first(all[i].Attributes)})
		if err != nil {
			return nil, err
		}
		return out.OperationId, nil
	})
	if err != nil {
		return err
	}
	return n.shown(ctx, ids(all), true)
}

// first is the attributes of an instance that is found at once.
func (n Names) first(attributes map[string]string) map[string]string {
	if !n.Registry.Custom {
		return attributes
	}
	out := map[string]string{initHealth: "HEALTHY"}
	for k, v := range attributes {
		if k != initHealth {
			out[k] = v
		}
	}
	return out
}

// Deregister takes instances out and returns when DiscoverInstances shows none of
// them. One that is gone is no error.
func (n Names) Deregister(ctx context.Context, act sluice.Act, label string, all []string) error {
	err := n.each(ctx, act, "DeregisterInstance", label, all, func(ctx context.Context, i int) (*string, error) {
		out, err := n.API.DeregisterInstance(ctx, &awssd.DeregisterInstanceInput{ServiceId: aws.String(n.Registry.ID), InstanceId: aws.String(all[i])})
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
	return n.shown(ctx, all, false)
}

func ids(all []Instance) []string {
	out := make([]string, 0, len(all))
	for _, i := range all {
		out = append(out, i.ID)
	}
	return out
}

// looks and apart bound the wait for what AWS has accepted to be shown.
const (
	looks = 60
	apart = time.Second
)

// shown waits until DiscoverInstances, which is what callers ask, shows all of the
// instances, or none: it follows registrations with a delay (Cloud Map API
// Reference, RegisterInstance).
func (n Names) shown(ctx context.Context, all []string, there bool) error {
	for try := 1; len(all) > 0; try++ {
		found, err := n.discover(ctx)
		if err != nil {
			return err
		}
		wrong := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return found[id] == there })
		if len(wrong) == 0 {
			return nil
		}
		otherwise := false
		if try%5 == 0 {
			if otherwise, err = n.otherwise(ctx, wrong, there); err != nil {
				return err
			}
		}
		if try == looks || otherwise {
			return &sluice.Error{Op: "read back what is found under " + n.Registry.FullName(), Resource: n.Registry.ID + "/" + wrong[0], Kind: sluice.Stall,
				Err:  fmt.Errorf("what was asked for is done, and %w otherwise for %s", route.ErrOtherwise, sluice.Plural(len(wrong), "instance")),
				Next: "look: aws servicediscovery discover-instances --namespace-name " + n.Registry.Namespace + " --service-name " + n.Registry.Name}
		}
		if err := n.Pause(ctx, apart); err != nil {
			return err
		}
	}
	return nil
}

// otherwise reports whether one of the instances is not listed any more, since its
// task ended meanwhile and ECS took it out; or is listed again, since ECS or somebody
// else registered it.
func (n Names) otherwise(ctx context.Context, all []string, there bool) (bool, error) {
	listed, err := n.Instances(ctx)
	return slices.ContainsFunc(all, func(id string) bool {
		return there != slices.ContainsFunc(listed, func(i Instance) bool { return i.ID == id })
	}), err
}

// discover are the ids that callers find, whatever their health.
func (n Names) discover(ctx context.Context) (map[string]bool, error) {
	out, err := confirmed(ctx, n, &awssd.DiscoverInstancesInput{NamespaceName: aws.String(n.Registry.Namespace), ServiceName: aws.String(n.Registry.Name),
		HealthStatus: sdtypes.HealthStatusFilterAll, MaxResults: aws.Int32(1000)}, n.API.DiscoverInstances)
	if err != nil {
		return nil, fmt.Errorf("ask what is found under %s: %w", n.Registry.FullName(), sluice.Inner(err))
	}
	found := map[string]bool{}
	for _, i := range out.Instances {
		found[aws.ToString(i.InstanceId)] = true
	}
	return found, nil
}
