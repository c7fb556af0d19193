package alb

import (
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// ListenerCache keeps listeners that were read: their load balancer and their port do not change.
// It keeps no rules and no default actions. Safe for concurrent use; the zero value is empty, and
// nil keeps nothing.
type ListenerCache struct {
	mu   sync.Mutex
	kept map[string]elbtypes.Listener // by ARN
}

// keep stores listeners without their actions.
func (c *ListenerCache) keep(all []elbtypes.Listener) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[string]elbtypes.Listener{}
	}
	for _, l := range all {
		l.DefaultActions = nil
		c.kept[aws.ToString(l.ListenerArn)] = l
	}
}

// find returns the listeners in the order of their ARNs; ok is false if one is missing.
func (c *ListenerCache) find(arns []string) (all []elbtypes.Listener, ok bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, arn := range arns {
		all = append(all, c.kept[arn])
	}
	return all, !slices.ContainsFunc(all, func(l elbtypes.Listener) bool { return l.ListenerArn == nil })
}
