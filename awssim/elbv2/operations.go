package elbv2

// apiOperations lists the methods that are API calls; a test of awssim checks that it is complete.
// The list is not made by reflection, so that the linker can leave out unused calls.
func (s *Service) apiOperations() []any {
	return []any{
		s.AddListenerCertificates,
		s.AddTags,
		s.CreateListener,
		s.CreateLoadBalancer,
		s.CreateRule,
		s.CreateTargetGroup,
		s.DeleteListener,
		s.DeleteLoadBalancer,
		s.DeleteRule,
		s.DeleteTargetGroup,
		s.DeregisterTargets,
		s.DescribeAccountLimits,
		s.DescribeListenerAttributes,
		s.DescribeListenerCertificates,
		s.DescribeListeners,
		s.DescribeLoadBalancerAttributes,
		s.DescribeLoadBalancers,
		s.DescribeRules,
		s.DescribeSSLPolicies,
		s.DescribeTags,
		s.DescribeTargetGroupAttributes,
		s.DescribeTargetGroups,
		s.DescribeTargetHealth,
		s.ModifyListener,
		s.ModifyListenerAttributes,
		s.ModifyLoadBalancerAttributes,
		s.ModifyRule,
		s.ModifyTargetGroup,
		s.ModifyTargetGroupAttributes,
		s.RegisterTargets,
		s.RemoveListenerCertificates,
		s.RemoveTags,
		s.SetIpAddressType,
		s.SetRulePriorities,
		s.SetSecurityGroups,
		s.SetSubnets,
	}
}
