package shape

import (
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
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

// ConnectNamespaceOf returns the namespace that a service names.
func ConnectNamespaceOf(service *definition.Service) ConnectNamespace {
	c := service.Input.ServiceConnectConfiguration
	if c == nil || !c.Enabled || c.Namespace == nil {
		return ConnectNamespace{}
	}
	if _, _, ok := sluice.ARNPlace(*c.Namespace); ok {
		return ConnectNamespace{Name: Namespace, ID: sluice.ARNName(*c.Namespace)}
	}
	return ConnectNamespace{Name: *c.Namespace}
}

// setCapacity sets the capacity that an application's files need.
func (w *World) setCapacity(app *appfile.Application) {
	in := app.Service.Input
	switch mode := app.Task.Input.NetworkMode; mode {
	case "awsvpc":
	case "":
		w.Capacity.NetworkMode = "bridge" // AWS's default
	default:
		w.Capacity.NetworkMode = string(mode)
	}
	w.Capacity.OnEC2 = in.LaunchType == "EC2" || w.Capacity.NetworkMode != ""
	for _, x := range in.CapacityProviderStrategy {
		if x.CapacityProvider == nil {
			continue
		}
		name := sluice.ARNName(*x.CapacityProvider)
		w.Capacity.OnEC2 = w.Capacity.OnEC2 || !strings.HasPrefix(name, "FARGATE")
		if !slices.Contains(w.Capacity.Providers, name) {
			w.Capacity.Providers = append(w.Capacity.Providers, name)
		}
		w.Capacity.Strategy = append(w.Capacity.Strategy,
			StrategyEntry{Provider: name, Weight: x.Weight, Base: x.Base})
	}
	if w.Capacity.OnEC2 {
		w.Capacity.Strategy = nil
	}
	w.Capacity.Connect = ConnectNamespaceOf(app.Service)
}
