package elbv2

import (
	"context"
	"slices"
	"strconv"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// accountLimits returns the default quotas of an account in a Region.
func accountLimits() []elbtypes.Limit {
	var out []elbtypes.Limit
	for _, l := range []struct {
		name string
		max  int
	}{
		{"application-load-balancers", maxBalancers}, {"target-groups", maxGroups},
		{"targets-per-application-load-balancer", maxTargets}, {"listeners-per-application-load-balancer",
			maxListeners},
		{"rules-per-application-load-balancer", maxRules}, {"network-load-balancers", 50},
		{"targets-per-network-load-balancer", 3000},
		{"targets-per-availability-zone-per-network-load-balancer", 500}, {"listeners-per-network-load-balancer", 50},
		{"condition-values-per-alb-rule", maxConditionValues}, {"condition-wildcards-per-alb-rule", maxWildcards},
		{"target-groups-per-application-load-balancer", maxBalancerGroups},
		{"target-groups-per-action-on-application-load-balancer", maxActionGroups},
		{"target-groups-per-action-on-network-load-balancer", 5},
		{"certificates-per-application-load-balancer", maxCertificates},
		{"certificates-per-network-load-balancer", maxCertificates}, {"targets-per-target-group", maxTargets},
	} {
		out = append(out, elbtypes.Limit{Name: ptr(l.name), Max: ptr(strconv.Itoa(l.max))})
	}
	return out
}

// DescribeAccountLimits lists the quotas. The API enforces those of application load balancers.
func (s *Service) DescribeAccountLimits(ctx context.Context,
	in *awselb.DescribeAccountLimitsInput) (*awselb.DescribeAccountLimitsOutput, error) {
	return runStep(ctx, s, func(*world.Tx) (*awselb.DescribeAccountLimitsOutput, error) {
		list, next, err := pageOf(accountLimits(), in.Marker, in.PageSize,
			func(l elbtypes.Limit) string { return *l.Name })
		return &awselb.DescribeAccountLimitsOutput{Limits: list, NextMarker: next}, err
	})
}

// sslPolicies returns a few of AWS's policies; listeners use no TLS here.
func sslPolicies() []elbtypes.SslPolicy {
	policy := func(name string, protocols ...string) elbtypes.SslPolicy {
		return elbtypes.SslPolicy{Name: ptr(name), SslProtocols: protocols,
			SupportedLoadBalancerTypes: []string{"application", "network"},
			Ciphers: []elbtypes.Cipher{{Name: ptr("ECDHE-ECDSA-AES128-GCM-SHA256"), Priority: ptr(int32(1))},
				{Name: ptr("ECDHE-RSA-AES128-GCM-SHA256"), Priority: ptr(int32(2))}}}
	}
	return []elbtypes.SslPolicy{
		policy(defaultPolicy, "TLSv1", "TLSv1.1", "TLSv1.2"),
		policy("ELBSecurityPolicy-TLS-1-2-2017-01", "TLSv1.2"),
		policy("ELBSecurityPolicy-FS-1-2-Res-2020-10", "TLSv1.2"),
		policy("ELBSecurityPolicy-TLS13-1-2-2021-06", "TLSv1.2", "TLSv1.3"),
		policy("ELBSecurityPolicy-TLS13-1-3-2021-06", "TLSv1.3"),
		policy("ELBSecurityPolicy-TLS13-1-2-Res-PQ-2025-09", "TLSv1.2", "TLSv1.3"),
	}
}

func sslPolicy(name string) *elbtypes.SslPolicy {
	for _, p := range sslPolicies() {
		if *p.Name == name {
			return &p
		}
	}
	return nil
}

// unique returns the names in their order, each once.
func unique(names []string) (out []string) {
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// DescribeSSLPolicies lists the simulated policies.
func (s *Service) DescribeSSLPolicies(ctx context.Context,
	in *awselb.DescribeSSLPoliciesInput) (*awselb.DescribeSSLPoliciesOutput, error) {
	return runStep(ctx, s, func(*world.Tx) (*awselb.DescribeSSLPoliciesOutput, error) {
		list := sslPolicies()
		if len(in.Names) > 0 {
			var err error
			list, err = mapEach(unique(in.Names), func(name string) (elbtypes.SslPolicy, error) {
				if p := sslPolicy(name); p != nil {
					return *p, nil
				}
				return elbtypes.SslPolicy{}, world.Refuse("SSLPolicyNotFound", "SSL policy '%s' not found", name)
			})
			if err != nil {
				return nil, err
			}
		}
		list, next, err := pageOf(list, in.Marker, in.PageSize, func(p elbtypes.SslPolicy) string { return *p.Name })
		return &awselb.DescribeSSLPoliciesOutput{SslPolicies: list, NextMarker: next}, err
	})
}
