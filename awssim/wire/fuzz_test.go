package wire_test

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

func send(t *testing.T, s *site, service, target, contentType, body string) []byte {
	r, _ := http.NewRequest("POST", "http://sim/", strings.NewReader(body))
	r.Header.Set("Authorization", signed("k", "r", service))
	r.Header.Set("Content-Type", contentType)
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
	}
	res, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	if res.StatusCode != 200 && res.StatusCode != 400 && res.StatusCode != 404 {
		t.Fatalf("%d %s", res.StatusCode, b)
	}
	return b
}

// Whatever is sent, the answer is JSON: an input is echoed or refused.
func FuzzJSON(f *testing.F) {
	for _, x := range []string{`{}`, `{"services":["a"]}`,
		`{"deploymentConfiguration":{"lifecycleHooks":[{"hookDetails":{"a":[1,null]}}]}}`,
		`{"desiredCount":1e3,"loadBalancers":[{"containerPort":80}]}`,
		`{"serviceConnectConfiguration":{"containerConfigurations":[{"logLevel":"debug"}]}}`,
		`[]`, `null`, `{"desiredCount":99999999999}`, `{"tags":[null]}`, "{\"serviceName\":\"\u2028\xff\"}"} {
		f.Add(x)
	}
	s := newSite(f)
	s.echo.createService = func(in *awsecs.CreateServiceInput) (*awsecs.CreateServiceOutput, error) {
		return &awsecs.CreateServiceOutput{Service: &ecstypes.Service{ServiceName: in.ServiceName,
			LoadBalancers:           in.LoadBalancers,
			DeploymentConfiguration: in.DeploymentConfiguration, Tags: in.Tags,
			Deployments: []ecstypes.Deployment{{ServiceConnectConfiguration: in.ServiceConnectConfiguration}}}}, nil
	}
	f.Fuzz(func(t *testing.T, body string) {
		if b := send(t, s, "ecs", ecsTarget+"CreateService", "application/x-amz-json-1.1", body); !json.Valid(b) {
			t.Fatalf("%q is answered by %q", body, b)
		}
	})
}

// Whatever is sent, the answer is well-formed XML.
func FuzzQuery(f *testing.F) {
	for _, x := range []string{"Actions.member.1.Type=forward&Actions.member.1.ForwardConfig.TargetGroups.member.2.Weight=0", "Conditions=",
		"Actions.member.1.Order=x", "Actions.member.-1.Type=a&Actions.member.99999999999999999999=b",
		"RuleArn=%ff%00<&", "..=.", "%zz"} {
		f.Add(x)
	}
	s := newSite(f)
	s.elb.modifyRule = func(in *awselb.ModifyRuleInput) (*awselb.ModifyRuleOutput, error) {
		return &awselb.ModifyRuleOutput{Rules: []elbtypes.Rule{{RuleArn: in.RuleArn, Actions: in.Actions,
			Conditions: in.Conditions}}}, nil
	}
	f.Fuzz(func(t *testing.T, body string) {
		b := send(t, s, "elasticloadbalancing", "", formType, "Action=ModifyRule&Version=2015-12-01&"+body)
		d := xml.NewDecoder(strings.NewReader(string(b)))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%q is answered by %q: %v", body, b, err)
			}
		}
	})
}
