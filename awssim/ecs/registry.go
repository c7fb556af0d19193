package ecs

import (
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// attachRegistry connects a task set (or deployment) to its service registry: at most one.
func enrol(tx *world.Tx, ts *world.TaskSet, registries []ecstypes.ServiceRegistry) error {
	if len(registries) > 1 {
		return invalid("service registries can have at most 1 items.")
	}
	doc := docOfSet(ts)
	doc.ServiceRegistries, ts.Enrolled = orEmpty(registries), nil
	for _, x := range registries {
		e, err := enrolment(tx, ts.Definition, x)
		if err != nil {
			return err
		}
		ts.Enrolled = append(ts.Enrolled, e)
	}
	return nil
}

// registryAttachment checks a service registry. SRV records need a port, given directly or as a
// container's port.
func enrolment(tx *world.Tx, d *world.TaskDefinition, x ecstypes.ServiceRegistry) (world.Enrolment, error) {
	e := world.Enrolment{Registry: val(x.RegistryArn), Port: val(x.Port)}
	if e.Registry == "" {
		return e, invalid("registryArn can not be blank.")
	}
	r, ok := tx.Registries.Get(e.Registry)
	if !ok {
		return e, invalid("Service Registry %s not found.", e.Registry)
	}
	byContainer := x.ContainerName != nil || x.ContainerPort != nil
	switch {
	case byContainer && x.Port != nil:
		return e, invalid("Either a container name and container port combination or a port value must be specified for a service registry, but not both.")
	case byContainer && (val(x.ContainerName) == "" || x.ContainerPort == nil):
		return e, invalid("Both a container name and a container port must be specified for a service registry.")
	case byContainer:
		a := world.Attachment{Container: *x.ContainerName, ContainerPort: *x.ContainerPort}
		if err := (&workload{definition: d}).checkPort(a); err != nil {
			return e, err
		}
		e.Port = a.ContainerPort
	}
	if _, srv := r.TTL("SRV"); srv && e.Port == 0 {
		return e, invalid("When using network mode 'awsvpc' and a service discovery SRV record, either a container name and container port combination or a port value must be specified.")
	}
	return e, nil
}
