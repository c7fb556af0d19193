package shape

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// Entries of a world file which a copy of a service (package replica) has too. docs/reference/sim.md
// has their keys.

// NamespaceEntry is a Cloud Map namespace.
type NamespaceEntry struct {
	Name     string          `json:"name"`
	ID       string          `json:"id,omitempty"`
	Kind     string          `json:"kind"`
	Services []RegistryEntry `json:"services,omitempty"`
}

// RegistryEntry is a Cloud Map service.
type RegistryEntry struct {
	Name    string            `json:"name"`
	ID      string            `json:"id"`
	Records map[string]string `json:"records,omitempty"`
	Routing string            `json:"routing,omitempty"`
	Health  string            `json:"health"`
}

// ServiceEntry is an ECS service with its task definition, both in AWS's shape.
type ServiceEntry struct {
	Name           string         `json:"name"`
	Cluster        string         `json:"cluster,omitempty"`
	Count          int            `json:"count"`
	Demand         int            `json:"demand,omitempty"` // of the modelled CPU, in percent of a task
	TaskDefinition map[string]any `json:"taskDefinition"`
	AWS            map[string]any `json:"aws"`
}

// NewServiceEntry returns a service without the members that the world file gives itself.
func NewServiceEntry(name, cluster string, count int, task, service map[string]any) ServiceEntry {
	service = maps.Clone(service)
	for _, member := range []string{"cluster", "serviceName", "taskDefinition", "clientToken"} {
		delete(service, member)
	}
	if role, _ := service["role"].(string); strings.Contains(role, ":role/aws-service-role/") {
		delete(service, "role")
	}
	return ServiceEntry{Name: name, Cluster: cluster, Count: count, TaskDefinition: task, AWS: service}
}

// NamespaceEntries returns the namespaces of the world.
func (w World) NamespaceEntries() (all []NamespaceEntry) {
	if w.UsesCloudMap() || w.Registry != "" {
		r := RegistryEntry{Name: w.Service, ID: sluice.ARNName(w.RegistryARN()), Health: "custom"}
		kind := "http"
		if !w.Naming.HTTP {
			kind, r.Records = "private", map[string]string{cmp.Or(w.Naming.Records, "A"): fmt.Sprintf("%ds",
				int(cmp.Or(w.TTL, defaultTTL).Seconds()))}
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

// registryText returns the key of the Cloud Map service in the line of the service.
func (w World) registryText() string {
	if !w.UsesCloudMap() && w.Registry == "" {
		return ""
	}
	return fmt.Sprintf(", registry: %s.%s", w.Service, Namespace)
}

// Place returns the account and the Region of an application whose target groups and names do not
// give them.
func Place(app *appfile.Application) (account, region string) {
	arns := []string{app.Cluster}
	if app.Service != nil {
		if c := app.Service.Input.ServiceConnectConfiguration; c != nil && c.Enabled && c.Namespace != nil {
			arns = append(arns, *c.Namespace)
		}
	}
	for _, arn := range arns {
		if region, account, ok := sluice.ARNPlace(arn); ok {
			return account, region
		}
	}
	return "123456789012", cmp.Or(app.Region, "us-east-1")
}

// jsonText returns a value as JSON, which is YAML too.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "{}" // never: the values are texts, numbers, and what was decoded from JSON
	}
	return string(text)
}
