package account_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/internal/account"
)

// direct answers after the gate without serializing anything, so that what is
// left is the SDK's frame and the gate.
func direct(s *middleware.Stack) error {
	return s.Initialize.Add(middleware.InitializeMiddlewareFunc("direct",
		func(context.Context, middleware.InitializeInput, middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error,
		) {
			return middleware.InitializeOutput{Result: &awsecs.CreateTaskSetOutput{}}, middleware.Metadata{}, nil
		}), middleware.After)
}

func BenchmarkGate(b *testing.B) {
	inside(b, &wire{}, func(c *account.Config) { c.APIOptions = append(c.APIOptions, direct); c.OnCall = nil },
		func(ctx context.Context, w *world) {
			measure(b, may(ctx, "ecs:CreateTaskSet prod/web"), w.ECS())
		})
}

// BenchmarkWithoutGate is the same call without it.
func BenchmarkWithoutGate(b *testing.B) {
	client := awsecs.New(awsecs.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("A", "B", ""),
		Retryer:    aws.NopRetryer{},
		APIOptions: []func(*middleware.Stack) error{direct},
	})
	measure(b, context.Background(), client)
}

func measure(b *testing.B, ctx context.Context, client *awsecs.Client) {
	in := &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"), Service: aws.String("web"),
		TaskDefinition: aws.String("web:2"), ClientToken: aws.String("t")}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.CreateTaskSet(ctx, in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	w := &world{wire: &wire{}}
	inside(b, w.wire, nil, func(ctx context.Context, w *world) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := account.Open(ctx, w.config()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
