package ecs

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/view"
)

// TrafficScope returns the target groups and production rules of a service, as far as ECS knows them.
func (l *ServiceState) TrafficScope() view.Scope {
	if l == nil {
		return view.Scope{}
	}
	return ScopeOf(l.Raw)
}

// ScopeOf is [ServiceState.TrafficScope] of a service as AWS returns it. With a strategy of ECS's own, the service names
// both groups and the production rule. The groups of task sets are those of the task sets that are not draining.
func ScopeOf(s ecstypes.Service) (out view.Scope) {
	addLoadBalancers(&out, s.LoadBalancers)
	for _, set := range s.TaskSets {
		if aws.ToString(set.Status) != "DRAINING" {
			addLoadBalancers(&out, set.LoadBalancers)
		}
	}
	return out
}

func addLoadBalancers(out *view.Scope, all []ecstypes.LoadBalancer) {
	add := func(list []string, arn *string) []string {
		if a := aws.ToString(arn); a != "" && !slices.Contains(list, a) {
			return append(list, a)
		}
		return list
	}
	for _, lb := range all {
		out.Groups = add(out.Groups, lb.TargetGroupArn)
		if c := lb.AdvancedConfiguration; c != nil {
			out.Groups = add(out.Groups, c.AlternateTargetGroupArn)
			out.Rules = add(out.Rules, c.ProductionListenerRule)
			out.TestRules = add(out.TestRules, c.TestListenerRule)
		}
	}
}

// ServingGroups returns the ARNs of the target groups of the task sets with the revision of the PRIMARY one. It is empty
// with another controller: then every group of the service may serve.
func (l *ServiceState) ServingGroups() []string {
	var out view.Scope
	for _, set := range l.Raw.TaskSets {
		if aws.ToString(set.Status) != "DRAINING" && sluice.RevisionOf(aws.ToString(set.TaskDefinition)) == l.Serving() {
			addLoadBalancers(&out, set.LoadBalancers)
		}
	}
	return out.Groups
}
