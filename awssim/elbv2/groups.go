package elbv2

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxGroups   = 3000 // per Region
	grpcVersion = "GRPC"
)

// groupDoc holds the data of a target group that no controller reads.
type groupDoc struct {
	version string // protocol version
	ip      elbtypes.TargetGroupIpAddressTypeEnum
	grpc    string // matcher
	control *int32
	tags    tags
}

func groupOf(g *world.TargetGroup) *groupDoc { return apiDoc[groupDoc](&g.Doc) }

// CreateTargetGroup creates a target group. A second call with the same settings returns the first
// one.
func (s *Service) CreateTargetGroup(ctx context.Context,
	in *awselb.CreateTargetGroupInput) (*awselb.CreateTargetGroupOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.CreateTargetGroupOutput, error) {
		g, err := newGroup(tx, in)
		if err != nil {
			return nil, err
		}
		if old := groupNamed(tx, g.Name); old != nil {
			if !sameGroup(old, g) {
				return nil, world.Refuse("DuplicateTargetGroupName",
					"A target group with the same name '%s' exists, but with different settings", g.Name)
			}
			return &awselb.CreateTargetGroupOutput{TargetGroups: []elbtypes.TargetGroup{shapeGroup(old)}}, nil
		}
		if tx.TargetGroups.Len() >= maxGroups {
			return nil, world.Refuse("TooManyTargetGroups", "The maximum number of target groups has been reached")
		}
		g.ARN = arnOr(ctx, func() string {
			return tx.ARN("elasticloadbalancing", "targetgroup/"+g.Name+"/"+tx.NewHex("target group", 16))
		})
		tx.TargetGroups.Put(g.ARN, g)
		tx.Log("group", g.Name, "created")
		tx.Changed(world.GroupChanged, g)
		return &awselb.CreateTargetGroupOutput{TargetGroups: []elbtypes.TargetGroup{shapeGroup(g)}}, nil
	})
}

func newGroup(tx *world.Tx, in *awselb.CreateTargetGroupInput) (*world.TargetGroup, error) {
	if err := checkName("Target group", val(in.Name)); err != nil {
		return nil, err
	}
	g := &world.TargetGroup{Name: *in.Name, Protocol: string(in.Protocol), Port: val(in.Port), VPC: val(in.VpcId),
		TargetType: string(in.TargetType)}
	if g.TargetType == "" {
		g.TargetType = "instance"
	}
	if err := checkGroup(tx, g); err != nil {
		return nil, err
	}
	d := &groupDoc{version: val(in.ProtocolVersion), ip: in.IpAddressType, control: deepCopy(in.TargetControlPort)}
	if d.version == "" && isHTTP(g.Protocol) && g.TargetType != "lambda" {
		d.version = "HTTP1"
	}
	if d.ip == "" {
		d.ip = elbtypes.TargetGroupIpAddressTypeEnumIpv4
	}
	var err error
	if d.tags, err = newTags(in.Tags); err != nil {
		return nil, err
	}
	g.Doc, g.Attributes = d, defaultValues(groupAttributes(g))
	g.Check = defaultCheck(g)
	return g, setCheck(g, checkInput{
		enabled: in.HealthCheckEnabled, protocol: in.HealthCheckProtocol, path: in.HealthCheckPath,
		port:     in.HealthCheckPort,
		interval: in.HealthCheckIntervalSeconds, timeout: in.HealthCheckTimeoutSeconds,
		healthy: in.HealthyThresholdCount, unhealthy: in.UnhealthyThresholdCount, matcher: in.Matcher,
	})
}

func checkGroup(tx *world.Tx, g *world.TargetGroup) error {
	if !slices.Contains(elbtypes.TargetTypeEnum("").Values(), elbtypes.TargetTypeEnum(g.TargetType)) {
		return validationError("Target type '%s' must be one of 'instance', 'ip', 'lambda', 'alb'", g.TargetType)
	}
	if g.TargetType == "lambda" {
		return checkLambdaGroup(g)
	}
	switch {
	case g.Protocol == "":
		return validationError("A protocol must be specified")
	case !slices.Contains([]string{"HTTP", "HTTPS", "TCP", "TLS", "UDP", "TCP_UDP", "GENEVE"}, g.Protocol):
		return validationError("Protocol '%s' is not valid", g.Protocol)
	case g.Port == 0:
		return validationError("A port must be specified")
	case g.Port < 1 || g.Port > 65535:
		return validationError("Port '%d' must be between 1 and 65535", g.Port)
	case g.VPC == "":
		return validationError("A VPC ID must be specified")
	}
	if _, ok := tx.VPCs.Get(g.VPC); !ok && tx.VPCs.Len() > 0 {
		return validationError("The VPC ID '%s' is not found", g.VPC)
	}
	return nil
}

// checkLambdaGroup rejects what a group of a Lambda function does not have.
func checkLambdaGroup(g *world.TargetGroup) error {
	for _, x := range []struct {
		name string
		set  bool
	}{{"Protocol", g.Protocol != ""}, {"Port", g.Port != 0}, {"VPC ID", g.VPC != ""}} {
		if x.set {
			return validationError("%s cannot be specified for target groups with target type 'lambda'", x.name)
		}
	}
	return nil
}

// checkVersion rejects a protocol version that the group's protocol does not have, and a matcher of
// another version.
func checkVersion(g *world.TargetGroup, m *elbtypes.Matcher) error {
	version := groupOf(g).version
	switch {
	case version != "" && (!isHTTP(g.Protocol) || g.TargetType == "lambda"):
		return world.Refuse("InvalidConfigurationRequest",
			"Protocol version '%s' is not supported for target groups with the %s protocol", version, g.Protocol)
	case version != "" && !slices.Contains([]string{"HTTP1", "HTTP2", grpcVersion}, version):
		return validationError("Protocol version '%s' must be one of 'HTTP1, HTTP2, GRPC'", version)
	case m != nil && m.GrpcCode != nil && version != grpcVersion:
		return validationError("A GRPC code can be specified only for target groups with the protocol version 'GRPC'")
	case m != nil && m.HttpCode != nil && version == grpcVersion:
		return validationError("An HTTP code cannot be specified for target groups with the protocol version 'GRPC'")
	}
	return nil
}

// defaultCheck returns the default health check of a group.
func defaultCheck(g *world.TargetGroup) world.HealthCheck {
	c := world.HealthCheck{
		Enabled: g.TargetType != "lambda", Protocol: "HTTP", Path: "/", Port: "traffic-port",
		Interval: 30 * time.Second, Timeout: 5 * time.Second, Healthy: 5, Unhealthy: 2, Matcher: "200",
	}
	if groupOf(g).version == grpcVersion {
		c.Path = "/AWS.ALB/healthcheck"
	}
	if !isHTTP(g.Protocol) {
		c.Protocol, c.Path, c.Matcher, c.Timeout = "TCP", "", "", 10*time.Second
	}
	return c
}

// checkInput is the health check part of Create- and ModifyTargetGroup.
type checkInput struct {
	enabled            *bool
	protocol           elbtypes.ProtocolEnum
	path, port         *string
	interval, timeout  *int32
	healthy, unhealthy *int32
	matcher            *elbtypes.Matcher
}

// setCheck changes the given members of a group's health check, if the result is valid.
func setCheck(g *world.TargetGroup, in checkInput) error {
	c := g.Check
	if in.protocol != "" {
		if !slices.Contains([]string{"HTTP", "HTTPS", "TCP"}, string(in.protocol)) || in.protocol == "TCP" &&
			isHTTP(g.Protocol) {
			return world.Refuse("InvalidConfigurationRequest",
				"Health check protocol '%s' is not supported for target groups with the %s protocol", in.protocol,
				g.Protocol)
		}
		if c.Protocol == "TCP" && in.protocol != "TCP" {
			c.Path, c.Matcher, c.Timeout = "/", "200", 6*time.Second
		}
		c.Protocol = string(in.protocol)
	}
	setIf(&c.Enabled, in.enabled)
	setIf(&c.Path, in.path)
	setIf(&c.Port, in.port)
	setSeconds(&c.Interval, in.interval)
	setSeconds(&c.Timeout, in.timeout)
	setCount(&c.Healthy, in.healthy)
	setCount(&c.Unhealthy, in.unhealthy)
	if err := firstError(checkVersion(g, in.matcher), checkTCP(c, in)); err != nil {
		return err
	}
	grpc := groupOf(g).grpc
	if in.matcher != nil {
		setIf(&c.Matcher, in.matcher.HttpCode)
		setIf(&grpc, in.matcher.GrpcCode)
	}
	if err := checkCheck(g, c); err != nil {
		return err
	}
	g.Check, groupOf(g).grpc = c, grpc
	return nil
}

// checkTCP rejects what a health check by TCP does not have.
func checkTCP(c world.HealthCheck, in checkInput) error {
	switch {
	case c.Protocol != "TCP":
	case val(in.path) != "":
		return world.Refuse("InvalidConfigurationRequest", "Health check paths are not supported for TCP health checks")
	case in.matcher != nil:
		return world.Refuse("InvalidConfigurationRequest", "Health check matchers are not supported for TCP health checks")
	}
	return nil
}

func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func setIf[T any](at *T, v *T) {
	if v != nil {
		*at = *v
	}
}

func setSeconds(at *time.Duration, v *int32) {
	if v != nil {
		*at = time.Duration(*v) * time.Second
	}
}

func setCount(at *int, v *int32) {
	if v != nil {
		*at = int(*v)
	}
}

func checkCheck(g *world.TargetGroup, c world.HealthCheck) error {
	second := time.Second
	switch {
	case !c.Enabled && g.TargetType != "lambda":
		return world.Refuse("InvalidConfigurationRequest",
			"Health check enabled must be true for target groups with target type '%s'", g.TargetType)
	case c.Interval < 5*second || c.Interval > 300*second:
		return validationError("Health check interval '%d' must be between 5 and 300 seconds", c.Interval/second)
	case c.Timeout < 2*second || c.Timeout > 120*second:
		return validationError("Health check timeout '%d' must be between 2 and 120 seconds", c.Timeout/second)
	case isHTTP(g.Protocol) && c.Timeout >= c.Interval:
		return validationError("Health check interval must be greater than the timeout.")
	case c.Timeout > c.Interval: // groups of Network Load Balancers can have equal ones
		return validationError("Health check timeout '%d' must be smaller than or equal to the interval '%d'",
			c.Timeout/second, c.Interval/second)
	case c.Healthy < 2 || c.Healthy > 10:
		return validationError("Healthy threshold count '%d' must be between 2 and 10", c.Healthy)
	case c.Unhealthy < 2 || c.Unhealthy > 10:
		return validationError("Unhealthy threshold count '%d' must be between 2 and 10", c.Unhealthy)
	case c.Protocol != "TCP" && (!strings.HasPrefix(c.Path, "/") || len(c.Path) > 1024):
		return validationError("Health check path '%s' must begin with '/' and have at most 1024 characters", c.Path)
	case c.Protocol != "TCP" && !validMatcher(c.Matcher):
		return validationError("Health check matcher HTTP code '%s' must be within '200-499' inclusive", c.Matcher)
	}
	if p, err := strconv.Atoi(c.Port); c.Port != "traffic-port" && (err != nil || p < 1 || p > 65535) {
		return validationError("Health check port '%s' must be 'traffic-port' or in the range 1-65535", c.Port)
	}
	return nil
}

func validMatcher(m string) bool {
	for part := range strings.SplitSeq(m, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(lo)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(hi)
		}
		if err != nil || from < 200 || to > 499 || from > to {
			return false
		}
	}
	return true
}

func sameGroup(a, b *world.TargetGroup) bool {
	x, y := groupOf(a), groupOf(b)
	return a.Protocol == b.Protocol && a.Port == b.Port && a.VPC == b.VPC && a.TargetType == b.TargetType &&
		a.Check == b.Check &&
		x.version == y.version && x.ip == y.ip && x.grpc == y.grpc
}

func groupNamed(tx *world.Tx, name string) *world.TargetGroup {
	for _, g := range tx.TargetGroups.All() {
		if g.Name == name {
			return g
		}
	}
	return nil
}

// DescribeTargetGroups lists target groups: by ARN, by name, of a load balancer, or all.
func (s *Service) DescribeTargetGroups(ctx context.Context,
	in *awselb.DescribeTargetGroupsInput) (*awselb.DescribeTargetGroupsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DescribeTargetGroupsOutput, error) {
		list, err := selectGroups(tx, in)
		if err != nil {
			return nil, err
		}
		list, next, err := pageOf(list, in.Marker, in.PageSize, func(g *world.TargetGroup) string { return g.ARN })
		if err != nil {
			return nil, err
		}
		out := &awselb.DescribeTargetGroupsOutput{TargetGroups: []elbtypes.TargetGroup{}, NextMarker: next}
		for _, g := range list {
			out.TargetGroups = append(out.TargetGroups, shapeGroup(g))
		}
		return out, nil
	})
}

func selectGroups(tx *world.Tx, in *awselb.DescribeTargetGroupsInput) ([]*world.TargetGroup, error) {
	switch {
	case len(in.TargetGroupArns) > 0 && len(in.Names) > 0, in.LoadBalancerArn != nil &&
		len(in.TargetGroupArns)+len(in.Names) > 0:
		return nil,
			validationError(
				"Only one of the following can be specified: load balancer ARN, target group names, target group ARNs")
	case len(in.TargetGroupArns) > 0:
		return mapEach(in.TargetGroupArns, func(arn string) (*world.TargetGroup, error) { return findGroup(tx, &arn) })
	case len(in.Names) > 0:
		return mapEach(in.Names, func(name string) (*world.TargetGroup, error) {
			if g := groupNamed(tx, name); g != nil {
				return g, nil
			}
			return nil, world.Refuse("TargetGroupNotFound", "One or more target groups not found")
		})
	case in.LoadBalancerArn != nil:
		lb, err := findBalancer(tx, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		list := slices.DeleteFunc(groupsByName(tx), func(g *world.TargetGroup) bool { return g.Balancer != lb.ARN })
		if len(list) == 0 {
			return nil, world.Refuse("TargetGroupNotFound", "One or more target groups not found")
		}
		return list, nil
	}
	return groupsByName(tx), nil
}

func groupsByName(tx *world.Tx) []*world.TargetGroup {
	return slices.SortedFunc(slices.Values(tx.TargetGroups.Values()),
		func(a, b *world.TargetGroup) int { return cmp.Compare(a.Name, b.Name) })
}

func shapeGroup(g *world.TargetGroup) elbtypes.TargetGroup {
	d, c := groupOf(g), g.Check
	out := elbtypes.TargetGroup{
		TargetGroupArn: ptr(g.ARN), TargetGroupName: ptr(g.Name), TargetType: elbtypes.TargetTypeEnum(g.TargetType),
		Protocol: elbtypes.ProtocolEnum(g.Protocol), ProtocolVersion: optionalText(d.version),
		VpcId: optionalText(g.VPC), IpAddressType: d.ip,
		HealthCheckEnabled: ptr(c.Enabled), HealthCheckProtocol: elbtypes.ProtocolEnum(c.Protocol),
		HealthCheckPort: ptr(c.Port),
		HealthCheckPath: optionalText(c.Path), HealthCheckIntervalSeconds: ptr(int32(c.Interval / time.Second)),
		HealthCheckTimeoutSeconds: ptr(int32(c.Timeout / time.Second)), HealthyThresholdCount: ptr(int32(c.Healthy)),
		UnhealthyThresholdCount: ptr(int32(c.Unhealthy)), LoadBalancerArns: []string{},
		TargetControlPort: deepCopy(d.control),
	}
	if g.Port != 0 {
		out.Port = ptr(g.Port)
	}
	if g.Balancer != "" {
		out.LoadBalancerArns = append(out.LoadBalancerArns, g.Balancer)
	}
	switch {
	case d.version == grpcVersion:
		out.Matcher = &elbtypes.Matcher{GrpcCode: ptr(cmp.Or(d.grpc, "12"))}
	case c.Matcher != "":
		out.Matcher = &elbtypes.Matcher{HttpCode: ptr(c.Matcher)}
	}
	if g.TargetType == "lambda" {
		out.HealthCheckProtocol, out.HealthCheckPort = "", nil
	}
	return out
}

// ModifyTargetGroup changes the health check, the only part of a group that can change.
func (s *Service) ModifyTargetGroup(ctx context.Context,
	in *awselb.ModifyTargetGroupInput) (*awselb.ModifyTargetGroupOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.ModifyTargetGroupOutput, error) {
		g, err := findGroup(tx, in.TargetGroupArn)
		if err != nil {
			return nil, err
		}
		err = setCheck(g, checkInput{
			enabled: in.HealthCheckEnabled, protocol: in.HealthCheckProtocol, path: in.HealthCheckPath,
			port:     in.HealthCheckPort,
			interval: in.HealthCheckIntervalSeconds, timeout: in.HealthCheckTimeoutSeconds,
			healthy: in.HealthyThresholdCount, unhealthy: in.UnhealthyThresholdCount, matcher: in.Matcher,
		})
		if err != nil {
			return nil, err
		}
		tx.Log("group", g.Name, "health check changed")
		tx.Changed(world.GroupChanged, g)
		return &awselb.ModifyTargetGroupOutput{TargetGroups: []elbtypes.TargetGroup{shapeGroup(g)}}, nil
	})
}

// DeleteTargetGroup deletes a group that no rule names. Deleting a missing group succeeds.
func (s *Service) DeleteTargetGroup(ctx context.Context,
	in *awselb.DeleteTargetGroupInput) (*awselb.DeleteTargetGroupOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DeleteTargetGroupOutput, error) {
		g, err := findGroup(tx, in.TargetGroupArn)
		switch {
		case err != nil && isNotFound(err):
			return &awselb.DeleteTargetGroupOutput{}, nil
		case err != nil:
			return nil, err
		case g.Balancer != "":
			return nil, world.Refuse("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule",
				g.ARN)
		}
		tx.TargetGroups.Delete(g.ARN)
		tx.Log("group", g.Name, "deleted")
		tx.Changed(world.GroupChanged, g)
		return &awselb.DeleteTargetGroupOutput{}, nil
	})
}
