package elbv2

import (
	"context"
	"slices"
	"strconv"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// attributeSpec is a key that a resource supports, with its default and its check.
type attribute struct {
	key, value string
	takes      func(string) bool
}

func anything(string) bool { return true }

func truth(s string) bool { return s == "true" || s == "false" }

func oneOf(words ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(words, s) }
}

func between(lo, hi int, words ...string) func(string) bool {
	return func(s string) bool {
		n, err := strconv.Atoi(s)
		return slices.Contains(words, s) || err == nil && lo <= n && n <= hi
	}
}

func defaults(list []attribute) map[string]string {
	m := make(map[string]string, len(list))
	for _, a := range list {
		m[a.key] = a.value
	}
	return m
}

// changeAttributes checks a change of attributes against the supported ones and returns the
// attributes after the change.
func change(have map[string]string, list []attribute, keys, values []*string) (map[string]string, error) {
	if len(keys) == 0 {
		return nil, invalid("At least one attribute must be specified")
	}
	out := make(map[string]string, len(have))
	for _, a := range list {
		out[a.key] = a.value
		if v, ok := have[a.key]; ok {
			out[a.key] = v
		}
	}
	for i, k := range keys {
		at := slices.IndexFunc(list, func(a attribute) bool { return a.key == val(k) })
		if at < 0 {
			return nil, invalid("Attribute key '%s' is not recognized", val(k))
		}
		if !list[at].takes(val(values[i])) {
			return nil, invalid("The value '%s' for attribute '%s' is not valid", val(values[i]), *k)
		}
		out[*k] = val(values[i])
	}
	return out, nil
}

// listAttributes lists attributes in the order of their specs.
func pairs[T any](have map[string]string, list []attribute, make func(k, v *string) T) []T {
	out := []T{}
	for _, a := range list {
		v, ok := have[a.key]
		if !ok {
			v = a.value
		}
		out = append(out, make(ptr(a.key), &v))
	}
	return out
}

func balancerAttributes(kind string) []attribute {
	list := []attribute{
		{"access_logs.s3.enabled", "false", truth}, {"access_logs.s3.bucket", "", anything}, {"access_logs.s3.prefix", "", anything},
		{"deletion_protection.enabled", "false", truth}, {"ipv6.deny_all_igw_traffic", "false", truth},
		{"zonal_shift.config.enabled", "false", truth},
	}
	if kind == "network" {
		return append(list, attribute{"load_balancing.cross_zone.enabled", "false", truth},
			attribute{"dns_record.client_routing_policy", "any_availability_zone", oneOf("any_availability_zone",
				"availability_zone_affinity", "partial_availability_zone_affinity")})
	}
	return append(list,
		attribute{"idle_timeout.timeout_seconds", "60", between(1, 4000)},
		attribute{"client_keep_alive.seconds", "3600", between(60, 604800)},
		attribute{"routing.http.desync_mitigation_mode", "defensive", oneOf("monitor", "defensive", "strictest")},
		attribute{"routing.http.drop_invalid_header_fields.enabled", "false", truth},
		attribute{"routing.http.preserve_host_header.enabled", "false", truth},
		attribute{"routing.http.x_amzn_tls_version_and_cipher_suite.enabled", "false", truth},
		attribute{"routing.http.xff_client_port.enabled", "false", truth},
		attribute{"routing.http.xff_header_processing.mode", "append", oneOf("append", "preserve", "remove")},
		attribute{"routing.http2.enabled", "true", truth}, attribute{"waf.fail_open.enabled", "false", truth},
		attribute{"load_balancing.cross_zone.enabled", "true", oneOf("true")},
		attribute{"connection_logs.s3.enabled", "false", truth}, attribute{"connection_logs.s3.bucket", "", anything},
		attribute{"connection_logs.s3.prefix", "", anything})
}

func listenerAttributes(protocol string) []attribute {
	if protocol != "HTTP" && protocol != "HTTPS" {
		return []attribute{{"tcp.idle_timeout.seconds", "350", between(60, 6000)}}
	}
	list := []attribute{{"routing.http.response.server.enabled", "true", truth}}
	for _, h := range []string{"strict_transport_security", "access_control_allow_origin", "access_control_allow_methods",
		"access_control_allow_headers", "access_control_allow_credentials", "access_control_expose_headers", "access_control_max_age",
		"content_security_policy", "x_content_type_options", "x_frame_options"} {
		list = append(list, attribute{"routing.http.response." + h + ".header_value", "", anything})
	}
	return list
}

// targetGroupHealth is the prefix of the keys for the minimum number of healthy targets of a group.
const targetGroupHealth = "target_group_health."

func groupAttributes(g *world.TargetGroup) []attribute {
	list := []attribute{
		{"deregistration_delay.timeout_seconds", "300", between(0, 3600)},
		{"stickiness.enabled", "false", truth},
		{"load_balancing.cross_zone.enabled", "use_load_balancer_configuration", oneOf("true", "false", "use_load_balancer_configuration")},
		{targetGroupHealth + "dns_failover.minimum_healthy_targets.count", "1", between(1, 1000, "off")},
		{targetGroupHealth + "dns_failover.minimum_healthy_targets.percentage", "off", between(1, 100, "off")},
		{targetGroupHealth + "unhealthy_state_routing.minimum_healthy_targets.count", "1", between(1, 1000)},
		{targetGroupHealth + "unhealthy_state_routing.minimum_healthy_targets.percentage", "off", between(1, 100, "off")},
	}
	if !isHTTP(g.Protocol) {
		return append(list, attribute{"stickiness.type", "source_ip", oneOf("source_ip")},
			attribute{"deregistration_delay.connection_termination.enabled", "false", truth},
			attribute{"preserve_client_ip.enabled", "false", truth}, attribute{"proxy_protocol_v2.enabled", "false", truth},
			attribute{"target_health_state.unhealthy.connection_termination.enabled", "true", truth},
			attribute{"target_health_state.unhealthy.draining_interval_seconds", "0", between(0, 360000)})
	}
	return append(list,
		attribute{"stickiness.type", "lb_cookie", oneOf("lb_cookie", "app_cookie")},
		attribute{"stickiness.lb_cookie.duration_seconds", "86400", between(1, 604800)},
		attribute{"stickiness.app_cookie.cookie_name", "", anything},
		attribute{"stickiness.app_cookie.duration_seconds", "86400", between(1, 604800)},
		attribute{"slow_start.duration_seconds", "0", between(30, 900, "0")},
		attribute{"load_balancing.algorithm.type", "round_robin", oneOf("round_robin", "least_outstanding_requests", "weighted_random")},
		attribute{"load_balancing.algorithm.anomaly_mitigation", "off", oneOf("on", "off")})
}

func isHTTP(protocol string) bool { return protocol == "HTTP" || protocol == "HTTPS" || protocol == "" }

// checkGroupAttributes checks a group's attributes against each other and against the rules that
// forward to the group.
func checkGroupAttributes(tx *world.Tx, g *world.TargetGroup, want map[string]string) error {
	algorithm := want["load_balancing.algorithm.type"]
	switch {
	case want["slow_start.duration_seconds"] != "0" && isHTTP(g.Protocol) && algorithm != "round_robin":
		return world.Refuse("InvalidConfigurationRequest", "Slow start is supported only with the round_robin algorithm")
	case want["load_balancing.algorithm.anomaly_mitigation"] == "on" && algorithm != "weighted_random":
		return world.Refuse("InvalidConfigurationRequest", "Anomaly mitigation is supported only with the weighted_random algorithm")
	case want["stickiness.enabled"] == "true" && want["stickiness.type"] == "app_cookie" && want["stickiness.app_cookie.cookie_name"] == "":
		return invalid("An application cookie name must be specified")
	}
	if want["stickiness.enabled"] != "true" {
		return nil
	}
	lb, ok := tx.LoadBalancers.Get(g.Balancer)
	if !ok {
		return nil
	}
	for _, l := range lb.Listeners {
		for _, r := range l.Rules {
			f := r.Forwards()
			if f != nil && len(f.Groups) > 1 && !f.Sticky && slices.ContainsFunc(f.Groups, func(s world.Share) bool { return s.Group == g.ARN }) {
				return world.Refuse("InvalidConfigurationRequest", "This target group appears behind a rule with group stickiness disabled (%s). "+
					"You must enable group stickiness before enabling target stickiness", r.ARN)
			}
		}
	}
	return nil
}

// DescribeLoadBalancerAttributes lists a load balancer's attributes.
func (s *Service) DescribeLoadBalancerAttributes(ctx context.Context, in *awselb.DescribeLoadBalancerAttributesInput) (*awselb.DescribeLoadBalancerAttributesOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awselb.DescribeLoadBalancerAttributesOutput, error) {
		lb, err := findBalancer(tx, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		return &awselb.DescribeLoadBalancerAttributesOutput{Attributes: shapeBalancerAttributes(lb)}, nil
	})
}

func shapeBalancerAttributes(lb *world.LoadBalancer) []elbtypes.LoadBalancerAttribute {
	return pairs(lb.Attributes, balancerAttributes(lb.Type), func(k, v *string) elbtypes.LoadBalancerAttribute {
		return elbtypes.LoadBalancerAttribute{Key: k, Value: v}
	})
}

// ModifyLoadBalancerAttributes changes the named attributes.
func (s *Service) ModifyLoadBalancerAttributes(ctx context.Context, in *awselb.ModifyLoadBalancerAttributesInput) (*awselb.ModifyLoadBalancerAttributesOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awselb.ModifyLoadBalancerAttributesOutput, error) {
		lb, err := findBalancer(tx, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		var keys, values []*string
		for _, a := range in.Attributes {
			keys, values = append(keys, a.Key), append(values, a.Value)
		}
		want, err := change(lb.Attributes, balancerAttributes(lb.Type), keys, values)
		if err != nil {
			return nil, err
		}
		lb.Attributes = want
		tx.Changed(world.BalancerChanged, lb)
		return &awselb.ModifyLoadBalancerAttributesOutput{Attributes: shapeBalancerAttributes(lb)}, nil
	})
}

// DescribeTargetGroupAttributes lists a group's attributes.
func (s *Service) DescribeTargetGroupAttributes(ctx context.Context, in *awselb.DescribeTargetGroupAttributesInput) (*awselb.DescribeTargetGroupAttributesOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awselb.DescribeTargetGroupAttributesOutput, error) {
		g, err := findGroup(tx, in.TargetGroupArn)
		if err != nil {
			return nil, err
		}
		return &awselb.DescribeTargetGroupAttributesOutput{Attributes: shapeGroupAttributes(g)}, nil
	})
}

func shapeGroupAttributes(g *world.TargetGroup) []elbtypes.TargetGroupAttribute {
	return pairs(g.Attributes, groupAttributes(g), func(k, v *string) elbtypes.TargetGroupAttribute {
		return elbtypes.TargetGroupAttribute{Key: k, Value: v}
	})
}

// ModifyTargetGroupAttributes changes the named attributes.
func (s *Service) ModifyTargetGroupAttributes(ctx context.Context, in *awselb.ModifyTargetGroupAttributesInput) (*awselb.ModifyTargetGroupAttributesOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awselb.ModifyTargetGroupAttributesOutput, error) {
		g, err := findGroup(tx, in.TargetGroupArn)
		if err != nil {
			return nil, err
		}
		var keys, values []*string
		for _, a := range in.Attributes {
			keys, values = append(keys, a.Key), append(values, a.Value)
		}
		want, err := change(g.Attributes, groupAttributes(g), keys, values)
		if err != nil {
			return nil, err
		}
		if err := checkGroupAttributes(tx, g, want); err != nil {
			return nil, err
		}
		g.Attributes = want
		tx.Changed(world.GroupChanged, g)
		return &awselb.ModifyTargetGroupAttributesOutput{Attributes: shapeGroupAttributes(g)}, nil
	})
}

// DescribeListenerAttributes lists a listener's attributes. They have no effect on requests.
func (s *Service) DescribeListenerAttributes(ctx context.Context, in *awselb.DescribeListenerAttributesInput) (*awselb.DescribeListenerAttributesOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awselb.DescribeListenerAttributesOutput, error) {
		l, err := findListener(tx, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		return &awselb.DescribeListenerAttributesOutput{Attributes: shapeListenerAttributes(l)}, nil
	})
}

func shapeListenerAttributes(l *world.Listener) []elbtypes.ListenerAttribute {
	return pairs(listenerOf(l).attributes, listenerAttributes(l.Protocol), func(k, v *string) elbtypes.ListenerAttribute {
		return elbtypes.ListenerAttribute{Key: k, Value: v}
	})
}

// ModifyListenerAttributes changes the named attributes.
func (s *Service) ModifyListenerAttributes(ctx context.Context, in *awselb.ModifyListenerAttributesInput) (*awselb.ModifyListenerAttributesOutput, error) {
	return call(ctx, s, func(tx *world.Tx) (*awselb.ModifyListenerAttributesOutput, error) {
		l, err := findListener(tx, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		var keys, values []*string
		for _, a := range in.Attributes {
			keys, values = append(keys, a.Key), append(values, a.Value)
		}
		want, err := change(listenerOf(l).attributes, listenerAttributes(l.Protocol), keys, values)
		if err != nil {
			return nil, err
		}
		listenerOf(l).attributes = want
		return &awselb.ModifyListenerAttributesOutput{Attributes: shapeListenerAttributes(l)}, nil
	})
}
