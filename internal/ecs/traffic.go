package ecs

import (
	"context"
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

// Registrable returns the addresses of the running tasks that of selects, and the port with which ECS registers them in a
// target group. It returns none if the service does not name the group.
func (s Service) Registrable(ctx context.Context, group string, of func(Task) bool) (addresses []string, port int32,
	err error) {
	live, err := s.Observe(ctx)
	if err != nil || live == nil {
		return nil, 0, err
	}
	if port = live.containerPort(group); port == 0 {
		return nil, 0, nil
	}
	tasks, err := s.Tasks(ctx)
	for _, t := range tasks {
		if t.Status == "RUNNING" && t.Address != "" && of(t) {
			addresses = append(addresses, t.Address)
		}
	}
	return addresses, port, err
}

// containerPort returns the port of the tasks that the service, or one of its task sets, registers in a target group; 0:
// it registers none there.
func (l *ServiceState) containerPort(group string) int32 {
	all := slices.Clone(l.Raw.LoadBalancers)
	for _, set := range l.Raw.TaskSets {
		all = append(all, set.LoadBalancers...)
	}
	for _, lb := range all {
		c := lb.AdvancedConfiguration
		if aws.ToString(lb.TargetGroupArn) == group || c != nil && aws.ToString(c.AlternateTargetGroupArn) == group {
			return aws.ToInt32(lb.ContainerPort)
		}
	}
	return 0
}
