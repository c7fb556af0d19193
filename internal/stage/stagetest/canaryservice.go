package stagetest

import (
	"context"
	"strings"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
)

// CanaryService returns the canary service as AWS shows it, nil if there is none.
func (b *Bench) CanaryService() *ecstypes.Service {
	b.Helper()
	out := Got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web-canary"}, Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(b)
	if len(out.Services) == 0 || *out.Services[0].Status == "INACTIVE" {
		return nil
	}
	return &out.Services[0]
}

// ExpectCanaryServiceGone is ExpectRolled, without a canary service, its traffic or a lost request.
func (b *Bench) ExpectCanaryServiceGone(end engine.RunResult, outcome sluice.Outcome, cause, state string) {
	b.Helper()
	b.ExpectRolled(end, outcome, cause, state)
	if s := b.CanaryService(); s != nil {
		b.Errorf("%s is left over", *s.ServiceName)
	}
	if w := b.Weights(); w != "primary 100 canary 0" {
		b.Errorf("weights: %s", w)
	}
	b.ExpectNoneLost()
}

// WithoutTraffic returns an application without its load balancer: a worker that nobody calls.
func WithoutTraffic(files fstest.MapFS) fstest.MapFS {
	text := string(files["sluice.yaml"].Data)
	before, rest, _ := strings.Cut(text, "  targetGroups:")
	_, after, _ := strings.Cut(rest, "\npipeline:")
	files["sluice.yaml"] = &fstest.MapFile{Data: []byte(before + "  accessType: NONE\npipeline:" + after)}
	service, _, _ := strings.Cut(string(files["servicedef.yaml"].Data), "loadBalancers:")
	files["servicedef.yaml"] = &fstest.MapFile{Data: []byte(service)}
	return files
}
