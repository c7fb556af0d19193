package elbv2

import (
	"context"
	"slices"
	"strings"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const maxCertificates = 25 // per load balancer, default certificates not counted

// isSecure reports whether a listener of the protocol has certificates.
func isSecure(protocol string) bool { return protocol == "HTTPS" || protocol == "TLS" }

// checkCertificates checks the default certificate of a listener. No certificate is stored here, so
// every ARN of a certificate of ACM or IAM counts as an existing one.
func checkCertificates(l *world.Listener) error {
	given := listenerOf(l).certificates
	switch secure := isSecure(l.Protocol); {
	case secure && len(given) == 0:
		return validationError("A certificate must be specified for %s listeners", l.Protocol)
	case len(given) > 1:
		return world.Refuse("TooManyCertificates", "Only one certificate can be specified for a listener")
	case !secure && len(given) > 0:
		return noCertificates(l)
	}
	return checkCertificateARNs(given)
}

func noCertificates(l *world.Listener) error {
	return validationError("Certificates cannot be specified for %s listeners", l.Protocol)
}

func checkCertificateARNs(given []elbtypes.Certificate) error {
	for _, c := range given {
		arn := val(c.CertificateArn)
		if !strings.HasPrefix(arn, "arn:") || !strings.Contains(arn, ":acm:") && !strings.Contains(arn, ":iam:") {
			return validationError("Certificate ARN '%s' is not valid", arn)
		}
	}
	return nil
}

// moreCertificates returns the ARNs of a call about the certificate list of a listener.
func moreCertificates(l *world.Listener, given []elbtypes.Certificate) ([]string, error) {
	switch {
	case !isSecure(l.Protocol):
		return nil, noCertificates(l)
	case len(given) == 0:
		return nil, validationError("At least one certificate must be specified")
	}
	if err := checkCertificateARNs(given); err != nil {
		return nil, err
	}
	var arns []string
	for _, c := range given {
		if c.IsDefault != nil {
			return nil, validationError("IsDefault cannot be specified for the certificate list of a listener")
		}
		arns = append(arns, *c.CertificateArn)
	}
	return arns, nil
}

// AddListenerCertificates adds certificates to the certificate list of a listener; it keeps those
// that the list has.
func (s *Service) AddListenerCertificates(ctx context.Context,
	in *awselb.AddListenerCertificatesInput) (*awselb.AddListenerCertificatesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.AddListenerCertificatesOutput, error) {
		l, err := findListener(tx, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		arns, err := moreCertificates(l, in.Certificates)
		if err != nil {
			return nil, err
		}
		list := slices.Clone(listenerOf(l).more)
		out := &awselb.AddListenerCertificatesOutput{}
		for _, arn := range arns {
			if !slices.Contains(list, arn) {
				list = append(list, arn)
			}
			out.Certificates = append(out.Certificates, elbtypes.Certificate{CertificateArn: ptr(arn),
				IsDefault: ptr(false)})
		}
		if countCertificates(l.Balancer)+len(list)-len(listenerOf(l).more) > maxCertificates {
			return nil, world.Refuse("TooManyCertificates",
				"The maximum number of certificates has been reached on load balancer '%s'", l.Balancer.ARN)
		}
		listenerOf(l).more = list
		return out, nil
	})
}

func countCertificates(lb *world.LoadBalancer) (n int) {
	for _, l := range lb.Listeners {
		n += len(listenerOf(l).more)
	}
	return n
}

// RemoveListenerCertificates removes certificates from the certificate list of a listener; it
// ignores those that the list does not have. The default certificate stays.
func (s *Service) RemoveListenerCertificates(ctx context.Context,
	in *awselb.RemoveListenerCertificatesInput) (*awselb.RemoveListenerCertificatesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.RemoveListenerCertificatesOutput, error) {
		l, err := findListener(tx, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		arns, err := moreCertificates(l, in.Certificates)
		if err != nil {
			return nil, err
		}
		d := listenerOf(l)
		for _, c := range d.certificates {
			if arn := *c.CertificateArn; slices.Contains(arns, arn) && !slices.Contains(d.more, arn) {
				return nil, world.Refuse("OperationNotPermitted", "The default certificate '%s' of listener '%s' cannot "+
					"be removed", arn, l.ARN)
			}
		}
		d.more = slices.DeleteFunc(slices.Clone(d.more), func(arn string) bool { return slices.Contains(arns, arn) })
		return &awselb.RemoveListenerCertificatesOutput{}, nil
	})
}

// DescribeListenerCertificates returns the default certificate, then the certificate list. A default
// certificate that is also in the list is returned twice, as by AWS.
func (s *Service) DescribeListenerCertificates(ctx context.Context,
	in *awselb.DescribeListenerCertificatesInput) (*awselb.DescribeListenerCertificatesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DescribeListenerCertificatesOutput, error) {
		l, err := findListener(tx, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		all := []elbtypes.Certificate{}
		for _, c := range shapeCertificates(listenerOf(l).certificates) {
			c.IsDefault = ptr(true)
			all = append(all, c)
		}
		for _, arn := range listenerOf(l).more {
			all = append(all, elbtypes.Certificate{CertificateArn: ptr(arn), IsDefault: ptr(false)})
		}
		list, next, err := pageOf(all, in.Marker, in.PageSize, func(c elbtypes.Certificate) string {
			if *c.IsDefault {
				return "default"
			}
			return *c.CertificateArn
		})
		return &awselb.DescribeListenerCertificatesOutput{Certificates: list, NextMarker: next}, err
	})
}

func shapeCertificates(in []elbtypes.Certificate) []elbtypes.Certificate {
	out := deepCopy(in)
	for i := range out {
		out[i].IsDefault = nil
	}
	return out
}

// checkALPN checks the one ALPN policy that a TLS listener can have.
func checkALPN(l *world.Listener) error {
	policies := listenerOf(l).alpn
	switch {
	case len(policies) == 0:
		return nil
	case l.Protocol != "TLS":
		return validationError("ALPN policies cannot be specified for %s listeners", l.Protocol)
	case len(policies) > 1:
		return validationError("Only one ALPN policy can be specified for a listener")
	case !slices.Contains([]string{"HTTP1Only", "HTTP2Only", "HTTP2Optional", "HTTP2Preferred", "None"}, policies[0]):
		return world.Refuse("ALPNPolicyNotFound", "The specified ALPN policy '%s' is not supported", policies[0])
	}
	return nil
}
