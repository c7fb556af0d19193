package shape

import (
	"cmp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// The world of a service that callers find by a Cloud Map name.

const (
	defaultRegistry = "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-0123456789abcdef"
	Namespace       = "shop.local"
	defaultTTL      = time.Minute // default of the ECS console
)

// Naming is how callers resolve the name of a service.
type Naming struct {
	Records  string // "SRV"; empty: A
	HTTP     bool   // the Namespace has no DNS: callers use DiscoverInstances only
	Restores bool   // ECS registers instances again that another actor deregistered
}

// RegistryARN returns the ARN of the Cloud Map service.
func (w World) RegistryARN() string { return cmp.Or(w.Registry, defaultRegistry) }

// setCloudMap sets the shape from the files of a service with a Cloud Map name.
func (w *World) setCloudMap(app *appfile.Application) {
	arn, port, ok := mode.RegistryOf(app)
	if !ok {
		w.setUnsharedRegistry(app)
		return
	}
	w.TTL, w.Registry = defaultTTL, arn
	w.setRegistryPlace(app)
	for _, c := range app.Task.Input.ContainerDefinitions {
		if c.HealthCheck != nil && w.Check == 0 {
			w.Check = 30 * time.Second // AWS's default
			if c.HealthCheck.Interval != nil {
				w.Check = time.Duration(*c.HealthCheck.Interval) * time.Second
			}
		}
		for _, p := range c.PortMappings {
			if port == 0 && p.ContainerPort != nil {
				port = *p.ContainerPort
			}
		}
	}
	if port > 0 {
		w.Port = port
	}
}

// setUnsharedRegistry sets the Cloud Map service in which ECS registers the tasks of a service whose
// file does not say that callers use the name.
func (w *World) setUnsharedRegistry(app *appfile.Application) {
	all := app.Service.Input.ServiceRegistries
	if len(all) == 0 || aws.ToString(all[0].RegistryArn) == "" || w.Controller == plan.ControllerExternal {
		return
	}
	w.Registry = *all[0].RegistryArn
	if w.Primary.ARN == "" {
		w.setRegistryPlace(app)
	}
	if all[0].Port != nil || all[0].ContainerPort != nil || app.Task.Input.NetworkMode != "awsvpc" {
		w.Naming.Records = "SRV" // AWS takes a port only with such records
	}
}

// setRegistryPlace sets the account and Region of the Cloud Map service, and the records that it needs.
func (w *World) setRegistryPlace(app *appfile.Application) {
	if app.Task.Input.NetworkMode != "awsvpc" {
		w.Naming.Records = "SRV" // the only records of tasks that share the address of their instance
	}
	if region, account, ok := sluice.ARNPlace(w.Registry); ok {
		w.Region, w.Account = region, account
	}
}

// setRegistry sets the DNS record type and TTL from the registry.
func (w *World) setRegistry(r *plan.Registry) {
	if r == nil {
		return
	}
	if w.Naming.HTTP = !r.HasDNS(); w.Naming.HTTP {
		return
	}
	w.TTL = r.TTL()
	if !r.HasRecordType("A") && r.HasRecordType("SRV") {
		w.Naming.Records = "SRV"
	}
}

// UsesCloudMap reports whether callers find the service by a Cloud Map name, and not through a load
// balancer.
func (w World) UsesCloudMap() bool { return w.TTL > 0 }

// hasRegistry reports whether tasks are registered in a Cloud Map service.
func (w World) hasRegistry() bool { return w.UsesCloudMap() || w.Registry != "" }

// namespaceEntries returns the namespaces of the world.
func (w World) namespaceEntries() (all []NamespaceEntry) {
	if w.hasRegistry() {
		r := RegistryEntry{Name: w.Service, ID: sluice.ARNName(w.RegistryARN()), Health: "custom"}
		kind := "http"
		if !w.Naming.HTTP {
			kind, r.Records = "private", map[string]string{cmp.Or(w.Naming.Records, "A"): SecondsText(cmp.Or(w.TTL, defaultTTL))}
		}
		all = append(all, NamespaceEntry{Name: Namespace, Kind: kind, Services: []RegistryEntry{r}})
	}
	return AddConnect(all, w.Capacity.Connect)
}

// AddConnect adds the namespace of Service Connect, unless one has its name.
func AddConnect(all []NamespaceEntry, c ConnectNamespace) []NamespaceEntry {
	if c.Name == "" || slices.ContainsFunc(all, func(n NamespaceEntry) bool { return n.Name == c.Name }) {
		return all
	}
	return append(all, NamespaceEntry{Name: c.Name, ID: c.ID, Kind: "http"})
}
