// Package ec2 is the room of Amazon EC2, as far as the clients of ECS and load
// balancers need to get there: VPCs, subnets, security groups, internet
// gateways, zones, tags, and the network interfaces of tasks. Networks route
// nothing and security groups stop nobody; they exist, are checked and counted.
//
// Its inputs and outputs are small structs of its own, because the SDK's EC2
// package is too large to compile with everything else; members are called as in
// the EC2 API Reference.
//
// A default network is there from the start in every Region; see found.go. Start
// reading at [Room], then vpc.go.
package ec2

import (
	"context"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service is the room.
type Service struct{ world *world.World }

// New makes the room over w and lays the default network of every Region that
// is to come. It is called once per world, before the first step.
func New(w *world.World) *Service {
	w.Found(found)
	return &Service{world: w}
}

// Room is the room with what wire must know of EC2. It calls [New].
func Room(w *world.World) wire.Room {
	return wire.Room{
		Name: "ec2", ServiceID: "EC2", Protocol: wire.EC2Query, Version: "2016-11-15",
		Namespace: "http://ec2.amazonaws.com/doc/2016-11-15/", Operations: New(w).operations(),
		Known: []string{"AssociateRouteTable", "CreateNatGateway", "CreateRoute", "CreateRouteTable", "CreateVpcEndpoint",
			"DescribeDhcpOptions", "DescribeInstances", "DescribeNatGateways", "DescribeNetworkAcls", "DescribeRouteTables",
			"DescribeSecurityGroupRules", "DescribeVpcEndpoints", "DescribeVpcPeeringConnections", "RunInstances"},
	}
}

// state is what only this room knows of a Region.
type state struct {
	vpcs     world.Ordered[*vpc] // by id, beside tx.VPCs
	groups   world.Ordered[*group]
	gateways world.Ordered[*gateway]
	tags     world.Ordered[[]Tag] // by resource id
	public   map[string]bool      // subnets with MapPublicIpOnLaunch
}

// vpc is what no law reads of a VPC.
type vpc struct {
	tenancy               string
	dnsSupport, hostnames bool
	addressMetrics        bool
}

// desk is one step of the room: the world's step and the room's own state.
type desk struct {
	*world.Tx
	*state
}

func deskOf(tx *world.Tx) desk { return desk{tx, world.Room[state](tx.Region, "ec2")} }

func (s *Service) do(ctx context.Context, f func(d desk) error) error {
	return s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error { return f(deskOf(tx)) })
}

// newID is a fresh id: "vpc-0123456789abcdef0".
func (d desk) newID(prefix string) string { return prefix + "-" + d.NewHex(prefix, 17) }

// Done is the output of calls that only say that it is done.
type Done struct{ Return bool }

func done() *Done { return &Done{Return: true} }
