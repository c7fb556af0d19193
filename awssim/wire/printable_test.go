package wire_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// A refusal shows what the caller sent. A terminal that prints it must not obey it.
func TestRefusalsHaveNoControlCharacters(t *testing.T) {
	s := constrained(t)
	in := &awsecs.CreateServiceInput{ServiceName: aws.String("\x1b[31m\u009b\u202ea")}
	_, err := s.ecs().CreateService(t.Context(), in)
	const want = `Value '\x1b[31m\u009b\u202ea' at 'serviceName' failed`
	for range 2 {
		var typed *ecstypes.ClientException
		if !errors.As(err, &typed) || strings.ContainsAny(typed.ErrorMessage(), "\x1b\u009b\u202e") ||
			!strings.Contains(typed.ErrorMessage(), want) {
			t.Errorf("got %q, want %s", err, want)
		}
		_, err = s.Server.Call(s.direct(), "ECS", "CreateService", in)
	}
	for _, answer := range []string{
		post(t, s, "ecs", "AmazonEC2ContainerServiceV20141113.De\u009bX", "{}"),
		post(t, s, "e\u009bcs", "X.Y", "{}"), post(t, s, "e\u009bcs", "", "Action=Cre%C2%9b&Version=2%C2%9b"),
	} {
		if strings.ContainsAny(answer, "\x1b\u009b\u202e") || !strings.Contains(answer, `u009b`) {
			t.Errorf("%q", answer)
		}
	}
	var log strings.Builder
	if err := s.world.WriteLog(&log); err != nil || strings.ContainsAny(log.String(), "\x1b\u009b\u202e") {
		t.Errorf("%v, the log has %q", err, log.String())
	}
}

// post sends a request to a service and returns the answer as it is on the wire.
func post(t *testing.T, s *site, service, target, body string) string {
	t.Helper()
	r := httptest.NewRequest("POST", "http://127.0.0.1:4566/", strings.NewReader(body))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=123456789012/20270102/eu-west-1/"+service+
		"/aws4_request, SignedHeaders=host, Signature=x")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
		r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Body.String()
}

// Answers show what the caller sent too, as in failures. JSON and XML have escapes for it.
func TestAnswersHaveNoControlCharacters(t *testing.T) {
	s := newSite(t)
	const name = "a\x7f\u0085\u009b31m"
	s.echo.describeServices = func(context.Context, *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput, error) {
		return &awsecs.DescribeServicesOutput{Failures: []ecstypes.Failure{{Arn: aws.String(name)}}}, nil
	}
	s.elb.describe = func(*awselb.DescribeLoadBalancersInput) (*awselb.DescribeLoadBalancersOutput, error) {
		return &awselb.DescribeLoadBalancersOutput{NextMarker: aws.String(name)}, nil
	}
	for _, answer := range []string{
		post(t, s, "ecs", "AmazonEC2ContainerServiceV20141113.DescribeServices", "{}"),
		post(t, s, "elasticloadbalancing", "", "Action=DescribeLoadBalancers&Version=2015-12-01"),
	} {
		if strings.ContainsAny(answer, "\x7f\u0085\u009b") || !strings.Contains(answer, "31m") {
			t.Errorf("%q", answer)
		}
	}
	out, err := s.ecs().DescribeServices(t.Context(), &awsecs.DescribeServicesInput{Services: []string{"x"}})
	if err != nil || *out.Failures[0].Arn != name {
		t.Errorf("%v %+v", err, out)
	}
	page, err := s.elbv2().DescribeLoadBalancers(t.Context(), &awselb.DescribeLoadBalancersInput{})
	if err != nil || *page.NextMarker != name {
		t.Errorf("%v %q", err, *page.NextMarker)
	}
}
