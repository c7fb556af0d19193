package ec2

import (
	"context"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// DescribeNetworkInterfacesInput selects network interfaces.
type DescribeNetworkInterfacesInput struct {
	NetworkInterfaceIds []string `wire:"NetworkInterfaceId"`
	Filters             []Filter `wire:"Filter"`
	MaxResults          *int32
	NextToken           *string
}

// DescribeNetworkInterfacesOutput lists network interfaces.
type DescribeNetworkInterfacesOutput struct {
	NetworkInterfaces []NetworkInterface `wire:"networkInterfaceSet"`
	NextToken         *string
}

// hasInterface reports whether a task's network interface exists.
func hasInterface(t *world.Task) bool {
	return t.Address.IsValid() && t.Subnet != nil && t.LastStatus != "STOPPED"
}

// DescribeNetworkInterfaces lists the interfaces of tasks, without their security groups.
func (s *Service) DescribeNetworkInterfaces(ctx context.Context,
	in *DescribeNetworkInterfacesInput) (*DescribeNetworkInterfacesOutput, error) {
	out := &DescribeNetworkInterfacesOutput{}
	return out, s.runStep(ctx, func(d regionDesk) error {
		var known world.Ordered[NetworkInterface]
		for _, t := range d.Tasks.All() {
			if hasInterface(t) {
				known.Put(t.InterfaceID(), d.interfaceOutput(t))
			}
		}
		rows, err := selectRows(&known, in.NetworkInterfaceIds, func(id string) error {
			return world.Refuse("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", id)
		})
		if err != nil {
			return err
		}
		all := []NetworkInterface{}
		for _, n := range rows {
			ok, err := matchesFilters(in.Filters, n.Tags, n.filterValues)
			if err != nil {
				return err
			}
			if ok {
				all = append(all, n)
			}
		}
		out.NetworkInterfaces, out.NextToken, err = pageOf(all, len(in.NetworkInterfaceIds), in.MaxResults,
			in.NextToken,
			func(n NetworkInterface) string { return n.NetworkInterfaceId })
		return err
	})
}

func (d regionDesk) interfaceOutput(t *world.Task) NetworkInterface {
	return NetworkInterface{NetworkInterfaceId: t.InterfaceID(), SubnetId: t.Subnet.ID, VpcId: t.Subnet.VPC,
		AvailabilityZone: t.Subnet.Zone,
		Description:      t.ARN, OwnerId: d.Key.Account, RequesterManaged: true, Status: "in-use",
		InterfaceType:    "interface",
		PrivateIpAddress: t.Address.String(), PrivateDnsName: t.PrivateDNSName(d.Key.Region),
		MacAddress: t.InterfaceMAC(), SourceDestCheck: true, Groups: []GroupName{},
		Addresses: []PrivateAddress{{t.Address.String(), true}}}
}

func (n NetworkInterface) filterValues(name string) ([]string, bool) {
	switch name {
	case "network-interface-id":
		return []string{n.NetworkInterfaceId}, true
	case "subnet-id":
		return []string{n.SubnetId}, true
	case "vpc-id":
		return []string{n.VpcId}, true
	case "availability-zone":
		return []string{n.AvailabilityZone}, true
	case "private-ip-address", "addresses.private-ip-address":
		return []string{n.PrivateIpAddress}, true
	case "private-dns-name":
		return []string{n.PrivateDnsName}, true
	case "mac-address":
		return []string{n.MacAddress}, true
	case "status":
		return []string{n.Status}, true
	case "description":
		return []string{n.Description}, true
	case "owner-id":
		return []string{n.OwnerId}, true
	case "interface-type":
		return []string{n.InterfaceType}, true
	}
	return nil, false
}
