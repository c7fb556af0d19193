package elbv2

import (
	"context"
	"slices"
	"strings"
	"time"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const maxBalancers = 50 // per Region

// balancerDoc holds the data of a load balancer that no controller reads.
type balancerDoc struct {
	scheme  elbtypes.LoadBalancerSchemeEnum
	ip      elbtypes.IpAddressType
	groups  []string // security groups
	vpc     string
	zones   []zone
	created time.Time
	tags    tags
}

type zone struct{ name, subnet string }

func balancerOf(lb *world.LoadBalancer) *balancerDoc { return apiDoc[balancerDoc](&lb.Doc) }

// CreateLoadBalancer creates an application (or network) load balancer. A second call with the same
// settings returns the first one.
func (s *Service) CreateLoadBalancer(ctx context.Context,
	in *awselb.CreateLoadBalancerInput) (*awselb.CreateLoadBalancerOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.CreateLoadBalancerOutput, error) {
		lb, err := newBalancer(tx, in)
		if err != nil {
			return nil, err
		}
		if old := balancerNamed(tx, lb.Name); old != nil {
			if !sameBalancer(old, lb) {
				return nil, world.Refuse("DuplicateLoadBalancerName",
					"A load balancer with the same name '%s' exists, but with different settings", lb.Name)
			}
			return &awselb.CreateLoadBalancerOutput{LoadBalancers: []elbtypes.LoadBalancer{shapeBalancer(old)}}, nil
		}
		if tx.LoadBalancers.Len() >= maxBalancers {
			return nil, world.Refuse("TooManyLoadBalancers", "The maximum number of load balancers has been reached")
		}
		lb.ARN = arnOr(ctx, func() string {
			return tx.ARN("elasticloadbalancing",
				"loadbalancer/"+typeSegment(lb.Type)+"/"+lb.Name+"/"+tx.NewHex("load balancer", 16))
		})
		s.controller.Add(tx, lb)
		return &awselb.CreateLoadBalancerOutput{LoadBalancers: []elbtypes.LoadBalancer{shapeBalancer(lb)}}, nil
	})
}

func typeSegment(kind string) string {
	if kind == "network" {
		return "net"
	}
	return "app"
}

func newBalancer(tx *world.Tx, in *awselb.CreateLoadBalancerInput) (*world.LoadBalancer, error) {
	if err := checkName("Load balancer", val(in.Name)); err != nil {
		return nil, err
	}
	if strings.HasPrefix(*in.Name, "internal-") {
		return nil, validationError("Load balancer name '%s' cannot begin with 'internal-'", *in.Name)
	}
	if err := checkAddresses(in); err != nil {
		return nil, err
	}
	lb := &world.LoadBalancer{Name: *in.Name, Type: string(in.Type)}
	switch in.Type {
	case "":
		lb.Type = "application"
	case elbtypes.LoadBalancerTypeEnumApplication, elbtypes.LoadBalancerTypeEnumNetwork:
	default:
		return nil, validationError("Load balancers of type '%s' are not simulated", in.Type)
	}
	d := &balancerDoc{scheme: in.Scheme, ip: in.IpAddressType, groups: slices.Clone(in.SecurityGroups),
		created: tx.Now()}
	if d.scheme == "" {
		d.scheme = elbtypes.LoadBalancerSchemeEnumInternetFacing
	}
	if d.ip == "" {
		d.ip = elbtypes.IpAddressTypeIpv4
	}
	var err error
	if d.tags, err = newTags(in.Tags); err != nil {
		return nil, err
	}
	if err := firstError(checkSecurityGroups(in.SecurityGroups),
		checkIPAddressType(lb.Type, d.scheme, d.ip)); err != nil {
		return nil, err
	}
	lb.Doc, lb.Attributes = d, defaultValues(balancerAttributes(lb.Type))
	return lb, setSubnets(tx, lb, in.Subnets, in.SubnetMappings)
}

// checkAddresses refuses addresses that do not come from the subnets.
func checkAddresses(in *awselb.CreateLoadBalancerInput) error {
	if val(in.CustomerOwnedIpv4Pool) != "" || in.IpamPools != nil || in.EnablePrefixForIpv6SourceNat == "on" {
		return validationError("Address pools of load balancers are not simulated")
	}
	for _, m := range in.SubnetMappings {
		if val(m.AllocationId) != "" || val(m.PrivateIPv4Address) != "" || val(m.IPv6Address) != "" ||
			val(m.SourceNatIpv6Prefix) != "" {
			return validationError("Addresses of load balancers that are chosen are not simulated")
		}
	}
	return nil
}

// setSubnets checks subnets and sets the load balancer's zones.
func setSubnets(tx *world.Tx, lb *world.LoadBalancer, ids []string, mappings []elbtypes.SubnetMapping) error {
	if len(ids) > 0 && len(mappings) > 0 {
		return world.Refuse("InvalidConfigurationRequest",
			"You must specify either subnets or subnet mappings, not both")
	}
	for _, m := range mappings {
		ids = append(slices.Clone(ids), val(m.SubnetId))
	}
	var zones []zone
	vpc := ""
	for _, id := range ids {
		sub, ok := tx.Subnets.Get(id)
		if !ok {
			return world.Refuse("SubnetNotFound", "The subnet ID '%s' does not exist", id)
		}
		if vpc != "" && vpc != sub.VPC {
			return world.Refuse("InvalidConfigurationRequest", "All subnets must belong to the same VPC")
		}
		if slices.ContainsFunc(zones, func(z zone) bool { return z.name == sub.Zone }) {
			return world.Refuse("InvalidConfigurationRequest",
				"A load balancer cannot be attached to multiple subnets in the same Availability Zone")
		}
		vpc = sub.VPC
		zones = append(zones, zone{sub.Zone, sub.ID})
	}
	if len(zones) == 0 || len(zones) < 2 && lb.Type == "application" {
		return validationError("At least two subnets in two different Availability Zones must be specified")
	}
	d := balancerOf(lb)
	d.vpc, d.zones = vpc, zones
	lb.Zones, lb.Subnets = nil, nil
	for _, z := range zones {
		lb.Zones, lb.Subnets = append(lb.Zones, z.name), append(lb.Subnets, z.subnet)
	}
	return nil
}

func sameBalancer(a, b *world.LoadBalancer) bool {
	x, y := balancerOf(a), balancerOf(b)
	return a.Type == b.Type && x.scheme == y.scheme && x.ip == y.ip &&
		slices.Equal(sortedCopy(a.Subnets), sortedCopy(b.Subnets)) &&
		slices.Equal(sortedCopy(x.groups), sortedCopy(y.groups))
}

func sortedCopy(s []string) []string { return slices.Sorted(slices.Values(s)) }

func balancerNamed(tx *world.Tx, name string) *world.LoadBalancer {
	for _, lb := range tx.LoadBalancers.All() {
		if lb.Name == name {
			return lb
		}
	}
	return nil
}

// DescribeLoadBalancers lists load balancers, by ARN, by name or all.
func (s *Service) DescribeLoadBalancers(ctx context.Context,
	in *awselb.DescribeLoadBalancersInput) (*awselb.DescribeLoadBalancersOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DescribeLoadBalancersOutput, error) {
		list, err := selectBalancers(tx, in)
		if err != nil {
			return nil, err
		}
		list, next, err := pageOf(list, in.Marker, in.PageSize, func(lb *world.LoadBalancer) string { return lb.ARN })
		if err != nil {
			return nil, err
		}
		out := &awselb.DescribeLoadBalancersOutput{LoadBalancers: []elbtypes.LoadBalancer{}, NextMarker: next}
		for _, lb := range list {
			out.LoadBalancers = append(out.LoadBalancers, shapeBalancer(lb))
		}
		return out, nil
	})
}

func selectBalancers(tx *world.Tx, in *awselb.DescribeLoadBalancersInput) ([]*world.LoadBalancer, error) {
	switch {
	case len(in.LoadBalancerArns) > 20 || len(in.Names) > 20:
		return nil, validationError("The maximum number of load balancers that can be described by ARN or name is '20'")
	case len(in.LoadBalancerArns) > 0 && len(in.Names) > 0:
		return nil, validationError("Load balancer names and load balancer ARNs cannot be specified at the same time")
	case len(in.LoadBalancerArns) > 0:
		return mapEach(in.LoadBalancerArns, func(arn string) (*world.LoadBalancer, error) {
			lb, err := findBalancer(tx, &arn)
			if err != nil && isNotFound(err) {
				err = world.Refuse("LoadBalancerNotFound", "One or more load balancers not found")
			}
			return lb, err
		})
	case len(in.Names) > 0:
		return mapEach(in.Names, func(name string) (*world.LoadBalancer, error) {
			if lb := balancerNamed(tx, name); lb != nil {
				return lb, nil
			}
			return nil, world.Refuse("LoadBalancerNotFound", "Load balancers '[%s]' not found", name)
		})
	}
	return tx.LoadBalancers.Values(), nil
}

// mapEach maps ids to values and stops at the first error.
func mapEach[T any](ids []string, f func(string) (T, error)) ([]T, error) {
	out := make([]T, 0, len(ids))
	for _, id := range ids {
		x, err := f(id)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func isNotFound(err error) bool {
	r, ok := err.(*world.Refusal)
	return ok && strings.HasSuffix(r.Code, "NotFound")
}

func shapeBalancer(lb *world.LoadBalancer) elbtypes.LoadBalancer {
	d := balancerOf(lb)
	out := elbtypes.LoadBalancer{
		LoadBalancerArn: ptr(lb.ARN), LoadBalancerName: ptr(lb.Name), DNSName: ptr(lb.DNSName),
		CanonicalHostedZoneId: ptr("Z32O12XQLNTSW2"),
		CreatedTime:           ptr(d.created), Scheme: d.scheme, IpAddressType: d.ip,
		Type:  elbtypes.LoadBalancerTypeEnum(lb.Type),
		State: &elbtypes.LoadBalancerState{Code: elbtypes.LoadBalancerStateEnum(lb.State)}, VpcId: optionalText(d.vpc),
		SecurityGroups: slices.Clone(d.groups), AvailabilityZones: shapeZones(d.zones),
	}
	return out
}

func shapeZones(zones []zone) []elbtypes.AvailabilityZone {
	out := []elbtypes.AvailabilityZone{}
	for _, z := range zones {
		out = append(out, elbtypes.AvailabilityZone{ZoneName: ptr(z.name), SubnetId: ptr(z.subnet),
			LoadBalancerAddresses: []elbtypes.LoadBalancerAddress{}})
	}
	return out
}

// DeleteLoadBalancer deletes a load balancer with its listeners and keeps the target groups.
// Deleting a missing load balancer succeeds.
func (s *Service) DeleteLoadBalancer(ctx context.Context,
	in *awselb.DeleteLoadBalancerInput) (*awselb.DeleteLoadBalancerOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DeleteLoadBalancerOutput, error) {
		lb, err := findBalancer(tx, in.LoadBalancerArn)
		switch {
		case err != nil && isNotFound(err):
			return &awselb.DeleteLoadBalancerOutput{}, nil
		case err != nil:
			return nil, err
		case lb.Attributes["deletion_protection.enabled"] == "true":
			return nil,
				world.Refuse("OperationNotPermitted",
					"Load balancer '%s' cannot be deleted because deletion protection is enabled", lb.ARN)
		}
		s.controller.Remove(tx, lb)
		return &awselb.DeleteLoadBalancerOutput{}, nil
	})
}

// SetSubnets replaces the subnets, and with them the zones, of a load balancer.
func (s *Service) SetSubnets(ctx context.Context, in *awselb.SetSubnetsInput) (*awselb.SetSubnetsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.SetSubnetsOutput, error) {
		lb, err := findBalancer(tx, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		if err := setSubnets(tx, lb, in.Subnets, in.SubnetMappings); err != nil {
			return nil, err
		}
		tx.Changed(world.BalancerChanged, lb)
		return &awselb.SetSubnetsOutput{AvailabilityZones: shapeZones(balancerOf(lb).zones),
			IpAddressType: balancerOf(lb).ip}, nil
	})
}

// checkSecurityGroups rejects text that is not the id of a security group. Whether the group exists
// is not checked: it filters no traffic here.
func checkSecurityGroups(ids []string) error {
	for _, id := range ids {
		if !strings.HasPrefix(id, "sg-") {
			return validationError("Security group '%s' is not valid", id)
		}
	}
	return nil
}

// SetSecurityGroups replaces the security groups, which do not filter traffic here.
func (s *Service) SetSecurityGroups(ctx context.Context,
	in *awselb.SetSecurityGroupsInput) (*awselb.SetSecurityGroupsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.SetSecurityGroupsOutput, error) {
		lb, err := findBalancer(tx, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		if lb.Type == "network" && len(balancerOf(lb).groups) == 0 {
			return nil, world.Refuse("InvalidConfigurationRequest", "Security groups cannot be set for the load balancer "+
				"'%s' of type 'network' because it was created without one", lb.ARN)
		}
		if err := checkSecurityGroups(in.SecurityGroups); err != nil {
			return nil, err
		}
		balancerOf(lb).groups = slices.Clone(in.SecurityGroups)
		return &awselb.SetSecurityGroupsOutput{SecurityGroupIds: slices.Clone(in.SecurityGroups)}, nil
	})
}

// checkIPAddressType rejects a type of addresses that the load balancer cannot have: only an Application
// Load Balancer that faces the internet can do without public IPv4 addresses.
func checkIPAddressType(kind string, scheme elbtypes.LoadBalancerSchemeEnum, ip elbtypes.IpAddressType) error {
	switch {
	case !slices.Contains(ip.Values(), ip):
		return validationError("'%s' is not a valid IP address type", ip)
	case ip == elbtypes.IpAddressTypeDualstackWithoutPublicIpv4 &&
		(kind != "application" || scheme != elbtypes.LoadBalancerSchemeEnumInternetFacing):
		return world.Refuse("InvalidConfigurationRequest",
			"The IP address type '%s' is not supported for load balancers of type '%s' with scheme '%s'", ip, kind, scheme)
	}
	return nil
}

// SetIpAddressType sets ipv4 or dualstack; both listen on IPv4 here.
func (s *Service) SetIpAddressType(ctx context.Context,
	in *awselb.SetIpAddressTypeInput) (*awselb.SetIpAddressTypeOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.SetIpAddressTypeOutput, error) {
		lb, err := findBalancer(tx, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		if err := checkIPAddressType(lb.Type, balancerOf(lb).scheme, in.IpAddressType); err != nil {
			return nil, err
		}
		balancerOf(lb).ip = in.IpAddressType
		return &awselb.SetIpAddressTypeOutput{IpAddressType: in.IpAddressType}, nil
	})
}

// checkName checks the name of a load balancer or target group against AWS's rules.
func checkName(kind, name string) error {
	switch {
	case name == "":
		return validationError("%s name cannot be blank", kind)
	case len(name) > 32:
		return validationError("%s name '%s' cannot be longer than '32' characters", kind, name)
	case strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
		strings.ContainsAny(name, " _./:"):
		and := "and"
		if kind == "Target group" {
			and = "or" // as AWS's texts differ
		}
		return validationError("%s name '%s' can only contain characters that are alphanumeric characters %s hyphens(-)",
			kind, name, and)
	case strings.HasPrefix(name, "-"), strings.HasSuffix(name, "-"):
		return validationError("%s name '%s' cannot begin or end with '-'", kind, name)
	}
	return nil
}
