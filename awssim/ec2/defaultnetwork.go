package ec2

import (
	"net/netip"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// buildDefaultNetwork creates the default network: a VPC, its default security group, an internet
// gateway, and three subnets of 4,096 addresses in zones a, b and c. The upper part of the range
// has no subnet; load balancers take their addresses from it.
func buildDefaultNetwork(tx *world.Tx) {
	d := regionDeskOf(tx)
	v := d.addVPC(world.DefaultNetwork(tx.Index), true)
	for i, zone := range zonesOf(tx.Key.Region) {
		b := v.CIDR.Addr().As4()
		b[2] = byte(16 * i)
		d.addSubnet(v.ID, zone, netip.PrefixFrom(netip.AddrFrom4(b), 20), true)
	}
	g := &gateway{id: d.newID("igw"), vpc: v.ID}
	d.gateways.Put(g.id, g)
}

// zonesOf returns the Availability Zones of a Region.
func zonesOf(region string) []string { return []string{region + "a", region + "b", region + "c"} }
