package ec2

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// CreateSubnetInput describes a new subnet.
type CreateSubnetInput struct {
	VpcId              string
	CidrBlock          string
	AvailabilityZone   string
	AvailabilityZoneId string
	TagSpecifications  []TagSpecification `wire:"TagSpecification"`
}

// SubnetOutput holds the created subnet.
type SubnetOutput struct{ Subnet Subnet }

// DescribeSubnetsInput selects subnets.
type DescribeSubnetsInput struct {
	SubnetIds  []string `wire:"SubnetId"`
	Filters    []Filter `wire:"Filter"`
	MaxResults *int32
	NextToken  *string
}

// DescribeSubnetsOutput lists subnets.
type DescribeSubnetsOutput struct {
	Subnets   []Subnet `wire:"subnetSet"`
	NextToken *string
}

// DeleteSubnetInput names a subnet.
type DeleteSubnetInput struct{ SubnetId string }

// ModifySubnetAttributeInput changes an attribute of a subnet.
type ModifySubnetAttributeInput struct {
	SubnetId            string
	MapPublicIpOnLaunch *Flag
}

// CreateSubnet creates a subnet in one zone; the first zone of the Region is used if none is named.
func (s *Service) CreateSubnet(ctx context.Context, in *CreateSubnetInput) (*SubnetOutput, error) {
	switch {
	case in.VpcId == "":
		return nil, missingParameter("vpcId")
	case in.CidrBlock == "":
		return nil, missingParameter("cidrBlock")
	}
	cidr, err := readCIDR(in.CidrBlock, "InvalidSubnet.Range")
	if err != nil {
		return nil, err
	}
	tags, err := checkTags(in.TagSpecifications, "subnet")
	if err != nil {
		return nil, err
	}
	out := &SubnetOutput{}
	return out, s.runStep(ctx, func(d regionDesk) error {
		zone, err := d.findZone(in.AvailabilityZone, in.AvailabilityZoneId)
		if err != nil {
			return err
		}
		if err := d.checkSubnetRange(in.VpcId, cidr); err != nil {
			return err
		}
		n := d.addSubnet(in.VpcId, zone, cidr, false)
		err = d.addTags(n.ID, tags)
		out.Subnet = d.subnetOutput(n)
		return err
	})
}

// checkSubnetRange refuses a range outside the VPC or over another subnet.
func (d regionDesk) checkSubnetRange(vpc string, cidr netip.Prefix) error {
	if err := d.checkExists(vpc); err != nil {
		return err
	}
	v, _ := d.VPCs.Get(vpc)
	if cidr.Bits() < v.CIDR.Bits() || !v.CIDR.Contains(cidr.Addr()) {
		return world.Refuse("InvalidSubnet.Range", "The CIDR '%s' is invalid.", cidr)
	}
	for _, n := range d.Subnets.All() {
		if n.VPC == vpc && n.CIDR.Overlaps(cidr) {
			return world.Refuse("InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", cidr)
		}
	}
	return nil
}

func (d regionDesk) findZone(name, id string) (string, error) {
	zones := zonesOf(d.Key.Region)
	if name == "" && id == "" {
		return zones[0], nil
	}
	for _, z := range zones {
		if z == name || (name == "" && zoneID(z) == id) {
			return z, nil
		}
	}
	return "", world.Refuse("InvalidParameterValue",
		"Value (%s) for parameter availabilityZone is invalid. Subnets can currently only be created in the "+
			"following availability zones: %s.",
		name+id, strings.Join(zones, ", "))
}

func (d regionDesk) addSubnet(vpc, zone string, cidr netip.Prefix, def bool) *world.Subnet {
	n := &world.Subnet{ID: d.newID("subnet"), VPC: vpc, Zone: zone, CIDR: cidr, Default: def}
	d.Subnets.Put(n.ID, n)
	if def {
		d.setPublic(n.ID, true)
	}
	return n
}

func (d regionDesk) setPublic(id string, public bool) {
	if d.public == nil {
		d.state.public = map[string]bool{}
	}
	d.public[id] = public
}

// subnetOutput describes n. AWS reserves five addresses of every subnet.
func (d regionDesk) subnetOutput(n *world.Subnet) Subnet {
	used := 0
	for _, t := range d.Tasks.All() {
		if t.Subnet == n && hasInterface(t) {
			used++
		}
	}
	return Subnet{SubnetId: n.ID, SubnetArn: d.ARN("ec2", "subnet/"+n.ID), VpcId: n.VPC, State: "available",
		CidrBlock:        n.CIDR.String(),
		AvailabilityZone: n.Zone, AvailabilityZoneId: zoneID(n.Zone),
		AvailableIpAddressCount: 1<<(32-n.CIDR.Bits()) - 5 - used,
		DefaultForAz:            n.Default, MapPublicIpOnLaunch: d.public[n.ID], OwnerId: d.Key.Account,
		Tags: d.tagsOf(n.ID)}
}

func (n Subnet) filterValues(name string) ([]string, bool) {
	switch name {
	case "subnet-id":
		return []string{n.SubnetId}, true
	case "subnet-arn":
		return []string{n.SubnetArn}, true
	case "vpc-id":
		return []string{n.VpcId}, true
	case "state":
		return []string{n.State}, true
	case "cidr", "cidr-block", "cidrBlock":
		return []string{n.CidrBlock}, true
	case "availability-zone", "availabilityZone":
		return []string{n.AvailabilityZone}, true
	case "availability-zone-id":
		return []string{n.AvailabilityZoneId}, true
	case "available-ip-address-count":
		return []string{strconv.Itoa(n.AvailableIpAddressCount)}, true
	case "default-for-az", "defaultForAz":
		return booleanValue(n.DefaultForAz), true
	case "map-public-ip-on-launch":
		return booleanValue(n.MapPublicIpOnLaunch), true
	case "owner-id":
		return []string{n.OwnerId}, true
	}
	return nil, false
}

// DescribeSubnets lists subnets.
func (s *Service) DescribeSubnets(ctx context.Context, in *DescribeSubnetsInput) (*DescribeSubnetsOutput, error) {
	out := &DescribeSubnetsOutput{}
	return out, s.runStep(ctx, func(d regionDesk) error {
		rows, err := selectRows(&d.Subnets, in.SubnetIds, d.checkExists)
		if err != nil {
			return err
		}
		all := []Subnet{}
		for _, r := range rows {
			n := d.subnetOutput(r)
			ok, err := matchesFilters(in.Filters, n.Tags, n.filterValues)
			if err != nil {
				return err
			}
			if ok {
				all = append(all, n)
			}
		}
		out.Subnets, out.NextToken, err = pageOf(all, len(in.SubnetIds), in.MaxResults, in.NextToken,
			func(n Subnet) string { return n.SubnetId })
		return err
	})
}

// DeleteSubnet deletes a subnet without tasks and load balancers.
func (s *Service) DeleteSubnet(ctx context.Context, in *DeleteSubnetInput) (*Done, error) {
	if in.SubnetId == "" {
		return nil, missingParameter("subnetId")
	}
	return newDone(), s.runStep(ctx, func(d regionDesk) error {
		if err := d.checkExists(in.SubnetId); err != nil {
			return err
		}
		if d.subnetInUse(in.SubnetId) {
			return world.Refuse("DependencyViolation", "The subnet '%s' has dependencies and cannot be deleted.",
				in.SubnetId)
		}
		d.Subnets.Delete(in.SubnetId)
		d.tags.Delete(in.SubnetId)
		delete(d.public, in.SubnetId)
		return nil
	})
}

func (d regionDesk) subnetInUse(id string) bool {
	for _, t := range d.Tasks.All() {
		if t.Subnet != nil && t.Subnet.ID == id && hasInterface(t) {
			return true
		}
	}
	for _, b := range d.LoadBalancers.All() {
		if slices.Contains(b.Subnets, id) {
			return true
		}
	}
	return false
}

// ModifySubnetAttribute changes whether instances get public addresses.
func (s *Service) ModifySubnetAttribute(ctx context.Context, in *ModifySubnetAttributeInput) (*Done, error) {
	switch {
	case in.SubnetId == "":
		return nil, missingParameter("subnetId")
	case in.MapPublicIpOnLaunch == nil:
		return nil, missingParameter("attribute")
	}
	return newDone(), s.runStep(ctx, func(d regionDesk) error {
		if err := d.checkExists(in.SubnetId); err != nil {
			return err
		}
		d.setPublic(in.SubnetId, in.MapPublicIpOnLaunch.Value)
		return nil
	})
}
