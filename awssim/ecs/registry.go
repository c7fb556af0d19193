package ecs

import (
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// attachRegistry connects a task set (or deployment) to its service registry: at most one.
func attachRegistry(tx *world.Tx, ts *world.TaskSet, registries []ecstypes.ServiceRegistry) error {
	if len(registries) > 1 {
		return invalidParameter("service registries can have at most 1 items.")
	}
	doc := docOfSet(ts)
	doc.ServiceRegistries, ts.Registries = orEmpty(registries), nil
	for _, x := range registries {
		e, err := registryAttachment(tx, ts.Definition, x)
		if err != nil {
			return err
		}
		ts.Registries = append(ts.Registries, e)
	}
	return nil
}

// registryAttachment checks a service registry. SRV records need a port, given directly or as a
// container's port.
func registryAttachment(tx *world.Tx, d *world.TaskDefinition, x ecstypes.ServiceRegistry) (world.RegistryAttachment,
	error) {
	e := world.RegistryAttachment{Registry: val(x.RegistryArn), Port: val(x.Port)}
	if e.Registry == "" {
		return e, invalidParameter("registryArn can not be blank.")
	}
	r, ok := tx.Registries.Get(e.Registry)
	if !ok {
		return e, invalidParameter("Service Registry %s not found.", e.Registry)
	}
	byContainer := x.ContainerName != nil || x.ContainerPort != nil
	switch {
	case byContainer && x.Port != nil:
		return e,
			invalidParameter("Either a container name and container port combination or a port value must be " +
				"specified for a service registry, but not both.")
	case byContainer && (val(x.ContainerName) == "" || x.ContainerPort == nil):
		return e,
			invalidParameter("Both a container name and a container port must be specified for a service registry.")
	case byContainer:
		a := world.Attachment{Container: *x.ContainerName, ContainerPort: *x.ContainerPort}
		if err := (&workload{definition: d}).checkPort(a); err != nil {
			return e, err
		}
		e.Port, e.Container = a.ContainerPort, a.Container
	}
	if _, a := r.TTL("A"); a && !d.HasOwnAddress() {
		return e, invalidParameter("When using network mode '%s', only service discovery SRV records are supported.",
			d.NetworkMode)
	}
	if _, srv := r.TTL("SRV"); srv && e.Port == 0 {
		return e,
			invalidParameter("When using network mode '%s' and a service discovery SRV record, either a "+
				"container name and container port combination or a port value must be specified.", d.NetworkMode)
	}
	return e, nil
}
