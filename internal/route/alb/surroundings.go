package alb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
)

// Surroundings are the load balancers of target groups, complete: every listener, every rule, and
// every group that a rule names. A request that creates one is in AWS's shape.
type Surroundings struct {
	Groups    []GroupCopy
	Balancers []BalancerCopy
}

// GroupCopy is a target group as the request that creates it.
type GroupCopy struct {
	ARN, Name  string
	Request    map[string]any
	Attributes map[string]string
	Targets    int // registered now

	read elbtypes.TargetGroup
}

// BalancerCopy is a load balancer with its listeners.
type BalancerCopy struct {
	ARN, Name, Type string // application, network
	Listeners       []ListenerCopy
}

// ListenerCopy is a listener as the request that creates it, and its rules.
type ListenerCopy struct {
	ARN     string
	Port    int32
	Request map[string]any
	Groups  []sluice.Share // that the default rule forwards to
	Rules   []RuleCopy     // without the default rule
}

// RuleCopy is a rule as the request that creates it.
type RuleCopy struct {
	ARN      string
	Priority string
	Request  map[string]any
	Groups   []sluice.Share // that it forwards to
}

// surroundingsReader reads surroundings. It makes no write.
type surroundingsReader struct {
	api    *awselb.Client
	groups []string // ARNs, in the order in which they were found
	out    Surroundings
}

// ReadSurroundings reads the load balancers of the target groups.
func ReadSurroundings(ctx context.Context, api *awselb.Client, groups ...string) (Surroundings, error) {
	r := &surroundingsReader{api: api, groups: slices.Clone(groups)}
	if len(groups) == 0 {
		return r.out, nil
	}
	places, err := FindGroups(ctx, api, groups...)
	if err != nil {
		return r.out, err
	}
	for _, p := range places {
		if p.Balancer == "" || slices.ContainsFunc(r.out.Balancers, func(b BalancerCopy) bool {
			return b.ARN == p.Balancer
		}) {
			continue
		}
		if err := r.readBalancer(ctx, p.Balancer); err != nil {
			return r.out, err
		}
	}
	return r.out, r.readGroups(ctx)
}

func (r *surroundingsReader) readBalancer(ctx context.Context, arn string) error {
	lbs, err := r.api.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
	if err != nil {
		return fmt.Errorf("look up load balancer: %w", sluice.Inner(err))
	}
	b := BalancerCopy{ARN: arn}
	for _, lb := range lbs.LoadBalancers {
		b.Name, b.Type = aws.ToString(lb.LoadBalancerName), string(lb.Type)
	}
	listeners, err := describeListeners(ctx, r.api, arn)
	if err != nil {
		return err
	}
	for _, l := range listeners {
		c, err := r.readListener(ctx, l)
		if err != nil {
			return err
		}
		b.Listeners = append(b.Listeners, c)
	}
	r.out.Balancers = append(r.out.Balancers, b)
	return nil
}

func (r *surroundingsReader) readListener(ctx context.Context, l elbtypes.Listener) (ListenerCopy, error) {
	actions := r.copyActions(l.DefaultActions)
	c := ListenerCopy{ARN: aws.ToString(l.ListenerArn), Port: aws.ToInt32(l.Port),
		Groups: forwardShares(l.DefaultActions), Request: members(
			awselb.CreateListenerInput{Protocol: l.Protocol, Certificates: l.Certificates, DefaultActions: actions})}
	if !hasRules(c.ARN) {
		return c, nil
	}
	in := &awselb.DescribeRulesInput{ListenerArn: l.ListenerArn, PageSize: aws.Int32(400)}
	for {
		out, err := r.api.DescribeRules(ctx, in)
		if err != nil {
			return c, fmt.Errorf("read the rules of %s: %w", c.ARN, sluice.Inner(err))
		}
		for _, rule := range out.Rules {
			if aws.ToBool(rule.IsDefault) {
				continue
			}
			c.Rules = append(c.Rules, RuleCopy{ARN: aws.ToString(rule.RuleArn), Priority: aws.ToString(rule.Priority),
				Groups: forwardShares(rule.Actions), Request: members(awselb.CreateRuleInput{
					Conditions: copyConditions(rule.Conditions), Actions: r.copyActions(rule.Actions)})})
		}
		if in.Marker = out.NextMarker; aws.ToString(in.Marker) == "" {
			return c, nil
		}
	}
}

// copyActions returns actions that can be written, and notes their target groups. It leaves out
// authentications: AWS does not return their secrets.
func (r *surroundingsReader) copyActions(actions []elbtypes.Action) []elbtypes.Action {
	for _, share := range forwardShares(actions) {
		if !slices.Contains(r.groups, share.Group) {
			r.groups = append(r.groups, share.Group)
		}
	}
	var out []elbtypes.Action
	for _, a := range actions {
		switch a.Type {
		case elbtypes.ActionTypeEnumAuthenticateOidc, elbtypes.ActionTypeEnumAuthenticateCognito,
			elbtypes.ActionTypeEnumJwtValidation:
			continue
		case elbtypes.ActionTypeEnumForward:
			if a.ForwardConfig != nil {
				a.TargetGroupArn = nil
			}
		}
		out = append(out, a)
	}
	return out
}

// copyConditions returns conditions that can be written. AWS returns some values twice.
func copyConditions(conditions []elbtypes.RuleCondition) []elbtypes.RuleCondition {
	out := slices.Clone(conditions)
	for i, c := range out {
		if c.PathPatternConfig != nil || c.HostHeaderConfig != nil || c.HttpHeaderConfig != nil ||
			c.HttpRequestMethodConfig != nil || c.SourceIpConfig != nil || c.QueryStringConfig != nil {
			out[i].Values, out[i].RegexValues = nil, nil
		}
	}
	return out
}

// groupsPerCall is how many target groups one call describes.
const groupsPerCall = 20

func (r *surroundingsReader) readGroups(ctx context.Context) error {
	for part := range slices.Chunk(r.groups, groupsPerCall) {
		out, err := r.api.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{TargetGroupArns: part})
		if err != nil {
			return fmt.Errorf("look up target groups: %w", sluice.Inner(err))
		}
		for _, g := range out.TargetGroups {
			c, err := r.readGroup(ctx, g)
			if err != nil {
				return err
			}
			r.out.Groups = append(r.out.Groups, c)
		}
	}
	return nil
}

func (r *surroundingsReader) readGroup(ctx context.Context, g elbtypes.TargetGroup) (GroupCopy, error) {
	c := GroupCopy{read: g, ARN: aws.ToString(g.TargetGroupArn), Name: aws.ToString(g.TargetGroupName),
		Request: members(awselb.CreateTargetGroupInput{
			Protocol: g.Protocol, ProtocolVersion: g.ProtocolVersion, Port: g.Port, TargetType: g.TargetType,
			HealthCheckEnabled: g.HealthCheckEnabled, HealthCheckProtocol: g.HealthCheckProtocol,
			HealthCheckPath: g.HealthCheckPath, HealthCheckPort: g.HealthCheckPort,
			HealthCheckIntervalSeconds: g.HealthCheckIntervalSeconds,
			HealthCheckTimeoutSeconds:  g.HealthCheckTimeoutSeconds,
			HealthyThresholdCount:      g.HealthyThresholdCount, UnhealthyThresholdCount: g.UnhealthyThresholdCount,
			Matcher: g.Matcher})}
	var err error
	if c.Attributes, err = readAttributes(ctx, r.api, c.ARN); err != nil {
		return c, fmt.Errorf("read the attributes of %s: %w", c.Name, sluice.Inner(err))
	}
	targets, err := ReadHealth(ctx, r.api, c.ARN)
	c.Targets = len(targets)
	return c, err
}

// members returns the members of a request that are set, by AWS's names.
func members(request any) map[string]any {
	var out map[string]any
	data, err := json.Marshal(request) // plain values: cannot fail
	if err == nil && json.Unmarshal(data, &out) == nil {
		dropEmpty(out)
	}
	return out
}

// dropEmpty removes members without a value.
func dropEmpty(tree map[string]any) {
	for k, v := range tree {
		switch v := v.(type) {
		case nil:
			delete(tree, k)
		case string:
			if v == "" {
				delete(tree, k)
			}
		case map[string]any:
			dropEmpty(v)
		case []any:
			for _, item := range v {
				if m, ok := item.(map[string]any); ok {
					dropEmpty(m)
				}
			}
			if len(v) == 0 {
				delete(tree, k)
			}
		}
	}
}
