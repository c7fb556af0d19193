package ec2

import "github.com/sluice-ecs/sluice/awssim/wire"

// apiOperations lists the methods that are API calls; a test of awssim checks that it is complete.
// The list is not made by reflection, so that the linker can leave out unused calls.
func (s *Service) apiOperations() []any {
	return []any{
		wire.Named{Name: "AttachInternetGateway", Call: s.AttachInternetGateway},
		wire.Named{Name: "AuthorizeSecurityGroupEgress", Call: s.AuthorizeSecurityGroupEgress},
		wire.Named{Name: "AuthorizeSecurityGroupIngress", Call: s.AuthorizeSecurityGroupIngress},
		s.CreateInternetGateway,
		s.CreateSecurityGroup,
		s.CreateSubnet,
		s.CreateTags,
		s.CreateVpc,
		wire.Named{Name: "DeleteInternetGateway", Call: s.DeleteInternetGateway},
		s.DeleteSecurityGroup,
		s.DeleteSubnet,
		s.DeleteTags,
		s.DeleteVpc,
		s.DescribeAccountAttributes,
		s.DescribeAvailabilityZones,
		s.DescribeInternetGateways,
		s.DescribeNetworkInterfaces,
		s.DescribeRegions,
		s.DescribeSecurityGroups,
		s.DescribeSubnets,
		s.DescribeTags,
		s.DescribeVpcAttribute,
		s.DescribeVpcs,
		wire.Named{Name: "DetachInternetGateway", Call: s.DetachInternetGateway},
		s.ModifySubnetAttribute,
		s.ModifyVpcAttribute,
		wire.Named{Name: "RevokeSecurityGroupEgress", Call: s.RevokeSecurityGroupEgress},
		wire.Named{Name: "RevokeSecurityGroupIngress", Call: s.RevokeSecurityGroupIngress},
	}
}
