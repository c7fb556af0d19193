package applicationautoscaling_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/applicationautoscaling"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

type stopped struct{}

func (stopped) Now() time.Time                             { return time.Unix(1_800_000_000, 0) }
func (stopped) Sleep(context.Context, time.Duration) error { return nil }

func client() *awsaas.Client {
	w := world.New(world.Options{Clock: stopped{}, Strict: true})
	return awsaas.NewFromConfig(aws.Config{Region: "eu-west-1", HTTPClient: &http.Client{Transport: wire.New(w, applicationautoscaling.Room(w))},
		BaseEndpoint: aws.String("http://sim"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "x"}, nil
		})})
}

func TestNothingIsAutoscaled(t *testing.T) {
	ctx, c := context.Background(), client()
	targets, err := c.DescribeScalableTargets(ctx, &awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs",
		ResourceIds: []string{"service/c/s"}, ScalableDimension: "ecs:service:DesiredCount"})
	if err != nil || len(targets.ScalableTargets) != 0 || targets.NextToken != nil {
		t.Errorf("targets %+v, %v", targets, err)
	}
	policies, err := c.DescribeScalingPolicies(ctx, &awsaas.DescribeScalingPoliciesInput{ServiceNamespace: "ecs"})
	if err != nil || len(policies.ScalingPolicies) != 0 {
		t.Errorf("policies %+v, %v", policies, err)
	}
	activities, err := c.DescribeScalingActivities(ctx, &awsaas.DescribeScalingActivitiesInput{ServiceNamespace: "ecs"})
	if err != nil || len(activities.ScalingActivities) != 0 {
		t.Errorf("activities %+v, %v", activities, err)
	}
	actions, err := c.DescribeScheduledActions(ctx, &awsaas.DescribeScheduledActionsInput{ServiceNamespace: "ecs"})
	if err != nil || len(actions.ScheduledActions) != 0 {
		t.Errorf("actions %+v, %v", actions, err)
	}
}

func TestRefusedQuestions(t *testing.T) {
	c := client()
	for text, in := range map[string]*awsaas.DescribeScalableTargetsInput{
		"enum value set: [ecs,":               {ServiceNamespace: "nope"},
		"'scalableDimension' failed":          {ServiceNamespace: "ecs", ScalableDimension: "nope"},
		"Unsupported service namespace":       {ServiceNamespace: "ecs", ScalableDimension: "dynamodb:table:ReadCapacityUnits"},
		"Unsupported service namespace, reso": {ServiceNamespace: "ecs", ResourceIds: []string{"c/s"}},
		"'maxResults'":                        {ServiceNamespace: "ecs", MaxResults: aws.Int32(51)},
	} {
		_, err := c.DescribeScalableTargets(context.Background(), in)
		refused(t, err, "ValidationException", text)
	}
	_, err := c.DescribeScalableTargets(context.Background(), &awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs", NextToken: aws.String("x")})
	refused(t, err, "InvalidNextTokenException", "")
	_, err = c.RegisterScalableTarget(context.Background(), &awsaas.RegisterScalableTargetInput{ServiceNamespace: "ecs",
		ResourceId: aws.String("service/c/s"), ScalableDimension: "ecs:service:DesiredCount"})
	refused(t, err, "UnknownOperationException", "")
}

func refused(t *testing.T, err error, code, text string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		t.Errorf("got %v, want %s with %q", err, code, text)
	}
}
