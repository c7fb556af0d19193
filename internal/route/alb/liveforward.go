package alb

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
)

// ActionPlace names one list of actions: a rule by its ARN, or a rule or the default action of a
// listener. The listener is named by its ARN, or by its load balancer and port.
type ActionPlace struct {
	Rule     string // ARN of a rule; with it, the other fields are empty
	Listener string // ARN
	Balancer string // ARN, with Port, instead of Listener
	Port     int
	Priority int // of the rule; 0: the default action of the listener
}

// Forward is the forward action of a rule or a listener, as AWS returns it.
type Forward struct {
	Rule     string // ARN; "" for the default action of a listener
	Listener string // ARN; "" if the place is a rule ARN
	Groups   []sluice.Share

	HasStickiness bool // AWS returned stickiness settings
	Sticky        bool
	StickySeconds int
}

// ReadForward reads the forward action of a place. The error has kind [sluice.NotFound] if the
// listener or the rule does not exist.
func ReadForward(ctx context.Context, api *awselb.Client, p ActionPlace) (Forward, error) {
	if p.Rule != "" {
		rules, err := describeRules(ctx, api, &awselb.DescribeRulesInput{RuleArns: []string{p.Rule}})
		if err != nil {
			return Forward{}, err
		}
		if len(rules) == 0 {
			return Forward{}, missingForward(p, "the rule does not exist")
		}
		return newForward(p, "", rules[0])
	}
	l, err := findListener(ctx, api, p)
	if err != nil {
		return Forward{}, err
	}
	if p.Priority == 0 {
		return newForward(p, aws.ToString(l.ListenerArn), elbtypes.Rule{Actions: l.DefaultActions})
	}
	rules, err := describeRules(ctx, api, &awselb.DescribeRulesInput{ListenerArn: l.ListenerArn})
	if err != nil {
		return Forward{}, err
	}
	for _, r := range rules {
		if aws.ToString(r.Priority) == strconv.Itoa(p.Priority) {
			return newForward(p, aws.ToString(l.ListenerArn), r)
		}
	}
	return Forward{}, missingForward(p, "the listener has no rule of this priority")
}

// findListener reads the listener of a place.
func findListener(ctx context.Context, api *awselb.Client, p ActionPlace) (l elbtypes.Listener, err error) {
	in := &awselb.DescribeListenersInput{ListenerArns: []string{p.Listener}}
	if p.Listener == "" {
		in = &awselb.DescribeListenersInput{LoadBalancerArn: aws.String(p.Balancer)}
	}
	pages := awselb.NewDescribeListenersPaginator(api, in)
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return l, fmt.Errorf("read listeners: %w", sluice.Inner(err))
		}
		for _, l := range out.Listeners {
			if p.Listener != "" || int(aws.ToInt32(l.Port)) == p.Port {
				return l, nil
			}
		}
	}
	return l, missingForward(p, "there is no such listener")
}

func describeRules(ctx context.Context, api *awselb.Client, in *awselb.DescribeRulesInput) ([]elbtypes.Rule, error) {
	var all []elbtypes.Rule
	for {
		out, err := api.DescribeRules(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("read listener rules: %w", sluice.Inner(err))
		}
		all = append(all, out.Rules...)
		if aws.ToString(out.NextMarker) == "" {
			return all, nil
		}
		in.Marker = out.NextMarker
	}
}

// newForward returns the forward action of a rule.
func newForward(p ActionPlace, listener string, r elbtypes.Rule) (Forward, error) {
	f := Forward{Rule: aws.ToString(r.RuleArn), Listener: listener, Groups: forwardShares(r.Actions)}
	if len(f.Groups) == 0 {
		return f, &sluice.Error{Op: "read the live weights", Resource: p.String(),
			Err:  errors.New("its action does not forward to target groups"),
			Next: "name a rule or a listener that has an action of type forward"}
	}
	for _, a := range r.Actions {
		if a.ForwardConfig != nil && a.ForwardConfig.TargetGroupStickinessConfig != nil {
			f.HasStickiness = true
			f.Sticky = aws.ToBool(a.ForwardConfig.TargetGroupStickinessConfig.Enabled)
			f.StickySeconds = int(aws.ToInt32(a.ForwardConfig.TargetGroupStickinessConfig.DurationSeconds))
		}
	}
	return f, nil
}

func missingForward(p ActionPlace, why string) error {
	return &sluice.Error{Op: "read the live weights", Resource: p.String(), Kind: sluice.NotFound,
		Err: errors.New(why)}
}

// String names the place for people.
func (p ActionPlace) String() string {
	text := p.Rule
	switch {
	case p.Rule != "":
		return text
	case p.Listener != "":
		text = p.Listener
	default:
		text = fmt.Sprintf("port %d of %s", p.Port, p.Balancer)
	}
	if p.Priority > 0 {
		return fmt.Sprintf("rule %d of %s", p.Priority, text)
	}
	return text
}
