package world

import "time"

// First and last port of the range from which a container instance takes dynamic host ports
// (Developer Guide, "Task definition parameters", hostPort: the range of Linux's
// ip_local_port_range).
const (
	firstDynamicPort = 32768
	lastDynamicPort  = 60999
)

// ContainerInstance is an EC2 instance on which a cluster runs tasks of launch type EC2.
type ContainerInstance struct {
	ARN, ID      string // ID is that of EC2: "i-…"
	Cluster      *Cluster
	Zone         string
	Subnet       *Subnet
	RegisteredAt time.Time
	Tasks        []*Task // not yet STOPPED, oldest first
	Size         Size    // what its tasks share; zero: without limit
	Doc          any

	dynamicPorts int // dynamic host ports that were taken so far
}

// Size is an amount of CPU units and of memory in MiB.
type Size struct{ CPU, Memory int }

// IsZero reports whether the size is not set.
func (s Size) IsZero() bool { return s == Size{} }

// Free returns what the tasks of the instance leave of its size.
func (i *ContainerInstance) Free() Size {
	free := i.Size
	for _, t := range i.Tasks {
		free.CPU -= t.Definition.Reserved.CPU
		free.Memory -= t.Definition.Reserved.Memory
	}
	return free
}

// takePort returns the next free dynamic host port. A port is used again only after all others, so
// that a target that drains is not registered for another task.
func (i *ContainerInstance) takePort() int32 {
	const size = lastDynamicPort - firstDynamicPort + 1
	for range size {
		port := int32(firstDynamicPort + i.dynamicPorts%size)
		i.dynamicPorts++
		if i.PortUser(port) == nil {
			return port
		}
	}
	return firstDynamicPort
}

// PortUser returns the task that uses a host port, or nil. Tasks in awsvpc mode use none: they have
// network interfaces of their own.
func (i *ContainerInstance) PortUser(port int32) *Task {
	for _, t := range i.Tasks {
		if t.Definition.HasOwnAddress() {
			continue
		}
		for _, c := range t.Containers {
			for _, p := range c.Spec.Ports {
				if p.Host == port {
					return t
				}
			}
		}
	}
	return nil
}

// Publish returns the ports of a container with the host ports that they get on the instance.
func (i *ContainerInstance) Publish(ports []Port) []Port {
	out := make([]Port, len(ports))
	for n, p := range ports {
		if p.Host == 0 {
			p.Host = i.takePort()
		}
		out[n] = p
	}
	return out
}

// HasOwnAddress reports whether each task has a network interface of its own.
func (d *TaskDefinition) HasOwnAddress() bool { return d.NetworkMode == "awsvpc" }

// Published returns the port on which callers outside of the task reach a port of its container.
func (p Port) Published() int32 {
	if p.Host != 0 {
		return p.Host
	}
	return p.Container
}

// PublishedPort returns the published port of a container's port; the port itself if the container
// does not map it.
func (t *Task) PublishedPort(container string, port int32) int32 {
	for _, c := range t.Containers {
		for _, p := range c.Spec.Ports {
			if c.Spec.Name == container && p.Container == port {
				return p.Published()
			}
		}
	}
	return port
}

// InstanceOf returns the container instance with that EC2 id, or nil.
func (tx *Tx) InstanceOf(id string) *ContainerInstance {
	for _, c := range tx.Clusters.All() {
		for _, i := range c.Instances {
			if i.ID == id {
				return i
			}
		}
	}
	return nil
}
