package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

var describe = &awsecs.DescribeServicesInput{Services: []string{"web"}}

// answers makes DescribeServices answer one service, or err.
func (s *site) answers(name string, err error) {
	s.echo.describeServices = func(context.Context, *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput,
		error) {
		if err != nil {
			return nil, err
		}
		now := s.clock.now
		return &awsecs.DescribeServicesOutput{Services: []ecstypes.Service{{ServiceName: &name, CreatedAt: &now}},
			Failures: []ecstypes.Failure{}}, nil
	}
}

// post sends a request with a signature's scope and returns status and body.
func (s *site) post(t *testing.T, header map[string]string, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("POST", "http://sim/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	res, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	return res, string(b)
}

func signed(key, region, service string) string {
	return "AWS4-HMAC-SHA256 Credential=" + key + "/20270102/" + region + "/" + service +
		"/aws4_request, SignedHeaders=host, Signature=00"
}

const (
	ecsTarget = "AmazonEC2ContainerServiceV20141113."
	formType  = "application/x-www-form-urlencoded"
)

func TestRefusalsAreTypedWhereTheModelKnowsThem(t *testing.T) {
	s := newSite(t)
	s.answers("", world.Refuse("ClusterNotFoundException", "Cluster not found."))
	for way, call := range s.ways() {
		_, err := call()
		var typed *ecstypes.ClusterNotFoundException
		if !errors.As(err, &typed) || typed.ErrorMessage() != "Cluster not found." {
			t.Errorf("%s: %v is not ClusterNotFoundException", way, err)
		}
		var res *smithyhttp.ResponseError
		if !errors.As(err, &res) || res.HTTPStatusCode() != 400 {
			t.Errorf("%s: %v carries no status 400", way, err)
		}
	}
	s.answers("", &world.Refusal{Code: "UnmodelledException", Message: "no", Status: 400})
	for way, call := range s.ways() {
		_, err := call()
		var api *smithy.GenericAPIError
		if !errors.As(err, &api) || api.Code != "UnmodelledException" || api.Message != "no" {
			t.Errorf("%s: %v is not the generic UnmodelledException", way, err)
		}
	}
}

// ways are the codec and the direct way to one question.
func (s *site) ways() map[string]func() (*awsecs.DescribeServicesOutput, error) {
	return map[string]func() (*awsecs.DescribeServicesOutput, error){
		"codec": func() (*awsecs.DescribeServicesOutput, error) {
			out, err := s.ecs().DescribeServices(context.Background(), describe)
			if out != nil {
				out.ResultMetadata = awsecs.DescribeServicesOutput{}.ResultMetadata
			}
			return out, err
		},
		"direct": func() (*awsecs.DescribeServicesOutput, error) {
			out, err := s.Call(s.direct(), "ECS", "DescribeServices", describe)
			if err != nil {
				return nil, err
			}
			return out.(*awsecs.DescribeServicesOutput), nil
		},
	}
}

func TestDirectAndCodecAnswerAlike(t *testing.T) {
	s := newSite(t)
	s.answers("web", nil)
	ways := s.ways()
	a, err1 := ways["codec"]()
	b, err2 := ways["direct"]()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("codec %+v, direct %+v", a.Services[0], b.Services[0])
	}
	text := entries(s.world)
	if want := "123456789012/eu-west-1 call ecs.DescribeServices: ok"; strings.Count(text, want) != 2 {
		t.Errorf("log:\n%swant twice %q", text, want)
	}
}

func entries(w *world.World) string {
	var b bytes.Buffer
	_ = w.WriteLog(&b)
	return b.String()
}

func TestDirectSharesNoMemory(t *testing.T) {
	s := newSite(t)
	held := &ecstypes.Service{Deployments: []ecstypes.Deployment{{}}}
	var got *awsecs.CreateServiceInput
	s.echo.createService = func(in *awsecs.CreateServiceInput) (*awsecs.CreateServiceOutput, error) {
		got = in
		return &awsecs.CreateServiceOutput{Service: held}, nil
	}
	in := &awsecs.CreateServiceInput{ServiceName: aws.String("a"), Tags: []ecstypes.Tag{{Key: aws.String("k")}}}
	out, err := s.Call(s.direct(), "ECS", "CreateService", in)
	if err != nil {
		t.Fatal(err)
	}
	*in.ServiceName, *in.Tags[0].Key = "b", "changed"
	out.(*awsecs.CreateServiceOutput).Service.Deployments[0].DesiredCount = 7
	if *got.ServiceName != "a" || *got.Tags[0].Key != "k" || held.Deployments[0].DesiredCount != 0 {
		t.Error("caller and room share memory")
	}
}

func TestQueryErrorsDropTheSuffix(t *testing.T) {
	for code, want := range map[string]string{"TargetGroupNotFoundException": "TargetGroupNotFound",
		"TargetGroupNotFound":             "TargetGroupNotFound",
		"ALPNPolicyNotSupportedException": "ALPNPolicyNotFound", "ThrottlingException": "Throttling",
		"ValidationError": "ValidationError"} {
		s := newSite(t)
		s.elb.modifyRule = func(*awselb.ModifyRuleInput) (*awselb.ModifyRuleOutput, error) {
			return nil, world.Refuse(code, "a < b")
		}
		_, err := s.elbv2().ModifyRule(context.Background(), &awselb.ModifyRuleInput{RuleArn: aws.String("r")})
		var api smithy.APIError
		if !errors.As(err, &api) || api.ErrorCode() != want || api.ErrorMessage() != "a < b" {
			t.Errorf("%s arrived as %v, want %s", code, err, want)
		}
		var typed *elbtypes.TargetGroupNotFoundException
		if errors.As(err, &typed) != (want == "TargetGroupNotFound") {
			t.Errorf("%s is typed wrongly: %v", code, err)
		}
	}
}

func TestDispatch(t *testing.T) {
	s := newSite(t)
	s.answers("web", nil)
	s.elb.describeRules = func(*awselb.DescribeRulesInput) (*awselb.DescribeRulesOutput, error) {
		return &awselb.DescribeRulesOutput{}, nil
	}
	form := "Action=DescribeRules&Version=2015-12-01"
	elb := map[string]string{"Authorization": signed("k", "eu-west-1", "elasticloadbalancing"),
		"Content-Type": formType}
	tests := []struct {
		name   string
		header map[string]string
		body   string
		status int
		want   string
	}{
		{"query", elb, form, 200, "<DescribeRulesResult></DescribeRulesResult>"},
		{"json", map[string]string{"Authorization": signed("k", "r", "ecs"), "X-Amz-Target": ecsTarget +
			"DescribeServices"}, "{}", 200, `"services"`},
		{"unknown JSON operation", map[string]string{"Authorization": signed("k", "r", "ecs"),
			"X-Amz-Target": ecsTarget + "Nope"}, "{}", 400, "UnknownOperationException"},
		{"foreign target", map[string]string{"Authorization": signed("k", "r", "ecs"), "X-Amz-Target": "Logs.Nope"},
			"{}", 400, "UnknownOperationException"},
		{"unknown action", elb, "Action=Nope&Version=2015-12-01", 400,
			"<Code>InvalidAction</Code><Message>The action Nope is not valid for this web service.</Message>"},
		{"no such service", map[string]string{"Authorization": signed("k", "r", "s3")}, "", 400,
			"s3 is not simulated here; simulated are ecs, elasticloadbalancing"},
		{"Classic Load Balancers", elb, "Action=DescribeLoadBalancers&Version=2012-06-01", 400,
			"elasticloadbalancing 2012-06-01 is not simulated here"},
		{"nothing said", nil, "", 400, "ServiceNotSimulated"},
		{"unsigned JSON", map[string]string{"X-Amz-Target": ecsTarget + "DescribeServices"}, "{}", 400,
			"MissingAuthenticationTokenException"},
		{"unsigned query", map[string]string{"Content-Type": formType}, form, 403, "MissingAuthenticationToken"},
		{"broken signature", map[string]string{"Authorization": "AWS4-HMAC-SHA256 x", "X-Amz-Target": ecsTarget +
			"DescribeServices"}, "{}", 400, "IncompleteSignature"},
		{"wrong JSON type", map[string]string{"Authorization": signed("k", "r", "ecs"), "X-Amz-Target": ecsTarget +
			"DescribeServices"}, `{"services":"a"}`, 400,
			`{"__type":"SerializationException","message":"STRING_VALUE can not be converted to a list"}`},
		{"not JSON", map[string]string{"Authorization": signed("k", "r", "ecs"), "X-Amz-Target": ecsTarget +
			"DescribeServices"}, `{`, 400, "SerializationException"},
		{"unknown member", map[string]string{"Authorization": signed("k", "r", "ecs"), "X-Amz-Target": ecsTarget +
			"DescribeServices"}, `{"nope":1}`, 200, `"services"`},
	}
	for _, test := range tests {
		res, body := s.post(t, test.header, test.body)
		if res.StatusCode != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s: %d %s, want %d %s", test.name, res.StatusCode, body, test.status, test.want)
		}
		if len(res.Header.Get("x-amzn-RequestId")) != 36 {
			t.Errorf("%s: request id %q", test.name, res.Header.Get("x-amzn-RequestId"))
		}
	}
}

func TestAccountAndRegionComeFromTheScope(t *testing.T) {
	s := newSite(t)
	var seen []world.Key
	s.echo.describeServices = func(ctx context.Context,
		_ *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput, error) {
		seen = append(seen, world.KeyOf(ctx))
		return nil, nil
	}
	for _, key := range []string{"111122223333", "AKIAIOSFODNN7EXAMPLE"} {
		s.post(t, map[string]string{"Authorization": signed(key, "ap-south-1", "ecs"), "X-Amz-Target": ecsTarget +
			"DescribeServices"}, "{}")
	}
	want := []world.Key{{Account: "111122223333", Region: "ap-south-1"},
		{Account: wire.Anonymous, Region: "ap-south-1"}}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("keys %v, want %v", seen, want)
	}
}

func TestBodies(t *testing.T) {
	s := newSite(t)
	s.answers("web", nil)
	header := map[string]string{"Authorization": signed("k", "r", "ecs"), "X-Amz-Target": ecsTarget +
		"DescribeServices"}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(`{"services":["web"]}`))
	_ = z.Close()
	packed := map[string]string{"Content-Encoding": "gzip"}
	for k, v := range header {
		packed[k] = v
	}
	if res, body := s.post(t, packed, b.String()); res.StatusCode != 200 {
		t.Errorf("gzip: %d %s", res.StatusCode, body)
	}
	if res, _ := s.post(t, header, `{"x":"`+strings.Repeat("a", 4<<20)+`"}`); res.StatusCode != 413 {
		t.Errorf("too large: %d", res.StatusCode)
	}
}

func TestAPanicIsAnInternalFailureUnlessStrict(t *testing.T) {
	s := newSite(t, func(o *world.Options) { o.Strict = false })
	s.echo.describeServices = func(context.Context, *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput,
		error) {
		panic("oops")
	}
	_, err := s.ways()["codec"]()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != "InternalFailure" {
		t.Errorf("got %v", err)
	}
	if text := entries(s.world); !strings.Contains(text, "panic: oops") {
		t.Errorf("log:\n%s", text)
	}
	strict := newSite(t)
	strict.echo.describeServices = s.echo.describeServices
	defer func() {
		if recover() == nil {
			t.Error("a strict world swallowed a panic")
		}
	}()
	_, _ = strict.Call(strict.direct(), "ECS", "DescribeServices", describe)
}

func TestOverASocket(t *testing.T) {
	s := newSite(t)
	s.answers("web", nil)
	h := httptest.NewServer(s.Server)
	defer h.Close()
	s.cfg.HTTPClient, s.cfg.BaseEndpoint = h.Client(), &h.URL
	out, err := s.ecs().DescribeServices(context.Background(), describe)
	if err != nil || *out.Services[0].ServiceName != "web" {
		t.Fatal(out, err)
	}
	s.SetFaulter(faults{"DescribeServices": {DropReply: true}})
	if _, err := s.ecs().DescribeServices(context.Background(), describe); !errors.Is(err, io.EOF) {
		t.Errorf("dropped reply is %v, want EOF", err)
	}
}
