package awssim_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim"
)

// A call that is denied or refused for its parameters has the code of its service, and
// no effect; skip= lets the first ones pass.
func TestDeniedAndInvalidCalls(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newHands()})
	cfg := s.Config()
	ecs, elb := awsecs.NewFromConfig(cfg), awselb.NewFromConfig(cfg)
	calls := map[string]func() error{
		"ecs:CreateCluster": func() error {
			_, err := ecs.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("a")})
			return err
		},
		"elasticloadbalancing:DescribeRules": func() error {
			_, err := elb.DescribeRules(ctx, &awselb.DescribeRulesInput{})
			return err
		},
		"servicediscovery:ListServices": func() error {
			_, err := awssd.NewFromConfig(cfg).ListServices(ctx, &awssd.ListServicesInput{})
			return err
		},
		"codedeploy:ListApplications": func() error {
			_, err := awscd.NewFromConfig(cfg).ListApplications(ctx, &awscd.ListApplicationsInput{})
			return err
		},
		"application-autoscaling:DescribeScalableTargets": func() error {
			_, err := awsaas.NewFromConfig(cfg).DescribeScalableTargets(ctx,
				&awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs"})
			return err
		},
	}
	for _, c := range []struct{ operation, denied, invalid string }{
		{"ecs:CreateCluster", "AccessDeniedException", "InvalidParameterException"},
		{"elasticloadbalancing:DescribeRules", "AccessDenied", "ValidationError"},
		{"servicediscovery:ListServices", "AccessDeniedException", "InvalidInput"},
		{"codedeploy:ListApplications", "AccessDeniedException", "InvalidInputException"},
		{"application-autoscaling:DescribeScalableTargets", "AccessDeniedException", "ValidationException"},
	} {
		for kind, want := range map[string]string{"denied": c.denied, "invalid": c.invalid} {
			inject(t, s, kind+" "+c.operation+" times=1")
			if code := codeOf(calls[c.operation]()); code != want {
				t.Errorf("%s %s: %s, not %s", kind, c.operation, code, want)
			}
			s.ClearFaults()
		}
	}
	if out, err := ecs.ListClusters(ctx, &awsecs.ListClustersInput{}); err != nil || len(out.ClusterArns) != 0 {
		t.Errorf("a refused call has made a cluster: %v", err)
	}
	inject(t, s, "denied ecs:ListClusters skip=1 times=1")
	var codes [3]string
	for i := range codes {
		_, err := ecs.ListClusters(ctx, &awsecs.ListClustersInput{})
		codes[i] = codeOf(err)
	}
	if codes != [3]string{"", "AccessDeniedException", ""} {
		t.Errorf("%q", codes)
	}
}

func inject(t *testing.T, s *awssim.Sim, line string) {
	t.Helper()
	if err := s.Inject(line); err != nil {
		t.Fatal(err)
	}
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}
