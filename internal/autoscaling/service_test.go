package autoscaling

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"

	"github.com/sluice-ecs/sluice"
)

// pages answers as Application Auto Scaling does: so many pages of targets, each
// with the token of the next.
type pages struct {
	targets [][]map[string]any
	asked   []map[string]any
}

func (p *pages) Do(r *http.Request) (*http.Response, error) {
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	p.asked = append(p.asked, in)
	out := map[string]any{}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeScalableTargets") {
		n := 0
		if token, ok := in["NextToken"].(string); ok {
			n = len(token)
		}
		out["ScalableTargets"] = p.targets[n]
		if n+1 < len(p.targets) {
			out["NextToken"] = strings.Repeat("t", n+1)
		}
	}
	body, err := json.Marshal(out)
	return &http.Response{StatusCode: http.StatusOK,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}},
		Body:   io.NopCloser(strings.NewReader(string(body)))}, err
}

func (p *pages) service() Service {
	return Service{Cluster: "arn:aws:ecs:us-east-1:123456789012:cluster/prod", Name: "web",
		API: awsaas.New(awsaas.Options{Region: "us-east-1", HTTPClient: p,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "sim"}, nil
			})})}
}

func target(dimension string, lo, hi int, suspended ...string) map[string]any {
	return map[string]any{"ServiceNamespace": "ecs", "ResourceId": "service/prod/web", "ScalableDimension": dimension,
		"MinCapacity": lo, "MaxCapacity": hi,
		"SuspendedState": map[string]any{"DynamicScalingInSuspended": slices.Contains(suspended, "in"),
			"DynamicScalingOutSuspended": slices.Contains(suspended, "out"),
			"ScheduledScalingSuspended":  slices.Contains(suspended, "scheduled")}}
}

// Targets are read to the end of the pages, also where a page is empty and another
// follows, as AWS may answer a question with a filter.
func TestAllTargetsOfAllPages(t *testing.T) {
	p := &pages{targets: [][]map[string]any{{}, {target("ecs:service:Second", 1, 3, "in"),
		target("ecs:service:DesiredCount", 2, 8, "out", "scheduled")}, {}, {target("ecs:service:First", 0, 1)}}}
	all, err := p.service().Observe(context.Background())
	want := []sluice.Scalable{
		{Dimension: "ecs:service:DesiredCount", Min: 2, Max: 8,
			Suspended: sluice.Suspension{Out: true, Scheduled: true}},
		{Dimension: "ecs:service:First", Max: 1},
		{Dimension: "ecs:service:Second", Min: 1, Max: 3, Suspended: sluice.Suspension{In: true}},
	}
	if err != nil || !slices.Equal(all, want) || len(p.asked) != 4 {
		t.Fatalf("%+v after %d calls: %v", all, len(p.asked), err)
	}
	for _, in := range p.asked {
		if ids, ok := in["ResourceIds"].([]any); !ok || len(ids) != 1 || ids[0] != "service/prod/web" ||
			in["ServiceNamespace"] != "ecs" {
			t.Errorf("asked %v", in)
		}
	}
}

// Each target is written by its own dimension, and only what differs of its bounds.
func TestATargetIsSetByItsDimension(t *testing.T) {
	p := &pages{}
	now := sluice.Scalable{Dimension: "ecs:service:Second", Min: 1, Max: 3}
	to := sluice.Scalable{Dimension: "ecs:service:Second", Min: 1, Max: 5, Suspended: sluice.AllSuspended}
	act := func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
		_, err := call(ctx)
		return err
	}
	if err := p.service().SetTarget(context.Background(), act, "set auto scaling", now, to); err != nil {
		t.Fatal(err)
	}
	in := p.asked[0]
	s, _ := in["SuspendedState"].(map[string]any)
	if _, ok := in["MinCapacity"]; ok || in["ScalableDimension"] != "ecs:service:Second" || in["MaxCapacity"] != 5.0 ||
		s["DynamicScalingInSuspended"] != true {
		t.Errorf("asked %v", in)
	}
}
