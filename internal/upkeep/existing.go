package upkeep

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/sluice-ecs/sluice"
)

// Existing reads resources that definitions name. One that does not exist is an error of kind [sluice.NotFound].
type Existing struct {
	ECS  *awsecs.Client
	ELB  *awselb.Client
	IAM  *awsiam.Client
	Logs *awslogs.Client
}

// Cluster is a cluster, as far as a service depends on it.
type Cluster struct {
	Status    string // AWS describes an INACTIVE one for a while
	Providers []string
	Instances int32 // registered container instances
}

// Cluster returns a cluster by its name or ARN.
func (e Existing) Cluster(ctx context.Context, name string) (Cluster, error) {
	out, err := e.ECS.DescribeClusters(ctx, &awsecs.DescribeClustersInput{Clusters: []string{name}})
	if err != nil {
		return Cluster{}, err
	}
	if len(out.Clusters) == 0 {
		return Cluster{}, missing("ecs:DescribeClusters", name)
	}
	c := out.Clusters[0]
	return Cluster{aws.ToString(c.Status), c.CapacityProviders, c.RegisteredContainerInstancesCount}, nil
}

func missing(operation, resource string) error {
	return &sluice.Error{Op: operation, Resource: resource, Kind: sluice.NotFound, Err: errors.New("it does not exist")}
}

// TrustPolicy returns the policy that says who may assume a role. It is URL-encoded, as IAM returns it.
func (e Existing) TrustPolicy(ctx context.Context, role string) (string, error) {
	out, err := e.IAM.GetRole(ctx, &awsiam.GetRoleInput{RoleName: aws.String(role)})
	var none *iamtypes.NoSuchEntityException
	switch {
	case errors.As(err, &none):
		return "", missing("iam:GetRole", role)
	case err != nil:
		return "", err
	}
	return aws.ToString(out.Role.AssumeRolePolicyDocument), nil
}

// HasLogGroup reports whether a log group exists in a Region.
func (e Existing) HasLogGroup(ctx context.Context, name, region string) (bool, error) {
	in := &awslogs.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String(name)}
	for {
		out, err := e.Logs.DescribeLogGroups(ctx, in, func(o *awslogs.Options) { o.Region = region })
		if err != nil {
			return false, err
		}
		for _, l := range out.LogGroups {
			if aws.ToString(l.LogGroupName) == name {
				return true, nil
			}
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return false, nil
		}
	}
}

// TargetGroup is a target group, as far as a service depends on it.
type TargetGroup struct {
	Type, VPC   string
	HealthPort  string // of its health checks: "traffic-port", or a number
	IsForwarded bool   // a load balancer forwards to it
}

// FindRule finds the rule of a listener, or the listener, that has an ARN.
func (e Existing) FindRule(ctx context.Context, arn string) error {
	if strings.Contains(arn, ":listener/") {
		out, err := e.ELB.DescribeListeners(ctx, &awselb.DescribeListenersInput{ListenerArns: []string{arn}})
		if err == nil && len(out.Listeners) == 0 {
			err = missing("elasticloadbalancing:DescribeListeners", arn)
		}
		return err
	}
	out, err := e.ELB.DescribeRules(ctx, &awselb.DescribeRulesInput{RuleArns: []string{arn}})
	if err == nil && len(out.Rules) == 0 {
		err = missing("elasticloadbalancing:DescribeRules", arn)
	}
	return err
}

// TargetGroup returns a target group by its ARN.
func (e Existing) TargetGroup(ctx context.Context, arn string) (TargetGroup, error) {
	out, err := e.ELB.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}})
	if err != nil {
		return TargetGroup{}, err
	}
	if len(out.TargetGroups) == 0 {
		return TargetGroup{}, missing("elasticloadbalancing:DescribeTargetGroups", arn)
	}
	g := out.TargetGroups[0]
	return TargetGroup{Type: string(g.TargetType), VPC: aws.ToString(g.VpcId), HealthPort: aws.ToString(g.HealthCheckPort),
		IsForwarded: len(g.LoadBalancerArns) > 0}, nil
}
