package replica

import (
	"bytes"
	"encoding/json"

	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// World is a world file of the local AWS; docs/reference/sim.md has its keys.
type World struct {
	Account           string                 `json:"account"`
	Region            string                 `json:"region"`
	Subnets           []string               `json:"subnets,omitempty"`
	Clusters          []string               `json:"clusters"`
	Capacity          []Capacity             `json:"capacity,omitempty"`
	TargetGroups      []Group                `json:"targetGroups,omitempty"`
	LoadBalancers     []Balancer             `json:"loadBalancers,omitempty"`
	Namespaces        []shape.NamespaceEntry `json:"namespaces,omitempty"`
	Services          []shape.ServiceEntry   `json:"services"`
	DeploymentConfigs []Config               `json:"deploymentConfigs,omitempty"`
	Applications      []Application          `json:"applications,omitempty"`
	ScalableTargets   []Scalable             `json:"scalableTargets,omitempty"`
	shape.Surroundings

	// Task and Definition are the definitions that the world was built from.
	Task       *definition.Task    `json:"-"`
	Definition *definition.Service `json:"-"` // nil: a standalone task
	// Notes are sentences for the user: values that the source does not have.
	Notes []string `json:"-"`
}

// Capacity is the capacity of a cluster.
type Capacity struct {
	Cluster   string   `json:"cluster"`
	Providers []string `json:"capacityProviders"`
}

// Group is a target group.
type Group struct {
	Name                string            `json:"name"`
	ARN                 string            `json:"arn"`
	Port                int32             `json:"port,omitempty"`
	Type                string            `json:"type,omitempty"` // instance; empty: ip
	Protocol            string            `json:"protocol,omitempty"`
	DeregistrationDelay string            `json:"deregistrationDelay,omitempty"`
	HealthCheck         *HealthCheck      `json:"healthCheck,omitempty"`
	Attributes          map[string]string `json:"attributes,omitempty"`
	AWS                 map[string]any    `json:"aws,omitempty"`
}

// HealthCheck is the health check of a target group. Durations are texts such as "30s".
type HealthCheck struct {
	Protocol  string `json:"protocol,omitempty"`
	Interval  string `json:"interval"`
	Timeout   string `json:"timeout"`
	Healthy   int    `json:"healthy"`
	Unhealthy int    `json:"unhealthy"`
}

// Balancer is a load balancer.
type Balancer struct {
	Name      string     `json:"name"`
	ARN       string     `json:"arn"`
	Type      string     `json:"type,omitempty"`
	Listeners []Listener `json:"listeners"`
}

// Listener is a listener with its rules.
type Listener struct {
	Port       int32          `json:"port"`
	ARN        string         `json:"arn,omitempty"`
	Protocol   string         `json:"protocol,omitempty"`
	Forward    map[string]int `json:"forward,omitempty"`
	Stickiness string         `json:"stickiness,omitempty"`
	Fixed      *Fixed         `json:"fixed,omitempty"`
	AWS        map[string]any `json:"aws,omitempty"`
	Rules      []Rule         `json:"rules,omitempty"`
}

// Fixed is a response of the load balancer itself.
type Fixed struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// Rule is a listener rule.
type Rule struct {
	Priority int            `json:"priority"`
	ARN      string         `json:"arn,omitempty"`
	Path     []string       `json:"path,omitempty"`
	Forward  map[string]int `json:"forward,omitempty"`
	AWS      map[string]any `json:"aws,omitempty"`
}

// Config is a deployment configuration of CodeDeploy.
type Config struct {
	Name   string `json:"name"`
	Canary int    `json:"canary"`
	Every  string `json:"every"`
}

// Application is an application of CodeDeploy with its deployment group.
type Application struct {
	Name   string            `json:"name"`
	Groups []DeploymentGroup `json:"groups"`
}

// DeploymentGroup is a deployment group of CodeDeploy.
type DeploymentGroup struct {
	Name         string   `json:"name"`
	Cluster      string   `json:"cluster"`
	Service      string   `json:"service"`
	TargetGroups []string `json:"targetGroups"`
	Listener     string   `json:"listener"`
	TestListener string   `json:"testListener,omitempty"`
	Config       string   `json:"config,omitempty"`
	Rollback     []string `json:"rollback,omitempty"`
	Ready        string   `json:"ready,omitempty"`
	Terminate    string   `json:"terminate,omitempty"`
}

// Scalable is a scalable target of Application Auto Scaling.
type Scalable struct {
	Service   string   `json:"service"`
	Cluster   string   `json:"cluster"`
	Min       int      `json:"min"`
	Max       int      `json:"max"`
	Suspended []string `json:"suspended,omitempty"`
}

// Sources returns the names of the definitions that the world was built from.
func (w *World) Sources() string {
	if w.Definition == nil {
		return w.Task.File
	}
	return w.Task.File + " and " + w.Definition.File
}

// Text returns the world file. It is JSON, which is YAML too.
func (w *World) Text() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(w)
	return b.Bytes(), err
}
