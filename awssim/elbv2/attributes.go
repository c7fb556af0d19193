package elbv2

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// attributeSpec is a key that a resource supports, with its default and its check.
type attributeSpec struct {
	key, value string
	form       valueForm
}

// valueForm is what the values of an attribute have in common.
type valueForm struct {
	isValid func(string) bool
	text    string // what AWS says of other values
}

var anyText = valueForm{isValid: func(string) bool { return true }}

func isBool() valueForm { return isOneOf("true", "false") }

func isOneOf(words ...string) valueForm {
	return valueForm{isValid: func(s string) bool { return slices.Contains(words, s) },
		text: "must be one of '" + strings.Join(words, ", ") + "'"}
}

func isBetween(lo, hi int, words ...string) valueForm {
	return valueForm{isValid: func(s string) bool {
		n, err := strconv.Atoi(s)
		return slices.Contains(words, s) || err == nil && lo <= n && n <= hi
	}, text: fmt.Sprintf("must be between '%d-%d' inclusive", lo, hi)}
}

func defaultValues(list []attributeSpec) map[string]string {
	m := make(map[string]string, len(list))
	for _, a := range list {
		m[a.key] = a.value
	}
	return m
}

// changeAttributes checks a change of attributes against the supported ones and returns the
// attributes after the change. of is what the attributes belong to, such as "Target group".
func changeAttributes(of string, have map[string]string, list []attributeSpec, keys, values []*string) (
	map[string]string, error) {
	if len(keys) == 0 {
		return nil, validationError("At least one attribute must be specified")
	}
	out := make(map[string]string, len(have))
	for _, a := range list {
		out[a.key] = a.value
		if v, ok := have[a.key]; ok {
			out[a.key] = v
		}
	}
	for i, k := range keys {
		at := slices.IndexFunc(list, func(a attributeSpec) bool { return a.key == val(k) })
		if at < 0 {
			return nil, validationError("%s attribute key '%s' is not recognized", of, val(k))
		}
		if form := list[at].form; !form.isValid(val(values[i])) {
			return nil, validationError("'%s' value '%s' %s", *k, val(values[i]), form.text)
		}
		out[*k] = val(values[i])
	}
	return out, nil
}

// listAttributes lists attributes in the order of their specs.
func listAttributes[T any](have map[string]string, list []attributeSpec, make func(k, v *string) T) []T {
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

func balancerAttributes(kind string) []attributeSpec {
	list := []attributeSpec{
		{"access_logs.s3.enabled", "false", isBool()}, {"access_logs.s3.bucket", "", anyText},
		{"access_logs.s3.prefix", "", anyText},
		{"deletion_protection.enabled", "false", isBool()}, {"ipv6.deny_all_igw_traffic", "false", isBool()},
		{"zonal_shift.config.enabled", "false", isBool()},
	}
	if kind == "network" {
		return append(list, attributeSpec{"load_balancing.cross_zone.enabled", "false", isBool()},
			attributeSpec{"dns_record.client_routing_policy", "any_availability_zone", isOneOf("any_availability_zone",
				"availability_zone_affinity", "partial_availability_zone_affinity")})
	}
	return append(list,
		attributeSpec{"idle_timeout.timeout_seconds", "60", isBetween(1, 4000)},
		attributeSpec{"client_keep_alive.seconds", "3600", isBetween(60, 604800)},
		attributeSpec{"routing.http.desync_mitigation_mode", "defensive", isOneOf("monitor", "defensive", "strictest")},
		attributeSpec{"routing.http.drop_invalid_header_fields.enabled", "false", isBool()},
		attributeSpec{"routing.http.preserve_host_header.enabled", "false", isBool()},
		attributeSpec{"routing.http.x_amzn_tls_version_and_cipher_suite.enabled", "false", isBool()},
		attributeSpec{"routing.http.xff_client_port.enabled", "false", isBool()},
		attributeSpec{"routing.http.xff_header_processing.mode", "append", isOneOf("append", "preserve", "remove")},
		attributeSpec{"routing.http2.enabled", "true", isBool()}, attributeSpec{"waf.fail_open.enabled", "false", isBool()},
		attributeSpec{"load_balancing.cross_zone.enabled", "true", isOneOf("true")},
		attributeSpec{"connection_logs.s3.enabled", "false", isBool()}, attributeSpec{"connection_logs.s3.bucket", "",
			anyText},
		attributeSpec{"connection_logs.s3.prefix", "", anyText})
}

// requestHeaders are the names, which can change, of the headers that an HTTPS listener adds to
// requests.
func requestHeaders() (list []attributeSpec) {
	for _, h := range []string{"Mtls-Clientcert", "Mtls-Clientcert-Serial-Number", "Mtls-Clientcert-Issuer",
		"Mtls-Clientcert-Subject", "Mtls-Clientcert-Validity", "Mtls-Clientcert-Leaf", "Tls-Version",
		"Tls-Cipher-Suite"} {
		key := strings.ToLower(strings.ReplaceAll("X-Amzn-"+h, "-", "_"))
		list = append(list, attributeSpec{"routing.http.request." + key + ".header_name", "X-Amzn-" + h, anyText})
	}
	return list
}

func listenerAttributes(protocol string) []attributeSpec {
	if protocol != "HTTP" && protocol != "HTTPS" {
		return []attributeSpec{{"tcp.idle_timeout.seconds", "350", isBetween(60, 6000)}}
	}
	list := []attributeSpec{{"routing.http.response.server.enabled", "true", isBool()}}
	if protocol == "HTTPS" {
		list = append(list, requestHeaders()...)
	}
	for _, h := range []string{"strict_transport_security", "access_control_allow_origin",
		"access_control_allow_methods",
		"access_control_allow_headers", "access_control_allow_credentials", "access_control_expose_headers",
		"access_control_max_age",
		"content_security_policy", "x_content_type_options", "x_frame_options"} {
		list = append(list, attributeSpec{"routing.http.response." + h + ".header_value", "", anyText})
	}
	return list
}

// targetGroupHealth is the prefix of the keys for the minimum number of healthy targets of a group.
const targetGroupHealth = "target_group_health."

func groupAttributes(g *world.TargetGroup) []attributeSpec {
	list := []attributeSpec{
		{"deregistration_delay.timeout_seconds", "300", isBetween(0, 3600)},
		{"stickiness.enabled", "false", isBool()},
		{"load_balancing.cross_zone.enabled", "use_load_balancer_configuration",
			isOneOf("true", "false", "use_load_balancer_configuration")},
		{targetGroupHealth + "dns_failover.minimum_healthy_targets.count", "1", isBetween(1, 1000, "off")},
		{targetGroupHealth + "dns_failover.minimum_healthy_targets.percentage", "off", isBetween(1, 100, "off")},
		{targetGroupHealth + "unhealthy_state_routing.minimum_healthy_targets.count", "1", isBetween(1, 1000)},
		{targetGroupHealth + "unhealthy_state_routing.minimum_healthy_targets.percentage", "off",
			isBetween(1, 100, "off")},
	}
	if !isHTTP(g.Protocol) {
		return append(list, attributeSpec{"stickiness.type", "source_ip", isOneOf("source_ip")},
			attributeSpec{"deregistration_delay.connection_termination.enabled", "false", isBool()},
			attributeSpec{"preserve_client_ip.enabled", "false", isBool()}, attributeSpec{"proxy_protocol_v2.enabled",
				"false", isBool()},
			attributeSpec{"target_health_state.unhealthy.connection_termination.enabled", "true", isBool()},
			attributeSpec{"target_health_state.unhealthy.draining_interval_seconds", "0", isBetween(0, 360000)})
	}
	return append(list,
		attributeSpec{"stickiness.type", "lb_cookie", isOneOf("lb_cookie", "app_cookie")},
		attributeSpec{"stickiness.lb_cookie.duration_seconds", "86400", isBetween(1, 604800)},
		attributeSpec{"stickiness.app_cookie.cookie_name", "", anyText},
		attributeSpec{"stickiness.app_cookie.duration_seconds", "86400", isBetween(1, 604800)},
		attributeSpec{"slow_start.duration_seconds", "0", isBetween(30, 900, "0")},
		attributeSpec{"load_balancing.algorithm.type", "round_robin",
			isOneOf("round_robin", "least_outstanding_requests", "weighted_random")},
		attributeSpec{"load_balancing.algorithm.anomaly_mitigation", "off", isOneOf("on", "off")})
}

func isHTTP(protocol string) bool { return protocol == "HTTP" || protocol == "HTTPS" || protocol == "" }

// checkStickinessType rejects a type of stickiness that belongs to groups of other protocols.
func checkStickinessType(g *world.TargetGroup, key, value string) error {
	byCookie, byAddress := isOneOf("lb_cookie", "app_cookie"), isOneOf("source_ip", "source_ip_dest_ip",
		"source_ip_dest_ip_proto")
	other := byAddress
	if !isHTTP(g.Protocol) {
		other = byCookie
	}
	if key == "stickiness.type" && other.isValid(value) {
		return world.Refuse("InvalidConfigurationRequest",
			"Stickiness type '%s' is not supported for target groups with the %s protocol", value, g.Protocol)
	}
	return nil
}

// checkGroupAttributes checks a group's attributes against each other and against the rules that
// forward to the group.
func checkGroupAttributes(tx *world.Tx, g *world.TargetGroup, want map[string]string) error {
	algorithm := want["load_balancing.algorithm.type"]
	switch {
	case want["slow_start.duration_seconds"] != "0" && isHTTP(g.Protocol) && algorithm != "round_robin":
		return world.Refuse("InvalidConfigurationRequest",
			"Slow start is supported only with the round_robin algorithm")
	case want["load_balancing.algorithm.anomaly_mitigation"] == "on" && algorithm != "weighted_random":
		return world.Refuse("InvalidConfigurationRequest",
			"Anomaly mitigation is supported only with the weighted_random algorithm")
	case want["stickiness.enabled"] == "true" && want["stickiness.type"] == "app_cookie" &&
		want["stickiness.app_cookie.cookie_name"] == "":
		return validationError("An application cookie name must be specified")
	case strings.HasPrefix(want["stickiness.app_cookie.cookie_name"], "AWSALB"):
		return validationError("Names of application cookies cannot begin with 'AWSALB': '%s'",
			want["stickiness.app_cookie.cookie_name"])
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
			f := r.ForwardAction()
			if f != nil && len(f.Groups) > 1 && !f.Sticky &&
				slices.ContainsFunc(f.Groups, func(s world.Share) bool { return s.Group == g.ARN }) {
				return world.Refuse("InvalidConfigurationRequest",
					"This target group appears behind a rule with group stickiness disabled (%s). "+
						"You must enable group stickiness before enabling target stickiness", r.ARN)
			}
		}
	}
	return nil
}

// DescribeLoadBalancerAttributes lists a load balancer's attributes.
func (s *Service) DescribeLoadBalancerAttributes(ctx context.Context,
	in *awselb.DescribeLoadBalancerAttributesInput) (*awselb.DescribeLoadBalancerAttributesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DescribeLoadBalancerAttributesOutput, error) {
		lb, err := findBalancer(tx, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		return &awselb.DescribeLoadBalancerAttributesOutput{Attributes: shapeBalancerAttributes(lb)}, nil
	})
}

func shapeBalancerAttributes(lb *world.LoadBalancer) []elbtypes.LoadBalancerAttribute {
	return listAttributes(lb.Attributes, balancerAttributes(lb.Type),
		func(k, v *string) elbtypes.LoadBalancerAttribute {
			return elbtypes.LoadBalancerAttribute{Key: k, Value: v}
		})
}

// ModifyLoadBalancerAttributes changes the named attributes.
func (s *Service) ModifyLoadBalancerAttributes(ctx context.Context,
	in *awselb.ModifyLoadBalancerAttributesInput) (*awselb.ModifyLoadBalancerAttributesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.ModifyLoadBalancerAttributesOutput, error) {
		lb, err := findBalancer(tx, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		var keys, values []*string
		for _, a := range in.Attributes {
			keys, values = append(keys, a.Key), append(values, a.Value)
		}
		want, err := changeAttributes("Load balancer", lb.Attributes, balancerAttributes(lb.Type), keys, values)
		if err != nil {
			return nil, err
		}
		lb.Attributes = want
		tx.Changed(world.BalancerChanged, lb)
		return &awselb.ModifyLoadBalancerAttributesOutput{Attributes: shapeBalancerAttributes(lb)}, nil
	})
}

// DescribeTargetGroupAttributes lists a group's attributes.
func (s *Service) DescribeTargetGroupAttributes(ctx context.Context,
	in *awselb.DescribeTargetGroupAttributesInput) (*awselb.DescribeTargetGroupAttributesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DescribeTargetGroupAttributesOutput, error) {
		g, err := findGroup(tx, in.TargetGroupArn)
		if err != nil {
			return nil, err
		}
		return &awselb.DescribeTargetGroupAttributesOutput{Attributes: shapeGroupAttributes(g)}, nil
	})
}

func shapeGroupAttributes(g *world.TargetGroup) []elbtypes.TargetGroupAttribute {
	return listAttributes(g.Attributes, groupAttributes(g), func(k, v *string) elbtypes.TargetGroupAttribute {
		return elbtypes.TargetGroupAttribute{Key: k, Value: v}
	})
}

// ModifyTargetGroupAttributes changes the named attributes.
func (s *Service) ModifyTargetGroupAttributes(ctx context.Context,
	in *awselb.ModifyTargetGroupAttributesInput) (*awselb.ModifyTargetGroupAttributesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.ModifyTargetGroupAttributesOutput, error) {
		g, err := findGroup(tx, in.TargetGroupArn)
		if err != nil {
			return nil, err
		}
		var keys, values []*string
		for _, a := range in.Attributes {
			keys, values = append(keys, a.Key), append(values, a.Value)
			if err := checkStickinessType(g, val(a.Key), val(a.Value)); err != nil {
				return nil, err
			}
		}
		want, err := changeAttributes("Target group", g.Attributes, groupAttributes(g), keys, values)
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
func (s *Service) DescribeListenerAttributes(ctx context.Context,
	in *awselb.DescribeListenerAttributesInput) (*awselb.DescribeListenerAttributesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DescribeListenerAttributesOutput, error) {
		l, err := findListener(tx, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		return &awselb.DescribeListenerAttributesOutput{Attributes: shapeListenerAttributes(l)}, nil
	})
}

func shapeListenerAttributes(l *world.Listener) []elbtypes.ListenerAttribute {
	return listAttributes(listenerOf(l).attributes, listenerAttributes(l.Protocol),
		func(k, v *string) elbtypes.ListenerAttribute {
			return elbtypes.ListenerAttribute{Key: k, Value: v}
		})
}

// ModifyListenerAttributes changes the named attributes.
func (s *Service) ModifyListenerAttributes(ctx context.Context,
	in *awselb.ModifyListenerAttributesInput) (*awselb.ModifyListenerAttributesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.ModifyListenerAttributesOutput, error) {
		l, err := findListener(tx, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		var keys, values []*string
		for _, a := range in.Attributes {
			keys, values = append(keys, a.Key), append(values, a.Value)
		}
		want, err := changeAttributes("Listener", listenerOf(l).attributes, listenerAttributes(l.Protocol), keys,
			values)
		if err != nil {
			return nil, err
		}
		listenerOf(l).attributes = want
		return &awselb.ModifyListenerAttributesOutput{Attributes: shapeListenerAttributes(l)}, nil
	})
}
