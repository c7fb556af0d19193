package cloudmap

import (
	"context"
	"errors"
	"slices"
	"strings"

	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/view"
)

// ReadName reads what callers resolve: the healthy instances, or all if none is healthy. runs reports whether a task
// runs the version that should serve. stopped returns which of some tasks have stopped; it is called only if sluice
// registered instances of other tasks.
func ReadName(ctx context.Context, n InstanceClient, runs func(task string) bool,
	stopped func(ctx context.Context, tasks []string) ([]string, error)) (name *view.Name, unknown []string, err error) {
	all, err := n.discover(ctx)
	if err != nil {
		return nil, nil, err
	}
	name, unknown, own := newName(n.Registry, all, runs)
	if len(own) > 0 {
		name.Dead, err = stopped(ctx, own)
	}
	return name, unknown, err
}

// NameOf returns what callers resolve if all are the instances of the registry. Tasks that have stopped are not told
// from others.
func NameOf(r plan.Registry, all []Instance, runs func(task string) bool) *view.Name {
	name, _, _ := newName(r, all, runs)
	return name
}

// DiscoverName reads what callers resolve, without the tasks of the instances.
func DiscoverName(ctx context.Context, n InstanceClient) (*view.Name, error) {
	all, err := n.discover(ctx)
	if err != nil {
		return nil, err
	}
	return NameOf(n.Registry, all, func(id string) bool { return !IsUnknown(id) }), nil
}

// MissingName returns the name of a registry that does not exist, if that is why a read of it failed; nil: it is not. arn
// is that of the registry. Such a name has no records, so callers get no version.
func MissingName(arn string, err error) *view.Name {
	name := &view.Name{FullName: sluice.ARNName(arn), Command: listCommand}
	var noService *sdtypes.ServiceNotFound
	var noNamespace *sdtypes.NamespaceNotFound
	switch {
	case errors.As(err, &noService):
		name.Missing = "the Cloud Map service " + name.FullName + " does not exist"
	case errors.As(err, &noNamespace):
		name.Missing = "the namespace of the Cloud Map service " + name.FullName + " does not exist"
	default:
		return nil
	}
	return name
}

// newName returns what callers resolve, the ids of instances that neither ECS nor sluice registered, and the tasks of
// the instances that sluice registered and of which none runs.
func newName(r plan.Registry, all []Instance, runs func(task string) bool) (name *view.Name, unknown, own []string) {
	if healthy := slices.DeleteFunc(slices.Clone(all), func(i Instance) bool { return !i.Healthy }); len(healthy) > 0 {
		all = healthy
	}
	name = &view.Name{FullName: r.FullName(), HasDNS: r.HasDNS(), Resolved: len(all), Command: discoverCommand(r)}
	for _, i := range all {
		switch task := taskOf(i.ID); {
		case runs(task) && i.Healthy:
			name.Serving++
		case runs(task):
			name.Unhealthy++
		case strings.HasPrefix(i.ID, OwnPrefix):
			own = append(own, task)
		case IsUnknown(i.ID):
			unknown = append(unknown, i.ID)
		}
	}
	return name, unknown, own
}

// DescribeUnknown says what an instance that neither ECS nor sluice registered does.
func DescribeUnknown(instance, name string) string {
	return "instance " + instance + " under " + name + " was not registered by ECS or sluice; it gets a part of the requests"
}

// listCommand shows the services of Cloud Map in the Region.
const listCommand = "aws servicediscovery list-services"

// discoverCommand returns the command that shows what callers resolve.
func discoverCommand(r plan.Registry) string {
	return "aws servicediscovery discover-instances --namespace-name " + r.Namespace + " --service-name " + r.Name
}
