package elbv2

import (
	"slices"
	"strconv"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxActionGroups   = 5   // target groups per forward action
	maxBalancerGroups = 100 // target groups per load balancer
)

func badAction(format string, args ...any) error {
	return world.Refuse("InvalidLoadBalancerAction", format, args...)
}

// newActions checks a list of actions for a rule of the listener and converts it for the world. old
// is the rule with the previous actions, or nil.
func newActions(tx *world.Tx, l *world.Listener, in []elbtypes.Action, old *world.Rule) ([]world.Action, error) {
	if len(in) == 0 {
		return nil, validationError("At least one action must be specified")
	}
	ordered, err := sortByOrder(in)
	if err != nil {
		return nil, err
	}
	var out []world.Action
	for i, a := range ordered {
		final := isFinal(a.Type)
		if last := i == len(ordered)-1; final != last {
			return nil,
				badAction("Exactly one action of type 'forward', 'redirect' or 'fixed-response' must be specified, " +
					"and it must be the last action to be performed")
		}
		x, err := newAction(tx, l, a, old)
		if err != nil {
			return nil, err
		}
		x.Type, x.Order = string(a.Type), int32(i+1)
		if a.Order != nil {
			x.Order = *a.Order
		}
		out = append(out, x)
	}
	return out, checkGroupCount(l, out, old)
}

func isFinal(t elbtypes.ActionTypeEnum) bool {
	return t == elbtypes.ActionTypeEnumForward || t == elbtypes.ActionTypeEnumRedirect ||
		t == elbtypes.ActionTypeEnumFixedResponse
}

// sortByOrder sorts actions by their Order. With several actions, each must have one.
func sortByOrder(in []elbtypes.Action) ([]elbtypes.Action, error) {
	seen := map[int32]bool{}
	for _, a := range in {
		switch {
		case a.Order == nil && len(in) > 1:
			return nil, validationError("An action order must be specified for each action when there is more than one")
		case a.Order == nil:
		case *a.Order < 1 || *a.Order > maxPriority:
			return nil, validationError("Action order '%d' must be between 1 and %d", *a.Order, maxPriority)
		case seen[*a.Order]:
			return nil, badAction("Action order '%d' is used more than once", *a.Order)
		}
		seen[val(a.Order)] = true
	}
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b elbtypes.Action) int { return int(val(a.Order) - val(b.Order)) })
	return out, nil
}

func newAction(tx *world.Tx, l *world.Listener, a elbtypes.Action, old *world.Rule) (world.Action, error) {
	var x world.Action
	err := checkNetworkAction(l, a)
	if err != nil {
		return x, err
	}
	switch a.Type {
	case elbtypes.ActionTypeEnumForward:
		x.Forward, err = newForward(tx, l, a)
	case elbtypes.ActionTypeEnumRedirect:
		x.Redirect, err = newRedirect(a.RedirectConfig)
	case elbtypes.ActionTypeEnumFixedResponse:
		x.Fixed, err = newFixed(a.FixedResponseConfig)
	case elbtypes.ActionTypeEnumAuthenticateOidc, elbtypes.ActionTypeEnumAuthenticateCognito,
		elbtypes.ActionTypeEnumJwtValidation:
		x.Doc, err = newAuthAction(l, a, old)
	default:
		err = badAction("Action type '%s' is not valid", a.Type)
	}
	return x, err
}

func newForward(tx *world.Tx, l *world.Listener, a elbtypes.Action) (*world.Forward, error) {
	f, err := sharesOf(a)
	if err != nil {
		return nil, err
	}
	if err := checkNetworkForward(tx, l, f, a); err != nil {
		return nil, err
	}
	targetSticky := false
	for _, s := range f.Groups {
		g, ok := tx.TargetGroups.Get(s.Group)
		if !ok {
			return nil, world.Refuse("TargetGroupNotFound", "Target groups '%s' not found", s.Group)
		}
		if err := checkGroupFits(l, g); err != nil {
			return nil, err
		}
		targetSticky = targetSticky || g.Attributes["stickiness.enabled"] == "true"
	}
	if len(f.Groups) > 1 && targetSticky && !f.Sticky {
		return nil, world.Refuse("InvalidConfigurationRequest",
			"You must enable group stickiness on a rule if you enabled target stickiness on one of its target groups")
	}
	return f, nil
}

// checkGroupFits refuses a group that the listener cannot forward to.
func checkGroupFits(l *world.Listener, g *world.TargetGroup) error {
	if g.Balancer != "" && g.Balancer != l.Balancer.ARN {
		return world.Refuse("TargetGroupAssociationLimit",
			"The following target groups cannot be associated with more than one load balancer: %s", g.ARN)
	}
	if isHTTP(g.Protocol) != isHTTP(l.Protocol) || !isNetworkPair(l, g) {
		return world.Refuse("IncompatibleProtocols",
			"The protocol '%s' of the target group is not compatible with the listener protocol '%s'", g.Protocol,
			l.Protocol)
	}
	if vpc := balancerOf(l.Balancer).vpc; vpc != "" && g.VPC != "" && g.VPC != vpc {
		return validationError("The target group '%s' is not in the same VPC as the load balancer", g.ARN)
	}
	return nil
}

// sharesOf reads the two forms of a forward.
func sharesOf(a elbtypes.Action) (*world.Forward, error) {
	c := a.ForwardConfig
	if c == nil || len(c.TargetGroups) == 0 {
		if val(a.TargetGroupArn) == "" {
			return nil,
				badAction(
					"A target group ARN or a forward configuration must be specified for actions of type 'forward'")
		}
		c = &elbtypes.ForwardActionConfig{TargetGroups: []elbtypes.TargetGroupTuple{{TargetGroupArn: a.TargetGroupArn}},
			TargetGroupStickinessConfig: stickinessOf(c)}
	}
	if a.TargetGroupArn != nil &&
		(len(c.TargetGroups) != 1 || val(c.TargetGroups[0].TargetGroupArn) != *a.TargetGroupArn) {
		return nil,
			badAction("You can specify both a target group ARN and a forward configuration only if they name the " +
				"same single target group")
	}
	if len(c.TargetGroups) > maxActionGroups {
		return nil, badAction("A forward action can have at most %d target groups", maxActionGroups)
	}
	f := &world.Forward{}
	for _, t := range c.TargetGroups {
		s := world.Share{Group: val(t.TargetGroupArn), Weight: val(t.Weight)}
		switch {
		case slices.ContainsFunc(f.Groups, func(o world.Share) bool { return o.Group == s.Group }):
			return nil, badAction("Target group '%s' is specified more than once", s.Group)
		case s.Weight < 0 || s.Weight > 999:
			return nil, validationError("Target group weight '%d' must be between 0 and 999", s.Weight)
		case t.Weight == nil, len(c.TargetGroups) == 1 && s.Weight > 0:
			s.Weight = 1 // as AWS reads it back
		}
		f.Groups = append(f.Groups, s)
	}
	return f, setSticky(f, c.TargetGroupStickinessConfig)
}

func stickinessOf(c *elbtypes.ForwardActionConfig) *elbtypes.TargetGroupStickinessConfig {
	if c == nil {
		return nil
	}
	return c.TargetGroupStickinessConfig
}

func setSticky(f *world.Forward, c *elbtypes.TargetGroupStickinessConfig) error {
	if c == nil {
		return nil
	}
	f.Sticky, f.StickySeconds = val(c.Enabled), val(c.DurationSeconds)
	switch {
	case !f.Sticky:
		f.StickySeconds = 0
	case c.DurationSeconds == nil:
		return validationError("A duration must be specified when target group stickiness is enabled")
	case f.StickySeconds < 1 || f.StickySeconds > 604800:
		return validationError("Target group stickiness duration '%d' must be between 1 and 604800 seconds",
			f.StickySeconds)
	}
	return nil
}

// checkGroupCount checks the number of the load balancer's groups, with the new actions in place of
// the old, against its quota.
func checkGroupCount(l *world.Listener, actions []world.Action, old *world.Rule) error {
	seen := map[string]bool{}
	count := func(list []world.Action) {
		for _, a := range list {
			if a.Forward != nil {
				for _, s := range a.Forward.Groups {
					seen[s.Group] = true
				}
			}
		}
	}
	count(actions)
	for _, other := range l.Balancer.Listeners {
		for _, r := range other.Rules {
			if r != old {
				count(r.Actions)
			}
		}
	}
	if len(seen) > maxBalancerGroups {
		return world.Refuse("TooManyUniqueTargetGroupsPerLoadBalancer",
			"The maximum number of unique target groups per load balancer is '%d'", maxBalancerGroups)
	}
	return nil
}

func newRedirect(c *elbtypes.RedirectActionConfig) (*world.Redirect, error) {
	if c == nil {
		return nil, badAction("A redirect configuration must be specified for actions of type 'redirect'")
	}
	r := &world.Redirect{
		Protocol: valueOr(c.Protocol, "#{protocol}"), Host: valueOr(c.Host, "#{host}"),
		Port: valueOr(c.Port, "#{port}"),
		Path: valueOr(c.Path, "/#{path}"), Query: valueOr(c.Query, "#{query}"), Status: 302,
	}
	switch c.StatusCode {
	case elbtypes.RedirectActionStatusCodeEnumHttp301:
		r.Status = 301
	case elbtypes.RedirectActionStatusCodeEnumHttp302:
	default:
		return nil, validationError("Redirect status code '%s' must be one of 'HTTP_301', 'HTTP_302'", c.StatusCode)
	}
	port, err := strconv.Atoi(r.Port)
	switch {
	case !slices.Contains([]string{"HTTP", "HTTPS", "#{protocol}"}, r.Protocol):
		return nil, validationError("Redirect protocol '%s' must be one of 'HTTP', 'HTTPS', '#{protocol}'", r.Protocol)
	case r.Port != "#{port}" && (err != nil || port < 1 || port > 65535):
		return nil, validationError("Redirect port '%s' must be between 1 and 65535 or '#{port}'", r.Port)
	case r.Path[0] != '/':
		return nil, validationError("Redirect path '%s' must begin with '/'", r.Path)
	case r.Protocol == "#{protocol}" && r.Host == "#{host}" && r.Port == "#{port}" && r.Path == "/#{path}":
		return nil, badAction("The redirect configuration is not valid because it creates a loop")
	}
	return r, nil
}

func valueOr(s *string, otherwise string) string {
	if s == nil || *s == "" {
		return otherwise
	}
	return *s
}

func newFixed(c *elbtypes.FixedResponseActionConfig) (*world.Fixed, error) {
	if c == nil {
		return nil, badAction("A fixed-response configuration must be specified for actions of type 'fixed-response'")
	}
	f := &world.Fixed{ContentType: val(c.ContentType), Body: val(c.MessageBody)}
	code, err := strconv.Atoi(val(c.StatusCode))
	if err != nil || code < 200 || code > 599 || code/100 == 3 {
		return nil, validationError("Fixed-response status code '%s' must be 2XX, 4XX or 5XX", val(c.StatusCode))
	}
	f.Status = code
	types := []string{"", "text/plain", "text/css", "text/html", "application/javascript", "application/json"}
	if !slices.Contains(types, f.ContentType) {
		return nil, badAction("The ContentType must be one of:'text/html', 'application/json', " +
			"'application/javascript', 'text/css', 'text/plain'")
	}
	if len(f.Body) > 1024 {
		return nil, validationError("The fixed-response message body cannot be longer than 1024 characters")
	}
	return f, nil
}

// shapeActions returns actions in the form in which AWS returns them.
func shapeActions(in []world.Action) []elbtypes.Action {
	out := []elbtypes.Action{}
	for _, a := range in {
		x := elbtypes.Action{Type: elbtypes.ActionTypeEnum(a.Type), Order: ptr(max(a.Order, 1))}
		switch {
		case a.Forward != nil:
			shapeForward(&x, a.Forward)
		case a.Redirect != nil:
			r := a.Redirect
			x.RedirectConfig = &elbtypes.RedirectActionConfig{
				Protocol: ptr(r.Protocol), Host: ptr(r.Host), Port: ptr(r.Port), Path: ptr(r.Path), Query: ptr(r.Query),
				StatusCode: elbtypes.RedirectActionStatusCodeEnum("HTTP_" + strconv.Itoa(r.Status)),
			}
		case a.Fixed != nil:
			x.FixedResponseConfig = &elbtypes.FixedResponseActionConfig{
				StatusCode: ptr(strconv.Itoa(a.Fixed.Status)), ContentType: optionalText(a.Fixed.ContentType),
				MessageBody: optionalText(a.Fixed.Body),
			}
		}
		if g, ok := a.Doc.(*authAction); ok {
			g.shapeInto(&x)
		}
		out = append(out, x)
	}
	return out
}

// shapeForward writes a single group in both forms, several groups only in the configuration.
func shapeForward(x *elbtypes.Action, f *world.Forward) {
	c := &elbtypes.ForwardActionConfig{TargetGroupStickinessConfig: &elbtypes.TargetGroupStickinessConfig{Enabled: ptr(
		f.Sticky)}}
	if f.Sticky {
		c.TargetGroupStickinessConfig.DurationSeconds = ptr(f.StickySeconds)
	}
	for _, s := range f.Groups {
		c.TargetGroups = append(c.TargetGroups, elbtypes.TargetGroupTuple{TargetGroupArn: ptr(s.Group),
			Weight: ptr(s.Weight)})
	}
	if len(f.Groups) == 1 {
		x.TargetGroupArn = ptr(f.Groups[0].Group)
	}
	x.ForwardConfig = c
}
