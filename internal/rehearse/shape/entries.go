package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// File is a world file of the local AWS; docs/reference/sim.md has its keys. Times are texts such as "30s".
type File struct {
	Account           string             `json:"account"`
	Region            string             `json:"region"`
	Subnets           []string           `json:"subnets,omitempty"`
	Clusters          []string           `json:"clusters"`
	Capacity          []CapacityEntry    `json:"capacity,omitempty"`
	Settings          map[string]any     `json:"knobs,omitempty"`
	TargetGroups      []GroupEntry       `json:"targetGroups,omitempty"`
	LoadBalancers     []BalancerEntry    `json:"loadBalancers,omitempty"`
	Namespaces        []NamespaceEntry   `json:"namespaces,omitempty"`
	Services          []ServiceEntry     `json:"services"`
	DeploymentConfigs []ConfigEntry      `json:"deploymentConfigs,omitempty"`
	Applications      []ApplicationEntry `json:"applications,omitempty"`
	ScalableTargets   []ScalableEntry    `json:"scalableTargets,omitempty"`
	Surroundings
}

// Text returns the world file. It is JSON, which is YAML too.
func (f File) Text() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(f)
	return b.Bytes(), err
}

// CapacityEntry is the capacity of a cluster.
type CapacityEntry struct {
	Cluster   string          `json:"cluster"`
	Providers []string        `json:"capacityProviders"`
	Strategy  []StrategyEntry `json:"defaultStrategy,omitempty"`
}

// StrategyEntry is a capacity provider with its share of the tasks.
type StrategyEntry struct {
	Provider string `json:"provider"`
	Weight   int32  `json:"weight"`
	Base     int32  `json:"base"`
}

// GroupEntry is a target group.
type GroupEntry struct {
	Name                string            `json:"name"`
	ARN                 string            `json:"arn,omitempty"`
	Port                int32             `json:"port,omitempty"`
	Type                string            `json:"type,omitempty"` // instance; empty: ip
	Protocol            string            `json:"protocol,omitempty"`
	DeregistrationDelay string            `json:"deregistrationDelay,omitempty"`
	HealthCheck         *HealthCheck      `json:"healthCheck,omitempty"`
	Attributes          map[string]string `json:"attributes,omitempty"`
	AWS                 map[string]any    `json:"aws,omitempty"`
}

// HealthCheck is the health check of a target group.
type HealthCheck struct {
	Protocol  string `json:"protocol,omitempty"`
	Interval  string `json:"interval"`
	Timeout   string `json:"timeout"`
	Healthy   int    `json:"healthy"`
	Unhealthy int    `json:"unhealthy"`
}

// BalancerEntry is a load balancer.
type BalancerEntry struct {
	Name      string          `json:"name"`
	ARN       string          `json:"arn"`
	Type      string          `json:"type,omitempty"`
	Listeners []ListenerEntry `json:"listeners"`
}

// ListenerEntry is a listener with its rules.
type ListenerEntry struct {
	Port       int32          `json:"port"`
	ARN        string         `json:"arn,omitempty"`
	Forward    Shares         `json:"forward,omitempty"`
	Stickiness string         `json:"stickiness,omitempty"`
	Fixed      *Fixed         `json:"fixed,omitempty"`
	AWS        map[string]any `json:"aws,omitempty"`
	Rules      []RuleEntry    `json:"rules,omitempty"`
}

// RuleEntry is a listener rule.
type RuleEntry struct {
	Priority   int            `json:"priority"`
	ARN        string         `json:"arn,omitempty"`
	Path       []string       `json:"path,omitempty"`
	Forward    Shares         `json:"forward,omitempty"`
	Stickiness string         `json:"stickiness,omitempty"`
	AWS        map[string]any `json:"aws,omitempty"`
}

// Fixed is a response of the load balancer itself.
type Fixed struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// Shares are the target groups of a rule, by name, in the order of the rule.
type Shares []sluice.Share

// MarshalJSON returns an object with the weights by target group.
func (s Shares) MarshalJSON() ([]byte, error) {
	var members []string
	for _, x := range s {
		members = append(members, fmt.Sprintf("%q:%d", x.Group, x.Weight))
	}
	return []byte("{" + strings.Join(members, ",") + "}"), nil
}

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

// ConfigEntry is a deployment configuration of CodeDeploy.
type ConfigEntry struct {
	Name   string `json:"name"`
	Canary int    `json:"canary"`
	Every  string `json:"every"`
}

// AssumedConfigs returns the deployment configuration that a group names, unless it is one of AWS's own.
// Its content is not known: assume that it shifts a share first.
func AssumedConfigs(name string) []ConfigEntry {
	if name == "" || strings.HasPrefix(name, "CodeDeployDefault.") {
		return nil
	}
	return []ConfigEntry{{name, 10, "5m"}}
}

// ApplicationEntry is an application of CodeDeploy with its deployment group.
type ApplicationEntry struct {
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
	Alarms       []string `json:"alarms,omitempty"`
}

// ScalableEntry is a scalable target of Application Auto Scaling.
type ScalableEntry struct {
	Service   string       `json:"service"`
	Cluster   string       `json:"cluster"`
	Min       int          `json:"min"`
	Max       int          `json:"max"`
	Suspended []string     `json:"suspended,omitempty"`
	Policy    *ScalePolicy `json:"policy,omitempty"`
}

// ScalePolicy is a policy with a CPU target, in percent.
type ScalePolicy struct {
	Name   string `json:"name"`
	Target int    `json:"target"`
}

// ServiceEntry is an ECS service: by a few keys, or in AWS's shape, with its task definition.
type ServiceEntry struct {
	Name           string `json:"name"`
	Cluster        string `json:"cluster,omitempty"`
	Controller     string `json:"controller,omitempty"`
	Count          int    `json:"count"`
	Image          string `json:"image,omitempty"`
	Port           int32  `json:"port,omitempty"`
	TargetGroup    string `json:"targetGroup,omitempty"`
	Registry       string `json:"registry,omitempty"`
	LaunchType     string `json:"launchType,omitempty"`
	NetworkMode    string `json:"networkMode,omitempty"`
	ContainerCheck string `json:"containerCheck,omitempty"`
	Grace          string `json:"grace,omitempty"`
	StopTimeout    string `json:"stopTimeout,omitempty"`
	*Percents
	Demand         *int           `json:"demand,omitempty"` // of the modelled CPU, in percent of a task
	TaskDefinition map[string]any `json:"taskDefinition,omitzero"`
	AWS            map[string]any `json:"aws,omitzero"`
}

// NewServiceEntry returns a service in AWS's shape without the members that the world file gives
// itself. task and service return the definitions.
func NewServiceEntry(name, cluster string, count int, task, service func() ([]byte, error)) (ServiceEntry, error) {
	s := ServiceEntry{Name: name, Cluster: cluster, Count: count}
	text, err := task()
	if err == nil {
		err = json.Unmarshal(text, &s.TaskDefinition)
	}
	if err == nil {
		text, err = service()
	}
	if err == nil {
		err = json.Unmarshal(text, &s.AWS)
	}
	for _, member := range []string{"cluster", "serviceName", "taskDefinition", "clientToken"} {
		delete(s.AWS, member)
	}
	if role, _ := s.AWS["role"].(string); strings.Contains(role, ":role/aws-service-role/") {
		delete(s.AWS, "role")
	}
	return s, err
}
