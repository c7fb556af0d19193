package shape

import (
	"cmp"
	"fmt"
	"time"

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
		return
	}
	w.TTL, w.Registry = defaultTTL, arn
	if mode := app.Task.Input.NetworkMode; mode != "awsvpc" {
		w.Naming.Records = "SRV" // the only records of tasks that share the address of their instance
	}
	if region, account, ok := sluice.ARNPlace(arn); ok {
		w.Region, w.Account = region, account
	}
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

// writeNamedService writes its part of the world file.
func (w World) writeNamedService(line func(string, ...any), serving string) {
	kind, records := "private", fmt.Sprintf("records: {%s: %s}, ", cmp.Or(w.Naming.Records, "A"), w.TTL)
	if w.Naming.HTTP {
		kind, records = "http", ""
	}
	line("namespaces:\n  - {name: %s, kind: %s, services: [{name: %s, id: %s, %shealth: custom}]}", Namespace, kind,
		w.Service, sluice.ARNName(w.RegistryARN()), records)
	check := ""
	if w.Check > 0 {
		check = fmt.Sprintf(", containerCheck: %s", w.Check)
	}
	line("services:\n  - {name: %s, controller: %s, count: %d, image: %q, port: %d, registry: %s.%s, stopTimeout: "+
		"120s%s%s}",
		w.Service, w.Controller, w.Tasks, serving, w.Port, w.Service, Namespace, check,
		w.Capacity.serviceText()+w.Scaling.serviceText(w.Tasks))
	if w.OtherService {
		line("  - {name: others, controller: ECS, count: 2, image: \"sim/others:v1\", port: 80}")
	}
	w.Scaling.writeTargets(line, w.Service)
}
