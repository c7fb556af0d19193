package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

func provider(kind string, config map[string]string) appfile.Gate {
	return appfile.Gate{Read: appfile.GateSource{Provider: &appfile.Provider{Type: kind, Config: config}}}
}

// The policy allows what the gates of a plan read in AWS, and no more.
func TestPolicyOfGates(t *testing.T) {
	header := appfile.Gate{Read: appfile.GateSource{HTTPS: &appfile.HTTPCheck{Headers: []appfile.Header{
		{Key: "Authorization", Value: "ssm:/shop/check"}, {Key: "Accept", Value: "text/html"}}}}}
	for name, c := range map[string]struct {
		gate appfile.Gate
		want []string // action and resource
	}{
		"signal": {appfile.Gate{Read: appfile.GateSource{Signal: &appfile.Signal{}}}, []string{"cloudwatch:GetMetricData *"}},
		"alarm":  {appfile.Gate{Read: appfile.GateSource{Alarm: "down"}}, []string{"cloudwatch:DescribeAlarms *"}},
		"metric": {provider("CLOUDWATCH", nil), []string{"cloudwatch:GetMetricData *"}},
		"bearer": {provider("PROMETHEUS", map[string]string{"address": "https://p.example", "bearer": "ssm:/shop/token"}),
			[]string{"ssm:GetParameter arn:aws:ssm:us-east-1:123456789012:parameter/shop/token"}},
		"header of a provider": {provider("WEB", map[string]string{"headers.X-Api-Key": "ssm:key"}),
			[]string{"ssm:GetParameter arn:aws:ssm:us-east-1:123456789012:parameter/key"}},
		"header of a check": {header, []string{"ssm:GetParameter arn:aws:ssm:us-east-1:123456789012:parameter/shop/check"}},
		"secret elsewhere":  {provider("DATADOG", map[string]string{"apiKey": "env:KEY"}), nil},
		"workspace": {provider("PROMETHEUS", map[string]string{"sigv4": "true",
			"address": "https://aps-workspaces.eu-central-1.amazonaws.com/workspaces/ws-1"}),
			[]string{"aps:QueryMetrics arn:aws:aps:eu-central-1:123456789012:workspace/ws-1"}},
		"workspace with a Region": {provider("PROMETHEUS", map[string]string{"sigv4": "eu-west-1",
			"address": "https://metrics.example/workspaces/ws-1/"}),
			[]string{"aps:QueryMetrics arn:aws:aps:eu-west-1:123456789012:workspace/ws-1"}},
		"a proxy": {provider("PROMETHEUS", map[string]string{"sigv4": "true", "address": "https://metrics.example"}),
			[]string{"aps:QueryMetrics arn:aws:aps:*:123456789012:workspace/*"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &builder{plan: &plan.Plan{Region: "us-east-1", Account: "123456789012",
				Stages: []plan.Stage{{Gates: []appfile.Gate{c.gate}}}}, partition: "aws", statements: map[string]*Statement{}}
			b.allowGateReads()
			var got []string
			for _, s := range b.buildDocument().Statement {
				got = append(got, strings.Join(s.Action, ",")+" "+strings.Join(s.Resource, ","))
				if !slices.Contains(sidOrder, s.Sid) {
					t.Errorf("%s has no place in the order", s.Sid)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
