// Package ec2 implements the part of the API of Amazon EC2 that clients of ECS and load balancers
// need: VPCs, subnets, security groups, internet gateways, zones, tags, and the network interfaces
// of tasks. These resources are checked and counted. Networks route no packets, and security groups
// block no connections.
//
// Its inputs and outputs are small structs of its own, because the SDK's EC2 package is too large
// to compile with everything else. Their members have the names of the EC2 API Reference.
//
// Every Region has a default network from the start; see defaultnetwork.go. Start reading at [NewAPI], then
// vpc.go.
package ec2

import (
	"context"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service implements the API of EC2.
type Service struct{ world *world.World }

// New creates the API over w, and the default network of every later Region. Call it once per
// world, before the first step.
func New(w *world.World) *Service {
	w.OnNewRegion(buildDefaultNetwork)
	return &Service{world: w}
}

// NewAPI returns the API in the form that wire serves. It calls [New].
func NewAPI(w *world.World) wire.API {
	return wire.API{
		Name: "ec2", ServiceID: "EC2", Protocol: wire.EC2Query, Version: "2016-11-15",
		Namespace: "http://ec2.amazonaws.com/doc/2016-11-15/", Service: New(w),
		Known: []string{"AssociateRouteTable", "CreateNatGateway", "CreateRoute", "CreateRouteTable",
			"CreateVpcEndpoint",
			"DescribeDhcpOptions", "DescribeInstances", "DescribeNatGateways", "DescribeNetworkAcls",
			"DescribeRouteTables",
			"DescribeSecurityGroupRules", "DescribeVpcEndpoints", "DescribeVpcPeeringConnections", "RunInstances"},
	}
}

// state holds the API's own data of a Region.
type state struct {
	vpcs     world.Ordered[*vpc] // by id, in addition to tx.VPCs
	groups   world.Ordered[*group]
	gateways world.Ordered[*gateway]
	tags     world.Ordered[[]Tag] // by resource id
	public   map[string]bool      // subnets with MapPublicIpOnLaunch
}

// vpc holds the data of a VPC that no controller reads.
type vpc struct {
	tenancy               string
	dnsSupport, hostnames bool
	addressMetrics        bool
}

// regionDesk joins one step of the world with the API's own state of the Region.
type regionDesk struct {
	*world.Tx
	*state
}

func regionDeskOf(tx *world.Tx) regionDesk {
	return regionDesk{tx, world.PrivateState[state](tx.Region, "ec2")}
}

func (s *Service) runStep(ctx context.Context, f func(d regionDesk) error) error {
	return s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error { return f(regionDeskOf(tx)) })
}

// newID returns a new id: "vpc-0123456789abcdef0".
func (d regionDesk) newID(prefix string) string { return prefix + "-" + d.NewHex(prefix, 17) }

// Done is the output of calls without a result.
type Done struct{ Return bool }

func newDone() *Done { return &Done{Return: true} }
