package awssim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// awsMembers are members of the request that creates a resource, in AWS's shape and with AWS's
// names. They are set after the other keys of the resource, and take precedence.
type awsMembers map[string]any

// fillRequest sets the members in a request.
func (m awsMembers) fillRequest(in any) error {
	if m == nil {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("it is not a map in AWS's shape: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return shapeError(d.Decode(in))
}

// shapeError explains why members do not fit a request, in the words of a world file.
func shapeError(err error) error {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Errorf("%s is a %s, and AWS expects %s there", t.Field, t.Value, memberText(t.Type))
	}
	if err == nil {
		return nil
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return fmt.Errorf("AWS's request has no member %s", name)
	}
	return err
}

// memberText names the kind of a member.
func memberText(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Float32 {
		return "a number"
	}
	return typeText(t)
}

// definedService returns the request that creates a service, with its load balancers, network and
// capacity for every deployment controller.
func (l *worldBuilder) definedService(svc serviceFile, cluster, definition string) (*awsecs.CreateServiceInput, error) {
	in := &awsecs.CreateServiceInput{DesiredCount: aws.Int32(svc.Count)}
	if err := svc.AWS.fillRequest(in); err != nil {
		return nil, err
	}
	in.Cluster, in.ServiceName, in.TaskDefinition = aws.String(cluster), aws.String(svc.Name), aws.String(definition)
	if in.SchedulingStrategy == ecstypes.SchedulingStrategyDaemon {
		in.DesiredCount = nil
	}
	return in, nil
}

// isExternal reports whether a service has task sets that the file creates.
func isExternal(in *awsecs.CreateServiceInput) bool {
	return in.DeploymentController != nil && in.DeploymentController.Type == ecstypes.DeploymentControllerTypeExternal
}

// createWithTaskSet creates a service with controller EXTERNAL and its PRIMARY task set. It moves
// the members that belong to task sets from the service to the task set.
func (l *worldBuilder) createWithTaskSet(in *awsecs.CreateServiceInput) error {
	set := &awsecs.CreateTaskSetInput{Cluster: in.Cluster, Service: in.ServiceName, TaskDefinition: in.TaskDefinition,
		LaunchType: in.LaunchType, CapacityProviderStrategy: in.CapacityProviderStrategy,
		NetworkConfiguration: in.NetworkConfiguration, LoadBalancers: in.LoadBalancers,
		ServiceRegistries: in.ServiceRegistries, PlatformVersion: in.PlatformVersion,
		Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: 100}}
	in.TaskDefinition, in.LaunchType, in.CapacityProviderStrategy, in.PlatformVersion = nil, "", nil, nil
	in.NetworkConfiguration, in.LoadBalancers, in.ServiceRegistries = nil, nil, nil
	if _, err := send(l.ctx, l, l.ecs.CreateService, in); err != nil {
		return err
	}
	out, err := send(l.ctx, l, l.ecs.CreateTaskSet, set)
	if err != nil {
		return err
	}
	_, err = send(l.ctx, l, l.ecs.UpdateServicePrimaryTaskSet, &awsecs.UpdateServicePrimaryTaskSetInput{
		Cluster: in.Cluster, Service: in.ServiceName, PrimaryTaskSet: out.TaskSet.TaskSetArn,
	})
	return err
}

// createRolledOut creates a service whose first deployment has ended by the time the file is loaded. ECS's own strategies
// shift, bake and wait for hooks for longer than that, so a service with one, or with a bake time, has rolled out its first
// revision without.
func (l *worldBuilder) createRolledOut(in *awsecs.CreateServiceInput) error {
	c := in.DeploymentConfiguration
	if c == nil || !l.file.isSettled() || aws.ToInt32(c.BakeTimeInMinutes) == 0 &&
		(c.Strategy == "" || c.Strategy == ecstypes.DeploymentStrategyRolling) {
		_, err := send(l.ctx, l, l.ecs.CreateService, in)
		return err
	}
	in.DeploymentConfiguration = nil
	if _, err := send(l.ctx, l, l.ecs.CreateService, in); err != nil {
		return err
	}
	at := l.at
	l.later = append(l.later, func() error {
		_, err := send(l.ctx, l, l.ecs.UpdateService, &awsecs.UpdateServiceInput{Cluster: in.Cluster,
			Service: in.ServiceName, DeploymentConfiguration: c})
		return withPath(at, err)
	})
	return l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		if svc, ok := tx.Services.Get(*in.Cluster + "/" + *in.ServiceName); ok {
			ecs.PlaceInServingGroups(tx, svc)
		}
		return nil
	})
}
