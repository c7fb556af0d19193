package stagetest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	"github.com/aws/smithy-go/middleware"
)

// Answers with an error show that a test of lost requests can fail: sluice waits for what AWS
// reports, so a wait for health ends at once if AWS reports health too early.

// TargetsSeemHealthy makes AWS report each target as healthy as soon as it is registered.
func TargetsSeemHealthy(stack *middleware.Stack) error {
	return changeAnswers(stack, func(answer any) {
		out, ok := answer.(*awselb.DescribeTargetHealthOutput)
		if !ok {
			return
		}
		for _, t := range out.TargetHealthDescriptions {
			if t.TargetHealth.State != elbtypes.TargetHealthStateEnumDraining {
				t.TargetHealth.State = elbtypes.TargetHealthStateEnumHealthy
			}
		}
	})
}

// TTLSeemsZero makes AWS report that callers by name do not keep addresses.
func TTLSeemsZero(stack *middleware.Stack) error {
	return changeAnswers(stack, func(answer any) {
		if out, ok := answer.(*awssd.GetServiceOutput); ok && out.Service.DnsConfig != nil {
			for i := range out.Service.DnsConfig.DnsRecords {
				out.Service.DnsConfig.DnsRecords[i].TTL = aws.Int64(0)
			}
		}
	})
}

// ServiceStaysDraining makes AWS report for ever that the service is being deleted.
func ServiceStaysDraining(stack *middleware.Stack) error {
	return changeAnswers(stack, func(answer any) {
		if out, ok := answer.(*awsecs.DescribeServicesOutput); ok {
			for i := range out.Services {
				out.Services[i].Status = aws.String("DRAINING")
			}
		}
	})
}

// changeAnswers calls change with each answer before sluice gets it.
func changeAnswers(stack *middleware.Stack, change func(answer any)) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("changed answers",
		func(ctx context.Context, in middleware.InitializeInput,
			next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, meta, err := next.HandleInitialize(ctx, in)
			if err == nil {
				change(out.Result)
			}
			return out, meta, err
		}), middleware.Before)
}
