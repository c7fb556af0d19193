package elbv2

import (
	"slices"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// refuseNetworkRules refuses calls about the rules of a listener of a Network Load Balancer: it has
// only its default action.
func refuseNetworkRules(l *world.Listener) error {
	if l.Balancer.Type != "network" {
		return nil
	}
	return world.Refuse("OperationNotPermitted", "Rules are not supported for the listener '%s' of a load balancer of "+
		"type 'network'", l.ARN)
}

// checkNetworkAction refuses actions that a Network Load Balancer cannot carry out: it only forwards.
func checkNetworkAction(l *world.Listener, a elbtypes.Action) error {
	if l.Balancer.Type != "network" || a.Type == elbtypes.ActionTypeEnumForward {
		return nil
	}
	return badAction("The action type '%s' is not valid with network load balancer", a.Type)
}

// groupProtocols are the protocols of the target groups to which a listener of a Network Load
// Balancer forwards.
func groupProtocols(listener string) []string {
	switch listener {
	case "TLS":
		return []string{"TCP", "TLS"}
	case "TCP", "UDP":
		return []string{listener, "TCP_UDP"}
	}
	return []string{listener}
}

// isNetworkPair reports whether a listener of a Network Load Balancer can forward to a group. It is
// true for other listeners.
func isNetworkPair(l *world.Listener, g *world.TargetGroup) bool {
	return l.Balancer.Type != "network" || slices.Contains(groupProtocols(l.Protocol), g.Protocol)
}

// checkNetworkForward refuses, for a Network Load Balancer, groups of several protocols in one
// action, and any stickiness behind a TLS listener.
func checkNetworkForward(tx *world.Tx, l *world.Listener, f *world.Forward, a elbtypes.Action) error {
	if l.Balancer.Type != "network" {
		return nil
	}
	first := ""
	for _, s := range f.Groups {
		g, ok := tx.TargetGroups.Get(s.Group)
		if !ok {
			continue
		}
		if first == "" {
			first = g.Protocol
		}
		switch {
		case g.Protocol != first:
			return world.Refuse("IncompatibleProtocols",
				"The target groups of an action must have the same protocol, but they have '%s' and '%s'", first,
				g.Protocol)
		case l.Protocol == "TLS" && g.Attributes["stickiness.enabled"] == "true":
			return world.Refuse("InvalidConfigurationRequest", "Stickiness is not supported with TLS listeners: '%s'",
				g.ARN)
		}
	}
	if l.Protocol == "TLS" && a.ForwardConfig != nil && a.ForwardConfig.TargetGroupStickinessConfig != nil {
		return world.Refuse("InvalidConfigurationRequest",
			"Target group stickiness is not supported with TLS listeners")
	}
	return nil
}
