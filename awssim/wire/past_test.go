package wire_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
)

const webARN = "arn:aws:ecs:eu-west-1:123456789012:service/prod/web"

// serve answers with one service, which was made at a time and wants a count.
func (s *site) serve(born time.Time, count int32) {
	s.echo.describeServices = func(context.Context, *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput,
		error) {
		return &awsecs.DescribeServicesOutput{Services: []ecstypes.Service{{ServiceArn: aws.String(webARN),
			CreatedAt: &born, DesiredCount: count}}}, nil
	}
}

// A question that was not asked before can be answered from the past: without an
// object that is younger, and with an older one as it was.
func TestAFirstQuestionIsAnsweredAsOfThen(t *testing.T) {
	s := newSite(t)
	inject := faults{}
	s.SetFaulter(inject)
	ask := func(in *awsecs.DescribeServicesInput) *awsecs.DescribeServicesOutput {
		t.Helper()
		out, err := s.ecs().DescribeServices(s.direct(), in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	web := &awsecs.DescribeServicesInput{Services: []string{"web"}}
	tagged := &awsecs.DescribeServicesInput{Services: []string{"web"}, Include: []ecstypes.ServiceField{"TAGS"}}
	s.serve(s.clock.now, 1)
	s.after(2 * time.Second)
	inject["DescribeServices"] = wire.Injected{StaleBy: 5 * time.Second}
	if out := ask(web); len(out.Services) != 0 || len(out.Failures) != 1 || *out.Failures[0].Reason != "MISSING" ||
		*out.Failures[0].Arn != webARN {
		t.Errorf("5 s ago there was no service of 2 s ago: %+v", out)
	}
	delete(inject, "DescribeServices")
	s.after(10 * time.Second)
	ask(web)
	s.after(6 * time.Second)
	s.serve(s.clock.now.Add(-18*time.Second), 4)
	inject["DescribeServices"] = wire.Injected{StaleBy: 5 * time.Second}
	if out := ask(tagged); len(out.Services) != 1 || out.Services[0].DesiredCount != 1 {
		t.Errorf("another question showed a count of 1 then: %+v", out)
	}
	delete(inject, "DescribeServices")
	if out := ask(tagged); out.Services[0].DesiredCount != 4 {
		t.Errorf("without a fault: %+v", out)
	}
}
