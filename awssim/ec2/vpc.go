package ec2

import (
	"context"
	"net/netip"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// CreateVpcInput describes a new VPC.
type CreateVpcInput struct {
	CidrBlock         string
	InstanceTenancy   string
	TagSpecifications []TagSpecification `wire:"TagSpecification"`
}

// VpcOutput holds the created VPC.
type VpcOutput struct{ Vpc Vpc }

// DescribeVpcsInput selects VPCs.
type DescribeVpcsInput struct {
	VpcIds     []string `wire:"VpcId"`
	Filters    []Filter `wire:"Filter"`
	MaxResults *int32
	NextToken  *string
}

// DescribeVpcsOutput lists VPCs.
type DescribeVpcsOutput struct {
	Vpcs      []Vpc `wire:"vpcSet"`
	NextToken *string
}

// DeleteVpcInput names a VPC.
type DeleteVpcInput struct{ VpcId string }

// ModifyVpcAttributeInput changes one attribute of a VPC.
type ModifyVpcAttributeInput struct {
	VpcId                            string
	EnableDnsSupport                 *Flag
	EnableDnsHostnames               *Flag
	EnableNetworkAddressUsageMetrics *Flag
}

// DescribeVpcAttributeInput names one attribute of a VPC.
type DescribeVpcAttributeInput struct{ VpcId, Attribute string }

// DescribeVpcAttributeOutput holds that attribute.
type DescribeVpcAttributeOutput struct {
	VpcId                            string
	EnableDnsSupport                 *Flag
	EnableDnsHostnames               *Flag
	EnableNetworkAddressUsageMetrics *Flag
}

// CreateVpc creates a VPC with its default security group.
func (s *Service) CreateVpc(ctx context.Context, in *CreateVpcInput) (*VpcOutput, error) {
	if in.CidrBlock == "" {
		return nil, missingParameter("cidrBlock")
	}
	cidr, err := readCIDR(in.CidrBlock, "InvalidVpc.Range")
	if err != nil {
		return nil, err
	}
	if t := in.InstanceTenancy; t != "" && t != "default" && t != "dedicated" {
		return nil, world.Refuse("InvalidParameterValue", "Value (%s) for parameter instanceTenancy is invalid.", t)
	}
	tags, err := checkTags(in.TagSpecifications, "vpc")
	if err != nil {
		return nil, err
	}
	out := &VpcOutput{}
	return out, s.runStep(ctx, func(d regionDesk) error {
		v := d.addVPC(cidr, false)
		if x, _ := d.vpcs.Get(v.ID); in.InstanceTenancy != "" {
			x.tenancy = in.InstanceTenancy
		}
		err := d.addTags(v.ID, tags)
		out.Vpc = d.vpcOutput(v)
		return err
	})
}

// readCIDR parses a range of 16 to 65,536 addresses and returns it in canonical form, as AWS does.
func readCIDR(cidr, code string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil || !p.Addr().Is4() {
		return p,
			world.Refuse("InvalidParameterValue",
				"Value (%s) for parameter cidrBlock is invalid. This is not a valid CIDR block.", cidr)
	}
	if p.Bits() < 16 || p.Bits() > 28 {
		return p, world.Refuse(code, "The CIDR '%s' is invalid.", cidr)
	}
	return p.Masked(), nil
}

func (d regionDesk) addVPC(cidr netip.Prefix, def bool) *world.VPC {
	v := &world.VPC{ID: d.newID("vpc"), CIDR: cidr, Default: def}
	d.VPCs.Put(v.ID, v)
	d.vpcs.Put(v.ID, &vpc{tenancy: "default", dnsSupport: true, hostnames: def})
	d.addGroup(v.ID, "default", "default VPC security group")
	return v
}

func (d regionDesk) vpcOutput(v *world.VPC) Vpc {
	state := "available"
	id := strings.TrimPrefix(v.ID, "vpc-")
	x, _ := d.vpcs.Get(v.ID)
	tenancy := "default"
	if x != nil {
		tenancy = x.tenancy
	}
	return Vpc{VpcId: v.ID, State: state, CidrBlock: v.CIDR.String(), DhcpOptionsId: "dopt-" + id,
		InstanceTenancy: tenancy,
		IsDefault:       v.Default, OwnerId: d.Key.Account, Tags: d.tagsOf(v.ID),
		Associations: []CidrAssociation{{"vpc-cidr-assoc-" + id, v.CIDR.String(), CidrState{"associated"}}}}
}

func (v Vpc) filterValues(name string) ([]string, bool) {
	switch name {
	case "vpc-id":
		return []string{v.VpcId}, true
	case "cidr", "cidr-block", "cidrBlock", "cidr-block-association.cidr-block":
		return []string{v.CidrBlock}, true
	case "state", "cidr-block-association.state":
		return []string{map[bool]string{true: "available", false: "associated"}[name == "state"]}, true
	case "is-default", "isDefault":
		return booleanValue(v.IsDefault), true
	case "owner-id":
		return []string{v.OwnerId}, true
	case "dhcp-options-id":
		return []string{v.DhcpOptionsId}, true
	}
	return nil, false
}

// DescribeVpcs lists VPCs.
func (s *Service) DescribeVpcs(ctx context.Context, in *DescribeVpcsInput) (*DescribeVpcsOutput, error) {
	out := &DescribeVpcsOutput{}
	return out, s.runStep(ctx, func(d regionDesk) error {
		rows, err := selectRows(&d.VPCs, in.VpcIds, d.checkExists)
		if err != nil {
			return err
		}
		all := []Vpc{}
		for _, r := range rows {
			v := d.vpcOutput(r)
			ok, err := matchesFilters(in.Filters, v.Tags, v.filterValues)
			if err != nil {
				return err
			}
			if ok {
				all = append(all, v)
			}
		}
		out.Vpcs, out.NextToken, err = pageOf(all, len(in.VpcIds), in.MaxResults, in.NextToken,
			func(v Vpc) string { return v.VpcId })
		return err
	})
}

// DeleteVpc deletes a VPC without dependent resources, and its default security group.
func (s *Service) DeleteVpc(ctx context.Context, in *DeleteVpcInput) (*Done, error) {
	if in.VpcId == "" {
		return nil, missingParameter("vpcId")
	}
	return newDone(), s.runStep(ctx, func(d regionDesk) error {
		if err := d.checkExists(in.VpcId); err != nil {
			return err
		}
		if d.vpcInUse(in.VpcId) {
			return world.Refuse("DependencyViolation", "The vpc '%s' has dependencies and cannot be deleted.", in.VpcId)
		}
		for id, g := range d.groups.All() {
			if g.vpc == in.VpcId {
				d.groups.Delete(id)
				d.tags.Delete(id)
			}
		}
		d.VPCs.Delete(in.VpcId)
		d.vpcs.Delete(in.VpcId)
		d.tags.Delete(in.VpcId)
		return nil
	})
}

func (d regionDesk) vpcInUse(id string) bool {
	for _, n := range d.Subnets.All() {
		if n.VPC == id {
			return true
		}
	}
	for _, g := range d.groups.All() {
		if g.vpc == id && g.name != "default" {
			return true
		}
	}
	for _, g := range d.gateways.All() {
		if g.vpc == id {
			return true
		}
	}
	return false
}

// ModifyVpcAttribute changes one attribute.
func (s *Service) ModifyVpcAttribute(ctx context.Context, in *ModifyVpcAttributeInput) (*Done, error) {
	n := 0
	for _, f := range []*Flag{in.EnableDnsSupport, in.EnableDnsHostnames, in.EnableNetworkAddressUsageMetrics} {
		if f != nil {
			n++
		}
	}
	switch {
	case in.VpcId == "":
		return nil, missingParameter("vpcId")
	case n == 0:
		return nil, missingParameter("attribute")
	case n > 1:
		return nil, world.Refuse("InvalidParameterCombination",
			"Fields for multiple attribute types specified: only one attribute may be modified per call")
	}
	return newDone(), s.runStep(ctx, func(d regionDesk) error {
		if err := d.checkExists(in.VpcId); err != nil {
			return err
		}
		v, _ := d.vpcs.Get(in.VpcId)
		switch {
		case in.EnableDnsSupport != nil:
			v.dnsSupport = in.EnableDnsSupport.Value
		case in.EnableDnsHostnames != nil:
			v.hostnames = in.EnableDnsHostnames.Value
		default:
			v.addressMetrics = in.EnableNetworkAddressUsageMetrics.Value
		}
		return nil
	})
}

// DescribeVpcAttribute returns one attribute.
func (s *Service) DescribeVpcAttribute(ctx context.Context, in *DescribeVpcAttributeInput) (*DescribeVpcAttributeOutput,
	error) {
	switch {
	case in.VpcId == "":
		return nil, missingParameter("vpcId")
	case in.Attribute == "":
		return nil, missingParameter("attribute")
	}
	out := &DescribeVpcAttributeOutput{VpcId: in.VpcId}
	return out, s.runStep(ctx, func(d regionDesk) error {
		if err := d.checkExists(in.VpcId); err != nil {
			return err
		}
		v, _ := d.vpcs.Get(in.VpcId)
		switch in.Attribute {
		case "enableDnsSupport":
			out.EnableDnsSupport = &Flag{v.dnsSupport}
		case "enableDnsHostnames":
			out.EnableDnsHostnames = &Flag{v.hostnames}
		case "enableNetworkAddressUsageMetrics":
			out.EnableNetworkAddressUsageMetrics = &Flag{v.addressMetrics}
		default:
			return world.Refuse("InvalidParameterValue",
				"Value (%s) for parameter attribute is invalid. Unknown attribute.", in.Attribute)
		}
		return nil
	})
}
