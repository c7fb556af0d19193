package plan

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/internal/view"
)

// BalancerType is a type of load balancer, as Elastic Load Balancing names it.
type BalancerType string

// The types behind which sluice shifts traffic.
const (
	ApplicationBalancer BalancerType = "application"
	NetworkBalancer     BalancerType = "network"
)

// balancerProperties is what a type of load balancer means for a deployment.
type balancerProperties struct {
	kind BalancerType
	name string // for users
	unit string // what it forwards
	// propagation is how long after a change of weights the nodes may still use the old ones.
	propagation time.Duration
	hasRules    bool // otherwise a listener has only its default action
	waitsForAll bool // a shift ends when every node uses the weights, because that takes minutes
}

// networkPropagation is what ECS itself waits after each shift behind a Network Load Balancer (Amazon ECS Developer Guide,
// "Network Load Balancer resources for Amazon ECS blue/green, linear and canary deployments"). AWS does not report when
// all nodes use changed weights, and documents no limit.
const networkPropagation = 10 * time.Minute

// NetworkDrain is the least deregistration delay behind a Network Load Balancer that needs no
// warning. AWS does not document how long nodes send new connections to a deregistered target; two
// minutes are inferred from reports of users.
const NetworkDrain = 2 * time.Minute

// balancerTable has a row for each type.
var balancerTable = []balancerProperties{
	{kind: ApplicationBalancer, name: "Application Load Balancer", unit: "requests",
		propagation: view.RulePropagation, hasRules: true},
	{kind: NetworkBalancer, name: "Network Load Balancer", unit: "connections",
		propagation: networkPropagation, waitsForAll: true},
}

// BalancerTypes returns all types, in the order of the table.
func BalancerTypes() (all []BalancerType) {
	for _, row := range balancerTable {
		all = append(all, row.kind)
	}
	return all
}

// properties returns the row of the type. Plans of earlier versions name no type: there were only
// Application Load Balancers.
func (t BalancerType) properties() balancerProperties {
	i := slices.IndexFunc(balancerTable, func(row balancerProperties) bool { return row.kind == t })
	return balancerTable[max(0, i)]
}

// IsKnown reports whether sluice shifts traffic behind load balancers of the type.
func (t BalancerType) IsKnown() bool { return slices.Contains(BalancerTypes(), t) }

// Name returns the name of the type for users.
func (t BalancerType) Name() string { return t.properties().name }

// Unit returns what load balancers of the type forward: requests or connections.
func (t BalancerType) Unit() string { return t.properties().unit }

// HasRules reports whether listeners have rules in addition to their default action.
func (t BalancerType) HasRules() bool { return t.properties().hasRules }

// ShiftPropagation returns how long after a change of weights some nodes of the load balancer may
// still use the old ones.
func (p *Plan) ShiftPropagation() time.Duration { return p.Balancer.properties().propagation }

// WaitsAfterShift reports whether a stage that shifts weights ends only when every node of the load
// balancer uses them.
func (p *Plan) WaitsAfterShift() bool {
	return HasTargetGroups(p.Access) && p.Balancer.properties().waitsForAll
}
