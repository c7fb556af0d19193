package ecs

import (
	"slices"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// checkConnect rejects a Service Connect configuration that AWS rejects (API Reference,
// ServiceConnectConfiguration). The configuration is stored; no proxy routes requests by it. A
// configuration that is not enabled is the same as none.
func (w *workload) checkConnect(tx *world.Tx, c *world.Cluster) error {
	if w.connect == nil || !w.connect.Enabled {
		w.connect = nil
		return nil
	}
	if w.definition.NetworkMode != "awsvpc" && w.definition.NetworkMode != "bridge" {
		return invalidParameter("Service Connect is only supported with the network modes awsvpc and bridge.")
	}
	name := val(w.connect.Namespace)
	if d := docOfCluster(c).ServiceConnectDefaults; name == "" && d != nil {
		name = val(d.Namespace)
	}
	if name == "" {
		return invalidParameter("A namespace must be specified for Service Connect, by the service or as the " +
			"cluster's default.")
	}
	if !hasNamespace(tx, name) {
		return world.Refuse("NamespaceNotFoundException", "The specified namespace was not found: %s", name)
	}
	for _, s := range w.connect.Services {
		if !hasPortName(w.definition, val(s.PortName)) {
			return invalidParameter("The portName '%s' is not the name of a port mapping in the task definition.",
				val(s.PortName))
		}
	}
	return nil
}

// checkConnectShift rejects the services of a configuration whose traffic a deployment cannot shift
// (Developer Guide, "Service Connect resources for Amazon ECS blue/green deployments").
func (w *workload) checkConnectShift(strategy ecstypes.DeploymentStrategy) error {
	protocols := map[string]ecstypes.ApplicationProtocol{}
	for _, c := range docOfDefinition(w.definition).def.ContainerDefinitions {
		for _, p := range c.PortMappings {
			protocols[val(p.Name)] = p.AppProtocol
		}
	}
	for _, s := range w.connect.Services {
		name := val(s.PortName)
		switch {
		case protocols[name] == "":
			return invalidParameter("The port mapping %s must have the appProtocol http, http2 or grpc with the %s "+
				"deployment strategy.", name, strategy)
		case len(s.ClientAliases) > 1:
			return invalidParameter("The Service Connect service of port mapping %s can have only one client alias with "+
				"the %s deployment strategy.", name, strategy)
		}
	}
	return nil
}

func hasNamespace(tx *world.Tx, name string) bool {
	return slices.ContainsFunc(tx.Namespaces.Values(), func(n *world.Namespace) bool {
		return n.ARN == name || n.Name == name
	})
}

func hasPortName(d *world.TaskDefinition, name string) bool {
	for _, c := range d.Containers {
		if slices.ContainsFunc(c.Ports, func(p world.Port) bool { return p.Name != "" && p.Name == name }) {
			return true
		}
	}
	return false
}

// isConnected reports whether a request enables Service Connect.
func isConnected(c *ecstypes.ServiceConnectConfiguration) bool { return c != nil && c.Enabled }
