package elbv2

import (
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// findBalancer returns a load balancer by ARN.
func findBalancer(tx *world.Tx, arn *string) (*world.LoadBalancer, error) {
	if err := checkARN(arn, "loadbalancer/", "load balancer"); err != nil {
		return nil, err
	}
	if lb, ok := tx.LoadBalancers.Get(*arn); ok {
		return lb, nil
	}
	return nil, world.Refuse("LoadBalancerNotFound", "Load balancer '%s' not found", *arn)
}

func findGroup(tx *world.Tx, arn *string) (*world.TargetGroup, error) {
	if err := checkARN(arn, "targetgroup/", "target group"); err != nil {
		return nil, err
	}
	if g, ok := tx.TargetGroups.Get(*arn); ok {
		return g, nil
	}
	return nil, world.Refuse("TargetGroupNotFound", "One or more target groups not found")
}

func findListener(tx *world.Tx, arn *string) (*world.Listener, error) {
	if err := checkARN(arn, "listener/", "listener"); err != nil {
		return nil, err
	}
	if l, ok := tx.Listeners.Get(*arn); ok {
		return l, nil
	}
	return nil, world.Refuse("ListenerNotFound", "One or more listeners not found")
}

func findRule(tx *world.Tx, arn *string) (*world.Rule, error) {
	if err := checkARN(arn, "listener-rule/", "listener rule"); err != nil {
		return nil, err
	}
	if r, ok := tx.Rules.Get(*arn); ok {
		return r, nil
	}
	return nil, world.Refuse("RuleNotFound", "One or more rules not found")
}

// checkARN refuses text that is not an ARN of that kind.
func checkARN(arn *string, kind, name string) error {
	if arn == nil || *arn == "" {
		return validationError("A %s ARN must be specified", name)
	}
	if !strings.HasPrefix(*arn, "arn:") || !strings.Contains(*arn, ":"+kind) {
		return validationError("'%s' is not a valid %s ARN", *arn, name)
	}
	return nil
}

func val[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func ptr[T any](v T) *T { return &v }

// optionalText returns a pointer to s, or nil for "".
func optionalText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// apiDoc returns the API's own data of an object. It creates the data at first use: objects that
// other packages created have none.
func apiDoc[T any](at *any) *T {
	if d, ok := (*at).(*T); ok {
		return d
	}
	d := new(T)
	*at = d
	return d
}
