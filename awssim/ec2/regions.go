package ec2

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// DescribeRegionsInput selects Regions.
type DescribeRegionsInput struct {
	RegionNames []string `wire:"RegionName"`
	Filters     []Filter `wire:"Filter"`
	AllRegions  bool
}

// DescribeRegionsOutput lists Regions.
type DescribeRegionsOutput struct {
	Regions []Region `wire:"regionInfo"`
}

// DescribeAvailabilityZonesInput selects zones of the Region.
type DescribeAvailabilityZonesInput struct {
	ZoneNames            []string `wire:"ZoneName"`
	ZoneIds              []string `wire:"ZoneId"`
	Filters              []Filter `wire:"Filter"`
	AllAvailabilityZones bool
}

// DescribeAvailabilityZonesOutput lists zones.
type DescribeAvailabilityZonesOutput struct {
	Zones []Zone `wire:"availabilityZoneInfo"`
}

// DescribeAccountAttributesInput selects attributes of the account.
type DescribeAccountAttributesInput struct {
	AttributeNames []string `wire:"AttributeName"`
}

// AccountAttribute is one attribute of the account.
type AccountAttribute struct {
	Name   string           `wire:"attributeName"`
	Values []AttributeValue `wire:"attributeValueSet"`
}

// AttributeValue is one value of an account attribute.
type AttributeValue struct {
	Value string `wire:"attributeValue"`
}

// DescribeAccountAttributesOutput lists attributes.
type DescribeAccountAttributesOutput struct {
	Attributes []AccountAttribute `wire:"accountAttributeSet"`
}

// defaultRegions are the Regions that are enabled by default.
var defaultRegions = []string{"ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-southeast-1",
	"ap-southeast-2",
	"ca-central-1", "eu-central-1", "eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3", "sa-east-1", "us-east-1",
	"us-east-2",
	"us-west-1", "us-west-2"}

// DescribeRegions lists the Regions; the called Region is always among them.
func (s *Service) DescribeRegions(ctx context.Context, in *DescribeRegionsInput) (*DescribeRegionsOutput, error) {
	names := defaultRegions
	if here := world.KeyOf(ctx).Region; !slices.Contains(names, here) {
		names = append(slices.Clone(names), here)
	}
	out := &DescribeRegionsOutput{Regions: []Region{}}
	for _, n := range in.RegionNames {
		if !slices.Contains(names, n) {
			return nil, world.Refuse("InvalidParameterValue", "Invalid region provided. Invalid value: %s", n)
		}
	}
	for _, n := range names {
		r := Region{RegionName: n, RegionEndpoint: "ec2." + n + ".amazonaws.com", OptInStatus: "opt-in-not-required"}
		ok, err := matchesFilters(in.Filters, nil, r.filterValues)
		if err != nil {
			return nil, err
		}
		if ok && (len(in.RegionNames) == 0 || slices.Contains(in.RegionNames, n)) {
			out.Regions = append(out.Regions, r)
		}
	}
	return out, nil
}

func (r Region) filterValues(name string) ([]string, bool) {
	switch name {
	case "region-name":
		return []string{r.RegionName}, true
	case "endpoint":
		return []string{r.RegionEndpoint}, true
	case "opt-in-status":
		return []string{r.OptInStatus}, true
	}
	return nil, false
}

// zoneID returns a zone's id in AWS's form: "euw1-az1".
func zoneID(zone string) string {
	region, letter := zone[:len(zone)-1], zone[len(zone)-1]
	part := strings.Split(region, "-")
	var b strings.Builder
	for i, p := range part {
		switch {
		case i == 0 || i == len(part)-1:
			b.WriteString(p)
		case strings.HasPrefix(p, "north") || strings.HasPrefix(p, "south"):
			b.WriteString(p[:1])
			if rest := p[5:]; rest != "" {
				b.WriteString(rest[:1])
			}
		case p != "":
			b.WriteString(p[:1])
		}
	}
	return fmt.Sprintf("%s-az%d", b.String(), letter-'a'+1)
}

// DescribeAvailabilityZones lists the three zones; a lost zone is impaired.
func (s *Service) DescribeAvailabilityZones(ctx context.Context,
	in *DescribeAvailabilityZonesInput) (*DescribeAvailabilityZonesOutput, error) {
	out := &DescribeAvailabilityZonesOutput{Zones: []Zone{}}
	return out, s.runStep(ctx, func(d regionDesk) error {
		region := d.Key.Region
		for _, n := range in.ZoneNames {
			if !slices.Contains(zonesOf(region), n) {
				return world.Refuse("InvalidParameterValue", "Invalid availability zone: [%s]", n)
			}
		}
		for _, n := range zonesOf(region) {
			z := Zone{ZoneName: n, ZoneState: "available", OptInStatus: "opt-in-not-required", RegionName: region,
				ZoneId:    zoneID(n),
				GroupName: region, NetworkBorderGroup: region, ZoneType: "availability-zone"}
			if d.ActiveFaults.ZonesLost[n] {
				z.ZoneState = "impaired"
			}
			ok, err := matchesFilters(in.Filters, nil, z.filterValues)
			if err != nil {
				return err
			}
			if ok && isListed(in.ZoneNames, n) && isListed(in.ZoneIds, z.ZoneId) {
				out.Zones = append(out.Zones, z)
			}
		}
		return nil
	})
}

func isListed(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }

func (z Zone) filterValues(name string) ([]string, bool) {
	switch name {
	case "zone-name":
		return []string{z.ZoneName}, true
	case "zone-id":
		return []string{z.ZoneId}, true
	case "zone-type":
		return []string{z.ZoneType}, true
	case "state":
		return []string{z.ZoneState}, true
	case "region-name":
		return []string{z.RegionName}, true
	case "group-name":
		return []string{z.GroupName}, true
	case "opt-in-status":
		return []string{z.OptInStatus}, true
	}
	return nil, false
}

// DescribeAccountAttributes returns the platform, the default VPC and limits.
func (s *Service) DescribeAccountAttributes(ctx context.Context,
	in *DescribeAccountAttributesInput) (*DescribeAccountAttributesOutput, error) {
	out := &DescribeAccountAttributesOutput{Attributes: []AccountAttribute{}}
	return out, s.runStep(ctx, func(d regionDesk) error {
		vpc, err := d.vpcOrDefault("")
		if err != nil {
			vpc = "none"
		}
		for _, a := range [][2]string{{"supported-platforms", "VPC"}, {"default-vpc", vpc}, {"max-instances", "20"},
			{"max-elastic-ips", "5"}, {"vpc-max-elastic-ips", "5"}, {"vpc-max-security-groups-per-interface", "5"}} {
			if isListed(in.AttributeNames, a[0]) {
				out.Attributes = append(out.Attributes, AccountAttribute{a[0], []AttributeValue{{a[1]}}})
			}
		}
		return nil
	})
}
