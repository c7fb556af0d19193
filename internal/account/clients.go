package account

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
)

type clients struct {
	ecs        *awsecs.Client
	elb        *awselb.Client
	cloudMap   *awssd.Client
	scaling    *applicationautoscaling.Client
	sts        *awssts.Client
	logs       *awslogs.Client
	cloudWatch *awscw.Client
	codeDeploy *awscd.Client
	builder    clientBuilder // for clients that few programs need
	endpoints  []string
}

// ECS returns the gated client of Amazon ECS.
func (c *clients) ECS() *awsecs.Client { return c.ecs }

// ELB returns the gated client of Elastic Load Balancing v2.
func (c *clients) ELB() *awselb.Client { return c.elb }

// CloudMap returns the gated client of AWS Cloud Map.
func (c *clients) CloudMap() *awssd.Client { return c.cloudMap }

// Scaling returns the gated client of Application Auto Scaling.
func (c *clients) Scaling() *applicationautoscaling.Client { return c.scaling }

// STS returns the gated client of AWS STS.
func (c *clients) STS() *awssts.Client { return c.sts }

// CloudWatch returns the gated client of Amazon CloudWatch.
func (c *clients) CloudWatch() *awscw.Client { return c.cloudWatch }

// CodeDeploy returns the gated client of AWS CodeDeploy.
func (c *clients) CodeDeploy() *awscd.Client { return c.codeDeploy }

// Logs returns the gated client of CloudWatch Logs.
func (c *clients) Logs() *awslogs.Client { return c.logs }

// IAM makes the gated client of AWS IAM. It is a function, not a method: a program that calls
// methods by reflection, as piped's plugin does, would link that large client without using it.
func IAM(a *Account) *awsiam.Client {
	return awsiam.NewFromConfig(a.builder.shared, func(o *awsiam.Options) {
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.APIOptions = a.builder.apiOptions("iam", &o.BaseEndpoint, o.APIOptions)
	})
}

// clientBuilder makes clients that differ only in their service.
type clientBuilder struct {
	shared       aws.Config
	endpointFlag string // the endpoint flag; overrides every variable
	extra        []func(*middleware.Stack) error
	gate         gate // service and endpoint are filled in per client
	// http sends signed reads. Like the SDK's own, it follows no redirects.
	http aws.HTTPClient
}

// useRole makes every client built from now on use the role.
func (b *clientBuilder) useRole(r *role) {
	b.shared.Credentials = r
	b.gate.credentials = r
}

func (b *clientBuilder) buildClients() clients {
	c := clients{ecs: b.newECS(), elb: b.newELB(), cloudMap: b.newCloudMap(), scaling: b.newScaling(), sts: b.newSTS(),
		logs: b.newLogs(), cloudWatch: b.newCloudWatch(), codeDeploy: b.newCodeDeploy(), builder: *b}
	for _, e := range []*string{
		c.ecs.Options().BaseEndpoint, c.elb.Options().BaseEndpoint, c.cloudMap.Options().BaseEndpoint,
		c.scaling.Options().BaseEndpoint, c.sts.Options().BaseEndpoint, c.logs.Options().BaseEndpoint,
		c.cloudWatch.Options().BaseEndpoint,
		c.codeDeploy.Options().BaseEndpoint,
	} {
		c.endpoints = append(c.endpoints, aws.ToString(e))
	}
	return c
}

func (b *clientBuilder) newECS() *awsecs.Client {
	return awsecs.NewFromConfig(b.shared, func(o *awsecs.Options) {
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.IdempotencyTokenProvider = randomTokenRejecter{}
		o.APIOptions = b.apiOptions("ecs", &o.BaseEndpoint, o.APIOptions)
	})
}

func (b *clientBuilder) newELB() *awselb.Client {
	return awselb.NewFromConfig(b.shared, func(o *awselb.Options) {
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.APIOptions = b.apiOptions("elasticloadbalancing", &o.BaseEndpoint, o.APIOptions)
	})
}

func (b *clientBuilder) newCloudMap() *awssd.Client {
	return awssd.NewFromConfig(b.shared, func(o *awssd.Options) {
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.IdempotencyTokenProvider = randomTokenRejecter{}
		o.APIOptions = b.apiOptions("servicediscovery", &o.BaseEndpoint, o.APIOptions)
	})
}

func (b *clientBuilder) newScaling() *applicationautoscaling.Client {
	return applicationautoscaling.NewFromConfig(b.shared, func(o *applicationautoscaling.Options) {
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.APIOptions = b.apiOptions("application-autoscaling", &o.BaseEndpoint, o.APIOptions)
	})
}

func (b *clientBuilder) newLogs() *awslogs.Client {
	return awslogs.NewFromConfig(b.shared, func(o *awslogs.Options) {
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.IdempotencyTokenProvider = randomTokenRejecter{}
		o.APIOptions = b.apiOptions("logs", &o.BaseEndpoint, o.APIOptions)
	})
}

func (b *clientBuilder) newCloudWatch() *awscw.Client {
	return awscw.NewFromConfig(b.shared, func(o *awscw.Options) {
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.APIOptions = b.apiOptions("cloudwatch", &o.BaseEndpoint, o.APIOptions)
	})
}

func (b *clientBuilder) newCodeDeploy() *awscd.Client {
	return awscd.NewFromConfig(b.shared, func(o *awscd.Options) {
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.APIOptions = b.apiOptions("codedeploy", &o.BaseEndpoint, o.APIOptions)
	})
}

func (b *clientBuilder) newSTS() *awssts.Client {
	return awssts.NewFromConfig(b.shared, func(o *awssts.Options) {
		o.Retryer, o.RetryMaxAttempts = aws.NopRetryer{}, 0
		o.APIOptions = b.apiOptions("sts", &o.BaseEndpoint, o.APIOptions)
	})
}

// apiOptions puts the gate last in the Initialize step, and the caller's own middleware after it.
func (b *clientBuilder) apiOptions(service string, endpoint **string,
	before []func(*middleware.Stack) error) []func(*middleware.Stack) error {
	if b.endpointFlag != "" {
		*endpoint = aws.String(b.endpointFlag)
	}
	g := b.gate
	g.service, g.endpoint = service, aws.ToString(*endpoint)
	all := append([]func(*middleware.Stack) error{}, before...)
	all = append(all, g.attachGate)
	return append(all, b.extra...)
}

// randomTokenRejecter refuses to generate a client token. A random token would differ after a
// restart, and the repeated call would create a second resource.
type randomTokenRejecter struct{}

func (randomTokenRejecter) GetIdempotencyToken() (string, error) {
	return "", &sluice.Error{
		Err:  errors.New("the request has no client token"),
		Next: "set the client token from the action's ID; the request was not sent",
	}
}
