package alb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// GroupPlace is a target group, and where it is attached. It is without Healthy and Targets, which count its targets.
type GroupPlace struct {
	Group string // ARN
	VPC   string // ID
	plan.GroupAttachment

	// Health checks of its targets: interval, timeout, and how many consecutive results change the state.
	Interval, Timeout            time.Duration
	HealthyAfter, UnhealthyAfter int
}

// FindGroups reads the target groups in one call and returns them in the requested order.
func FindGroups(ctx context.Context, api *awselb.Client, groups ...string) ([]GroupPlace, error) {
	out, err := api.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{TargetGroupArns: groups})
	var missing *elbtypes.TargetGroupNotFoundException
	if errors.As(err, &missing) {
		return nil, findMissing(ctx, api, groups, err)
	}
	if err != nil {
		return nil, fmt.Errorf("look up target groups: %w", sluice.Inner(err))
	}
	var places []GroupPlace
	for _, arn := range groups {
		p, err := newPlace(out.TargetGroups, arn)
		if err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	return places, nil
}

// FindGroup reads a target group with its load balancer. The result is the zero value if the group cannot be read.
func FindGroup(ctx context.Context, api *awselb.Client, group string) (GroupPlace, error) {
	places, err := FindGroups(ctx, api, group)
	if err != nil {
		return GroupPlace{}, err
	}
	err = ReadBalancers(ctx, api, places, nil)
	return places[0], err
}

// findMissing returns an error for each group that does not exist. AWS does not say which of several it is. err is its
// error about all of them.
func findMissing(ctx context.Context, api *awselb.Client, groups []string, err error) error {
	absent, like := groups[:1], GroupCopy{}
	if len(groups) > 1 {
		absent, like = splitMissing(ctx, api, groups)
	}
	if len(absent) == 0 {
		return fmt.Errorf("look up target groups: %w", sluice.Inner(err))
	}
	others, why := otherGroups(ctx, api, groups), "it does not exist in Region "+api.Options().Region
	if names := slices.Collect(maps.Keys(others)); len(names) > 0 {
		why += ", which has " + definition.ListNames(names)
	}
	var all []error
	for _, arn := range absent {
		all = append(all, &sluice.Error{Op: "look up target group", Resource: arn, Kind: sluice.NotFound, Err: errors.New(why),
			Next: missingAdvice(arn, others, like)})
	}
	return errors.Join(all...)
}

// missingAdvice names a group with a similar name, or a command that creates the missing one like another.
func missingAdvice(arn string, others map[string]string, like GroupCopy) string {
	name := sluice.TargetGroupName(arn)
	switch near := definition.Nearest(name, slices.Collect(maps.Keys(others))); {
	case near != "":
		return "correct its ARN: " + near + " is " + others[near]
	case like.ARN != "":
		return "correct its ARN. Or create it and set the new ARN: " + like.CreateCommand(name)
	}
	return "correct its ARN"
}

// NearestGroup returns the ARN of the target group of the Region whose name is nearest to that of a missing one; empty: there
// is none, or it cannot be read.
func NearestGroup(ctx context.Context, api *awselb.Client, missing string) (arn string) {
	others := otherGroups(ctx, api, []string{missing})
	return others[definition.Nearest(sluice.TargetGroupName(missing), slices.Collect(maps.Keys(others)))]
}

// RulesTo returns the ARNs of the rules of a listener that forward to a target group; none if they cannot be read.
func RulesTo(ctx context.Context, api *awselb.Client, listener, group string) (arns []string) {
	rules, _ := describeRules(ctx, api, &awselb.DescribeRulesInput{ListenerArn: aws.String(listener)})
	for _, r := range rules {
		if slices.ContainsFunc(forwardShares(r.Actions), func(s sluice.Share) bool { return s.Group == group }) {
			arns = append(arns, aws.ToString(r.RuleArn))
		}
	}
	return arns
}

// splitMissing reads each of several groups, and returns those that do not exist and one that does.
func splitMissing(ctx context.Context, api *awselb.Client, groups []string) (absent []string, found GroupCopy) {
	for _, arn := range groups {
		out, err := api.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}})
		switch {
		case err == nil && len(out.TargetGroups) > 0:
			found = GroupCopy{ARN: arn, read: out.TargetGroups[0]}
			found.Attributes, _ = readAttributes(ctx, api, arn) // without them the command leaves them at AWS's defaults
		case sluice.KindOf(err) == sluice.NotFound:
			absent = append(absent, arn)
		}
	}
	return absent, found
}

// otherGroups returns the ARNs of other target groups of the Region by their names; none if they cannot be read.
func otherGroups(ctx context.Context, api *awselb.Client, without []string) map[string]string {
	all := map[string]string{}
	pages := awselb.NewDescribeTargetGroupsPaginator(api, &awselb.DescribeTargetGroupsInput{PageSize: aws.Int32(400)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return all
		}
		for _, g := range page.TargetGroups {
			if arn := aws.ToString(g.TargetGroupArn); !slices.Contains(without, arn) {
				all[aws.ToString(g.TargetGroupName)] = arn
			}
		}
	}
	return all
}

func newPlace(groups []elbtypes.TargetGroup, arn string) (GroupPlace, error) {
	for _, g := range groups {
		if aws.ToString(g.TargetGroupArn) != arn {
			continue
		}
		p := GroupPlace{Group: arn, VPC: aws.ToString(g.VpcId),
			GroupAttachment: plan.GroupAttachment{Name: aws.ToString(g.TargetGroupName), Target: string(g.TargetType),
				Protocol: string(g.Protocol), Check: string(g.HealthCheckProtocol), Settings: settingsOf(g)},
			Interval:       time.Duration(aws.ToInt32(g.HealthCheckIntervalSeconds)) * time.Second,
			Timeout:        time.Duration(aws.ToInt32(g.HealthCheckTimeoutSeconds)) * time.Second,
			HealthyAfter:   int(aws.ToInt32(g.HealthyThresholdCount)),
			UnhealthyAfter: int(aws.ToInt32(g.UnhealthyThresholdCount))}
		if len(g.LoadBalancerArns) > 0 {
			p.Balancer = g.LoadBalancerArns[0]
		}
		return p, nil
	}
	return GroupPlace{}, &sluice.Error{Op: "look up target group", Resource: arn, Kind: sluice.NotFound,
		Err:  errors.New("the target group does not exist in this account and Region"),
		Next: "check the ARN under targetGroups, and the Region"}
}

// maxSearched is how many load balancers are searched for rules that may have forwarded to a group before.
const maxSearched = 20

// FindFixedResponses returns the rules of the network's Application Load Balancers that respond by themselves, with a fixed
// response. It is for an error about a group that no rule names: what cannot be read is left out.
func FindFixedResponses(ctx context.Context, api *awselb.Client, vpc string) (found []Rule) {
	searched := 0
	pages := awselb.NewDescribeLoadBalancersPaginator(api, &awselb.DescribeLoadBalancersInput{PageSize: aws.Int32(400)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return found
		}
		for _, b := range page.LoadBalancers {
			if aws.ToString(b.VpcId) != vpc || b.Type != elbtypes.LoadBalancerTypeEnumApplication || searched == maxSearched {
				continue
			}
			searched++
			_, rules, err := readBalancerRules(ctx, api, aws.ToString(b.LoadBalancerArn))
			if err != nil {
				continue
			}
			for _, r := range rules {
				if n := len(r.Actions); n > 0 && r.Actions[n-1].Type == elbtypes.ActionTypeEnumFixedResponse {
					found = append(found, r)
				}
			}
		}
	}
	return found
}

// ForwardCommand returns the command with which a rule that responds by itself forwards to a group.
func ForwardCommand(r Rule, group string) string {
	last := elbtypes.Action{Type: elbtypes.ActionTypeEnumForward, Order: r.Actions[len(r.Actions)-1].Order,
		ForwardConfig: &elbtypes.ForwardActionConfig{
			TargetGroups: []elbtypes.TargetGroupTuple{{TargetGroupArn: aws.String(group), Weight: aws.Int32(100)}}}}
	return RepairCommand(r, append(slices.Clone(r.Actions[:len(r.Actions)-1]), last))
}

// inSeconds returns a number of seconds for users.
func inSeconds[N int | int32](n N) string { return fmt.Sprintf("%d s", n) }

func settingsOf(g elbtypes.TargetGroup) map[string]string {
	all := map[string]string{"protocol": string(g.Protocol), "protocol version": aws.ToString(g.ProtocolVersion),
		"port": strconv.Itoa(int(aws.ToInt32(g.Port))), "health check protocol": string(g.HealthCheckProtocol),
		"health check path": aws.ToString(g.HealthCheckPath), "health check port": aws.ToString(g.HealthCheckPort),
		"IP address type": string(g.IpAddressType), "health check interval": inSeconds(aws.ToInt32(g.HealthCheckIntervalSeconds)),
		"health check timeout": inSeconds(aws.ToInt32(g.HealthCheckTimeoutSeconds)),
		"healthy threshold":    strconv.Itoa(int(aws.ToInt32(g.HealthyThresholdCount))),
		"unhealthy threshold":  strconv.Itoa(int(aws.ToInt32(g.UnhealthyThresholdCount)))}
	if m := g.Matcher; m != nil {
		all["success codes"] = cmp.Or(aws.ToString(m.HttpCode), aws.ToString(m.GrpcCode))
	}
	return all
}

// ReadBalancers adds the type and listeners of the load balancers, and the attributes of the groups.
// Groups of one load balancer share its reads.
func ReadBalancers(ctx context.Context, api *awselb.Client, places []GroupPlace, cache *ListenerCache) error {
	for i := range places {
		p := &places[i]
		same := slices.IndexFunc(places[:i], func(x GroupPlace) bool { return x.Balancer == p.Balancer })
		switch {
		case p.Balancer == "": // its attributes count, as a deployment adds the group of the canary to a rule
		case same >= 0:
			p.Type, p.Listeners = places[same].Type, slices.Clone(places[same].Listeners)
		default:
			if err := p.readBalancer(ctx, api, cache); err != nil {
				return err
			}
		}
		if err := p.readAttributes(ctx, api); err != nil {
			return err
		}
	}
	return nil
}

// readBalancer adds the load balancer's type and listeners.
func (p *GroupPlace) readBalancer(ctx context.Context, api *awselb.Client, cache *ListenerCache) error {
	lbs, err := api.DescribeLoadBalancers(ctx,
		&awselb.DescribeLoadBalancersInput{LoadBalancerArns: []string{p.Balancer}})
	if err != nil {
		return fmt.Errorf("look up load balancer: %w", sluice.Inner(err))
	}
	if len(lbs.LoadBalancers) == 1 {
		p.Type = plan.BalancerType(lbs.LoadBalancers[0].Type)
	}
	p.Listeners, err = listListeners(ctx, api, p.Balancer, cache)
	return err
}

func listListeners(ctx context.Context, api *awselb.Client, balancer string, cache *ListenerCache) ([]string, error) {
	all, err := describeListeners(ctx, api, balancer)
	cache.keep(all)
	var arns []string
	for _, l := range all {
		arns = append(arns, aws.ToString(l.ListenerArn))
	}
	return arns, err
}

// describeListeners reads the listeners of a load balancer.
func describeListeners(ctx context.Context, api *awselb.Client, balancer string) (all []elbtypes.Listener, err error) {
	in := &awselb.DescribeListenersInput{LoadBalancerArn: aws.String(balancer), PageSize: aws.Int32(400)}
	for {
		out, err := api.DescribeListeners(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("look up listeners: %w", sluice.Inner(err))
		}
		all = append(all, out.Listeners...)
		if in.Marker = out.NextMarker; aws.ToString(in.Marker) == "" {
			return all, nil
		}
	}
}

// readAttributes adds the deregistration delay and the stickiness of targets.
func (p *GroupPlace) readAttributes(ctx context.Context, api *awselb.Client) error {
	all, err := readAttributes(ctx, api, p.Group)
	if err != nil {
		return fmt.Errorf("read target group attributes: %w", sluice.Inner(err))
	}
	seconds := defaultDelay
	fmt.Sscan(all[delayAttribute], &seconds)
	p.Drain, p.Sticky = time.Duration(seconds)*time.Second, all["stickiness.enabled"] == "true"
	if p.Settings != nil {
		p.Settings["deregistration delay"] = inSeconds(seconds)
	}
	return nil
}

// The attribute of the deregistration delay, and its default in seconds.
const (
	delayAttribute = "deregistration_delay.timeout_seconds"
	defaultDelay   = 300
)

// readAttributes returns the attributes of a target group by their keys.
func readAttributes(ctx context.Context, api *awselb.Client, group string) (map[string]string, error) {
	out, err := api.DescribeTargetGroupAttributes(ctx,
		&awselb.DescribeTargetGroupAttributesInput{TargetGroupArn: aws.String(group)})
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, a := range out.Attributes {
		all[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	return all, nil
}

// ShortestDrain returns the shortest deregistration delay of the groups; 0 if one cannot be read.
func ShortestDrain(ctx context.Context, api *awselb.Client, groups []string) (time.Duration, error) {
	shortest := time.Duration(math.MaxInt64)
	for _, group := range groups {
		p := GroupPlace{Group: group}
		if err := p.readAttributes(ctx, api); err != nil {
			return 0, err
		}
		shortest = min(shortest, p.Drain)
	}
	return shortest, nil
}

// PaceOf returns the longest time until a target of the groups is healthy, and the longest deregistration delay.
func PaceOf(ctx context.Context, api *awselb.Client, groups []string) (check, drain time.Duration, err error) {
	places, err := FindGroups(ctx, api, groups...)
	for i := range places {
		if err = places[i].readAttributes(ctx, api); err != nil {
			return check, drain, err
		}
		check = max(check, time.Duration(places[i].HealthyAfter)*places[i].Interval)
		drain = max(drain, places[i].Drain)
	}
	return check, drain, err
}

// NoticeOf returns how long the slowest health check of the groups takes to call a target unhealthy that fails.
func NoticeOf(ctx context.Context, api *awselb.Client, groups []string) (notice time.Duration, err error) {
	places, err := FindGroups(ctx, api, groups...)
	for _, p := range places {
		notice = max(notice, time.Duration(p.UnhealthyAfter)*p.Interval+p.Timeout)
	}
	return notice, err
}

// ReadHealth reads every target of a group, including draining ones.
func ReadHealth(ctx context.Context, api *awselb.Client, group string) ([]sluice.Target, error) {
	out, err := api.DescribeTargetHealth(ctx, &awselb.DescribeTargetHealthInput{TargetGroupArn: aws.String(group)})
	if err != nil {
		return nil, fmt.Errorf("read target health: %w", sluice.Inner(err))
	}
	var targets []sluice.Target
	for _, h := range out.TargetHealthDescriptions {
		t := sluice.Target{ID: aws.ToString(h.Target.Id), Port: aws.ToInt32(h.Target.Port)}
		if h.TargetHealth != nil {
			t.State, t.Reason = string(h.TargetHealth.State), string(h.TargetHealth.Reason)
			t.Description = aws.ToString(h.TargetHealth.Description)
		}
		targets = append(targets, t)
	}
	return targets, nil
}
