package shape

import (
	"cmp"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Capacity is where the tasks of a service run. The zero value is Fargate.
type Capacity struct {
	OnEC2       bool
	NetworkMode string   // bridge, host; empty: awsvpc
	Providers   []string // capacity providers of the cluster
	// Strategy is that of the service. Empty: the service has none, or one of container instances.
	Strategy []StrategyEntry
	Connect  ConnectNamespace
}

// ConnectNamespace is the namespace of Service Connect. The zero value is none.
type ConnectNamespace struct {
	Name string
	ID   string // if the service names the namespace by its ARN; then Name is one of the local AWS
}

// connectNamespace returns the namespace that a service names.
func connectNamespace(service *definition.Service) ConnectNamespace {
	c := service.Input.ServiceConnectConfiguration
	if c == nil || !c.Enabled || c.Namespace == nil {
		return ConnectNamespace{}
	}
	if _, _, ok := sluice.ARNPlace(*c.Namespace); ok {
		return ConnectNamespace{Name: Namespace, ID: sluice.ARNName(*c.Namespace)}
	}
	return ConnectNamespace{Name: *c.Namespace}
}

// CapacityOf returns the capacity that definitions need.
func CapacityOf(task *definition.Task, service *definition.Service) (c Capacity) {
	if mode := cmp.Or(task.Input.NetworkMode, "bridge"); mode != "awsvpc" { // bridge is AWS's default
		c.NetworkMode = string(mode)
	}
	c.OnEC2 = service.Input.LaunchType == "EC2" || c.NetworkMode != ""
	for _, x := range service.Input.CapacityProviderStrategy {
		if x.CapacityProvider == nil {
			continue
		}
		name := sluice.ARNName(*x.CapacityProvider)
		c.OnEC2 = c.OnEC2 || !strings.HasPrefix(name, "FARGATE")
		c.Providers = appendNew(c.Providers, name)
		c.Strategy = append(c.Strategy, StrategyEntry{Provider: name, Weight: x.Weight, Base: x.Base})
	}
	if c.OnEC2 {
		c.Strategy = nil
	}
	c.Connect = connectNamespace(service)
	return c
}
