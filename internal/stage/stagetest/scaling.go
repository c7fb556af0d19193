package stagetest

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// AutoScaling returns a client of Application Auto Scaling.
func (b *Bench) AutoScaling() *awsaas.Client { return awsaas.NewFromConfig(b.Sim.Config()) }

// Scalable registers the service as a scalable target from lo to hi, with that suspension.
func (b *Bench) Scalable(lo, hi int32, s sluice.Suspension) {
	b.Helper()
	Got(b.AutoScaling().RegisterScalableTarget(context.Background(),
		&awsaas.RegisterScalableTargetInput{ServiceNamespace: aastypes.ServiceNamespaceEcs,
			ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount,
			ResourceId:        aws.String("service/prod/web"),
			MinCapacity:       aws.Int32(lo), MaxCapacity: aws.Int32(hi),
			SuspendedState: &aastypes.SuspendedState{DynamicScalingInSuspended: aws.Bool(s.In),
				DynamicScalingOutSuspended: aws.Bool(s.Out), ScheduledScalingSuspended: aws.Bool(s.Scheduled)}}))(b)
}

// ScalableTargets returns the scalable targets as AWS shows them, byte for byte.
func (b *Bench) ScalableTargets() string {
	b.Helper()
	out := Got(b.AutoScaling().DescribeScalableTargets(context.Background(),
		&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs}))(b)
	return string(Got(json.Marshal(out.ScalableTargets))(b))
}

// Suspension returns what is suspended now.
func (b *Bench) Suspension() sluice.Suspension {
	b.Helper()
	s := Got(b.AutoScaling().DescribeScalableTargets(context.Background(),
		&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs}))(
		b).ScalableTargets[0].SuspendedState
	return sluice.Suspension{In: *s.DynamicScalingInSuspended, Out: *s.DynamicScalingOutSuspended,
		Scheduled: *s.ScheduledScalingSuspended}
}

// SuspendsScaling makes an application suspend auto scaling.
const SuspendsScaling = "suspendAutoScaling: true\n"

// PartlySuspended is the suspension that a person set before the deployment.
var PartlySuspended = sluice.Suspension{Scheduled: true}

// ExpectScalingAsBefore compares the scalable targets with those before the deployment.
func (b *Bench) ExpectScalingAsBefore(was string) {
	b.Helper()
	if now := b.ScalableTargets(); now != was {
		b.Errorf("the scalable targets are %s; they were %s\n%s", now, was, b.EventLog())
	}
	if strings.Contains(b.State(), plan.ScalingTag) {
		b.Errorf("the note on the service is left: %s", b.State())
	}
}
