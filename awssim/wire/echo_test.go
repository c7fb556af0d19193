package wire_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/document"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// stopped is a clock that a test moves by hand.
type stopped struct{ now time.Time }

func (c *stopped) Now() time.Time                             { return c.now }
func (c *stopped) Sleep(context.Context, time.Duration) error { return nil }

// echo is a room of ECS whose methods are functions of the test.
type echo struct {
	createTaskSet    func(*awsecs.CreateTaskSetInput) (*awsecs.CreateTaskSetOutput, error)
	updateTaskSet    func(*awsecs.UpdateTaskSetInput) (*awsecs.UpdateTaskSetOutput, error)
	createService    func(*awsecs.CreateServiceInput) (*awsecs.CreateServiceOutput, error)
	updateService    func(*awsecs.UpdateServiceInput) (*awsecs.UpdateServiceOutput, error)
	describeServices func(context.Context, *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput, error)
	registered       func(*awsecs.RegisterTaskDefinitionInput) (*awsecs.RegisterTaskDefinitionOutput, error)
}

func (e *echo) CreateTaskSet(_ context.Context, in *awsecs.CreateTaskSetInput) (*awsecs.CreateTaskSetOutput, error) {
	return e.createTaskSet(in)
}
func (e *echo) UpdateTaskSet(_ context.Context, in *awsecs.UpdateTaskSetInput) (*awsecs.UpdateTaskSetOutput, error) {
	return e.updateTaskSet(in)
}
func (e *echo) CreateService(_ context.Context, in *awsecs.CreateServiceInput) (*awsecs.CreateServiceOutput, error) {
	return e.createService(in)
}
func (e *echo) UpdateService(_ context.Context, in *awsecs.UpdateServiceInput) (*awsecs.UpdateServiceOutput, error) {
	return e.updateService(in)
}
func (e *echo) DescribeServices(ctx context.Context, in *awsecs.DescribeServicesInput) (*awsecs.DescribeServicesOutput,
	error) {
	return e.describeServices(ctx, in)
}
func (e *echo) RegisterTaskDefinition(_ context.Context,
	in *awsecs.RegisterTaskDefinitionInput) (*awsecs.RegisterTaskDefinitionOutput, error) {
	return e.registered(in)
}

func (e *echo) room() wire.API {
	return wire.API{Name: "ecs", ServiceID: "ECS", Protocol: wire.JSON11, Target: "AmazonEC2ContainerServiceV20141113",
		Service: e, LowerFirst: true, Document: func(v any) any { return document.NewLazyDocument(v) },
		Errors: []smithy.APIError{&ecstypes.ClusterNotFoundException{}, &ecstypes.ServerException{},
			&ecstypes.ClientException{}},
		Unions: []any{&ecstypes.ServiceConnectContainerConfigurationMemberLogLevel{}},
		Known:  []string{"DescribeTasks"}}
}

// balancers is a room of ELBv2 whose methods are functions of the test.
type balancers struct {
	modifyRule    func(*awselb.ModifyRuleInput) (*awselb.ModifyRuleOutput, error)
	describeRules func(*awselb.DescribeRulesInput) (*awselb.DescribeRulesOutput, error)
	describe      func(*awselb.DescribeLoadBalancersInput) (*awselb.DescribeLoadBalancersOutput, error)
}

func (b *balancers) ModifyRule(_ context.Context, in *awselb.ModifyRuleInput) (*awselb.ModifyRuleOutput, error) {
	return b.modifyRule(in)
}
func (b *balancers) DescribeRules(_ context.Context, in *awselb.DescribeRulesInput) (*awselb.DescribeRulesOutput,
	error) {
	return b.describeRules(in)
}
func (b *balancers) DescribeLoadBalancers(_ context.Context,
	in *awselb.DescribeLoadBalancersInput) (*awselb.DescribeLoadBalancersOutput, error) {
	return b.describe(in)
}
func (b *balancers) DeleteRule(context.Context, *awselb.DeleteRuleInput) (*awselb.DeleteRuleOutput, error) {
	return nil, nil
}

func (b *balancers) room() wire.API {
	return wire.API{Name: "elasticloadbalancing", ServiceID: "Elastic Load Balancing v2", Protocol: wire.Query,
		Version: "2015-12-01", Namespace: "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
		Service: b,
		Errors: []smithy.APIError{&elbtypes.TargetGroupNotFoundException{},
			&elbtypes.ALPNPolicyNotSupportedException{}}}
}

// site is a server with its world and clients that reach it in process.
type site struct {
	*wire.Server
	world *world.World
	clock *stopped
	echo  *echo
	elb   *balancers
	cfg   aws.Config
}

func newSite(t testing.TB, change ...func(*world.Options)) *site {
	t.Helper()
	clock := &stopped{time.Date(2027, 1, 2, 3, 4, 5, 678_912_345, time.UTC)}
	knobs := world.NoDelays()
	o := world.Options{Clock: clock, Settings: &knobs, Strict: true}
	for _, f := range change {
		f(&o)
	}
	s := &site{world: world.New(o), clock: clock, echo: &echo{}, elb: &balancers{}}
	s.Server = wire.New(s.world, s.echo.room(), s.elb.room())
	s.cfg = aws.Config{Region: "eu-west-1", HTTPClient: &http.Client{Transport: s.Server},
		BaseEndpoint: aws.String("http://127.0.0.1:4566"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "123456789012", SecretAccessKey: "x"}, nil
		})}
	return s
}

func (s *site) ecs() *awsecs.Client     { return awsecs.NewFromConfig(s.cfg) }
func (s *site) elbv2() *awselb.Client   { return awselb.NewFromConfig(s.cfg) }
func (s *site) key() world.Key          { return world.Key{Account: "123456789012", Region: "eu-west-1"} }
func (s *site) after(d time.Duration)   { s.clock.now = s.clock.now.Add(d) }
func (s *site) direct() context.Context { return world.WithKey(context.Background(), s.key()) }
