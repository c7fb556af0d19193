package elbv2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func certificate(name string) string { return "arn:aws:acm:eu-west-1:123456789012:certificate/" + name }

func certificates(names ...string) (all []elbtypes.Certificate) {
	for _, n := range names {
		all = append(all, elbtypes.Certificate{CertificateArn: aws.String(certificate(n))})
	}
	return all
}

// secured is a listener with the certificate "first".
func (b *bench) secured(lb string, port int32, protocol elbtypes.ProtocolEnum, group string) string {
	b.Helper()
	out, err := b.CreateListener(b.ctx, &awselb.CreateListenerInput{LoadBalancerArn: &lb, Port: &port,
		Protocol: protocol, Certificates: certificates("first"), DefaultActions: []elbtypes.Action{to(group)}})
	b.ok(err)
	return *out.Listeners[0].ListenerArn
}

// certificatesOf are the names of a listener's certificates; the default one has a star.
func (b *bench) certificatesOf(listener string) string {
	b.Helper()
	var all []string
	in := &awselb.DescribeListenerCertificatesInput{ListenerArn: &listener, PageSize: aws.Int32(2)}
	for {
		out, err := b.DescribeListenerCertificates(b.ctx, in)
		b.ok(err)
		for _, c := range out.Certificates {
			name := strings.TrimPrefix(*c.CertificateArn, certificate(""))
			if *c.IsDefault {
				name += "*"
			}
			all = append(all, name)
		}
		if in.Marker = out.NextMarker; in.Marker == nil {
			return strings.Join(all, " ")
		}
	}
}

func TestCertificateList(t *testing.T) {
	b := newBench(t)
	lb, web := b.balancer("edge"), b.group("web")
	l := b.secured(lb, 443, "HTTPS", web)
	add := func(names ...string) error {
		_, err := b.AddListenerCertificates(b.ctx, &awselb.AddListenerCertificatesInput{ListenerArn: &l,
			Certificates: certificates(names...)})
		return err
	}
	remove := func(names ...string) error {
		_, err := b.RemoveListenerCertificates(b.ctx, &awselb.RemoveListenerCertificatesInput{ListenerArn: &l,
			Certificates: certificates(names...)})
		return err
	}
	wants := func(want string) {
		t.Helper()
		if got := b.certificatesOf(l); got != want {
			t.Errorf("certificates: %s, want %s", got, want)
		}
	}
	wants("first*")
	b.ok(add("second", "third"))
	b.ok(add("third", "first"))
	wants("first* second third first")
	b.ok(remove("first", "second", "unknown"))
	wants("first* third")
	b.refused(remove("first"), "OperationNotPermitted", "cannot be removed")

	out, err := b.ModifyListener(b.ctx, &awselb.ModifyListenerInput{ListenerArn: &l, Certificates: certificates("fourth")})
	b.ok(err)
	if all := out.Listeners[0].Certificates; len(all) != 1 || *all[0].CertificateArn != certificate("fourth") {
		t.Errorf("the listener shows %+v", all)
	}
	wants("fourth* third")
	var many []string
	for i := range 24 {
		many = append(many, fmt.Sprint("c", i))
	}
	b.ok(add(many...))
	b.refused(add("one-more"), "TooManyCertificates", lb)
	_, err = b.ModifyListener(b.ctx, &awselb.ModifyListenerInput{ListenerArn: &l, Protocol: "HTTP"})
	b.ok(err)
	wants("")
}

func TestCertificateRefusals(t *testing.T) {
	b := newBench(t)
	lb, flow, web, raw := b.balancer("edge"), b.network(), b.group("web"), b.groupOf("raw", "TLS")
	names := strings.NewReplacer("PLAIN", b.listen(lb, 80, to(web)), "SECURE", b.secured(lb, 443, "HTTPS", web),
		"TLS-LISTENER", b.secured(flow, 443, "TLS", raw), "DEFAULT", certificate("first"))
	for _, c := range []struct{ operation, input, answer string }{
		{"ModifyListener", `{"ListenerArn": "PLAIN", "Port": 8443, "Protocol": "HTTPS", "Certificates": []}`,
			"ValidationError: A certificate must be specified for HTTPS listeners"},
		{"ModifyListener", `{"ListenerArn": "SECURE", "Certificates": [{"CertificateArn": "none"}]}`,
			"ValidationError: Certificate ARN 'none' is not valid"},
		{"AddListenerCertificates", `{"ListenerArn": "SECURE", "Certificates": [{"CertificateArn": "none"}]}`,
			"ValidationError: Certificate ARN 'none' is not valid"},
		{"AddListenerCertificates", `{"ListenerArn": "SECURE", "Certificates": []}`,
			"ValidationError: At least one certificate must be specified"},
		{"AddListenerCertificates", `{"ListenerArn": "SECURE", "Certificates": [{"CertificateArn": "DEFAULT",
			"IsDefault": true}]}`,
			"ValidationError: IsDefault cannot be specified for the certificate list of a listener"},
		{"AddListenerCertificates", `{"ListenerArn": "PLAIN", "Certificates": [{"CertificateArn": "DEFAULT"}]}`,
			"ValidationError: Certificates cannot be specified for HTTP listeners"},
		{"ModifyListener", `{"ListenerArn": "SECURE", "AlpnPolicy": ["None"]}`,
			"ValidationError: ALPN policies cannot be specified for HTTPS listeners"},
		{"ModifyListener", `{"ListenerArn": "TLS-LISTENER", "AlpnPolicy": ["pol1", "pol2"]}`,
			"ValidationError: Only one ALPN policy can be specified for a listener"},
		{"ModifyListener", `{"ListenerArn": "TLS-LISTENER", "AlpnPolicy": ["pol1"]}`,
			"ALPNPolicyNotFound: The specified ALPN policy 'pol1' is not supported"},
		{"ModifyListener", `{"ListenerArn": "TLS-LISTENER", "AlpnPolicy": ["HTTP2Preferred"]}`, ""},
	} {
		if got, want := b.call(c.operation, names.Replace(c.input)), names.Replace(c.answer); got != want {
			t.Errorf("%s %s\n got  %s\n want %s", c.operation, c.input, got, want)
		}
	}
	tls := names.Replace("TLS-LISTENER")
	out, err := b.DescribeListeners(b.ctx, &awselb.DescribeListenersInput{ListenerArns: []string{tls}})
	b.ok(err)
	if got := out.Listeners[0].AlpnPolicy; !slices.Equal(got, []string{"HTTP2Preferred"}) {
		t.Errorf("ALPN policy %v", got)
	}
}
