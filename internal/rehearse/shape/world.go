package shape

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
)

// World is the shape of a service and of the resources around it.
type World struct {
	Account, Region  string
	Cluster, Service string
	Controller       string   // EXTERNAL, ECS or CODE_DEPLOY
	Tasks            int      // desired count
	Subnets          []string // IDs, one per zone, at most three
	Port             int32    // of the containers
	Balancer         string   // ARN
	Primary, Canary  Group    // no Canary: ARN ""
	Listeners        []Listener
	Grace            time.Duration // healthCheckGracePeriodSeconds
	Nodes            time.Duration // maximum time until a changed rule reaches every node; 0: default
	OtherService     bool          // another team has a service, group and rule
	Start            time.Duration // of a task, from its launch until it runs; 0: as observed on AWS
	Boot             time.Duration // from then until it answers; options of a version take precedence
	Stop             time.Duration // how long a task answers after SIGTERM; options of a version take precedence
	Rate             int           // requests per second on each path; 0: [Rate]
	Lasts            time.Duration // duration of a request; options of a version take precedence
	Scaling          Scaling
	Percents         Percents
	TTL              time.Duration // of its DNS records, if callers use a Cloud Map name; 0: they use the load balancer
	Check            time.Duration // interval of a container health check; 0: none
	Registry         string        // ARN of the Cloud Map service; empty: a default one
	Naming           Naming
	HostingServices  bool   // the file sets hosting: services
	Config           string // of its deployment group, under controller CODE_DEPLOY; empty: AllAtOnce
	Deployer         Deployer
	Undo             bool          // the group rolls back failed deployments
	Keep             time.Duration // how long the group keeps the original task set
	// under controller CODE_DEPLOY the file sets enableECSManagedTags, and the service does not have it
	Managed bool
	Ready   time.Duration // how long the group waits for a person before traffic shifts; 0: it does not wait
	Test    bool          // the group has a test listener
	// results of the functions of all five lifecycle events, see HookFunction; empty: no hooks
	Hooks          string
	Alarm          bool // the group monitors an alarm, which is OK at first
	Lags           Lags
	CanaryOnlyRule bool // a rule sends all its requests to the canary group
	LeftoverCanary bool // a canary of an earlier deployment exists
	Capacity       Capacity
	OtherToolSet   bool // a task set of another tool exists, in none of the groups
	Strategy       Strategy
	OtherRules     []OtherRule
	Named          Surroundings // what the files name
}

// Lags are the maximum delays of AWS where it documents no limit, or where they exceed the default;
// 0: default.
type Lags struct {
	Targets   time.Duration // registered and deregistered targets reach the load balancer's nodes
	Stability time.Duration // stabilityStatus of task sets
	Health    time.Duration // of a new instance in Cloud Map
	Names     time.Duration // name servers follow Cloud Map; AWS documents 60 s
	Tokens    time.Duration // lifetime of client tokens
	Starts    int           // tasks of a service that start in a minute
}

// Percents are the limits of a rolling deployment, minimumHealthyPercent and maximumPercent. Zero
// means AWS's defaults, 100 and 200.
type Percents struct {
	Least int `json:"minimumHealthyPercent"`
	Most  int `json:"maximumPercent"`
}

// Block reports whether, at a desired count, the limits let ECS neither stop nor start a task.
func (p Percents) Block(count int) bool {
	return p != (Percents{}) && count > 0 && count*p.Most/100 <= count && (count*p.Least+99)/100 >= count
}

// Group is a target group with its timings.
type Group struct {
	ARN                string
	Interval, Timeout  time.Duration
	Healthy, Unhealthy int // number of consecutive checks
	Drain              time.Duration
	TCP                bool // checks connect; otherwise they send an HTTP request
}

// Name returns the group's name, which is part of its ARN.
func (g Group) Name() string { return sluice.TargetGroupName(g.ARN) }

// Listener is a port of the load balancer.
type Listener struct {
	ARN   string
	Port  int32
	Rules []Rule // rules that forward to the groups
}

// Rule forwards to the two groups. Path is the path of its requests.
type Rule struct {
	ARN             string // "": the simulator's own
	Priority        int    // 0: the default rule
	Path            string
	Primary, Canary int  // weights
	Alone           bool // forwards to the primary alone
	Sticky          time.Duration
}

// IsDefault reports whether the rule is the default action of its listener.
func (r Rule) IsDefault() bool { return r.Priority == 0 }

// FirstRule returns the first rule of the first listener.
func (w World) FirstRule() Rule {
	for _, l := range w.Listeners {
		for _, r := range l.Rules {
			return r
		}
	}
	return Rule{}
}

// CanaryRulePriority is the priority of the rule of [World.CanaryOnlyRule].
const CanaryRulePriority = 1

// SubnetIDs returns the IDs of n subnets.
func SubnetIDs(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("subnet-0123456789abcde%02d", i))
	}
	return all
}

// EachRule calls each for every rule of all listeners.
func (w World) EachRule(each func(Listener, Rule)) {
	if w.UsesCloudMap() {
		return
	}
	for _, l := range w.Listeners {
		for _, r := range l.Rules {
			each(l, r)
		}
	}
}
