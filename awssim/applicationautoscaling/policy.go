package applicationautoscaling

import (
	"context"
	"slices"
	"time"

	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// defaultCooldown is the cooldown of ECS if a policy names none (User Guide, "Target tracking
// scaling policies").
const defaultCooldown = 300 * time.Second

// PutScalingPolicy creates a policy or replaces it. Only target tracking on
// ECSServiceAverageCPUUtilization is carried out; other policies are only stored.
func (s *Service) PutScalingPolicy(ctx context.Context,
	in *awsaas.PutScalingPolicyInput) (*awsaas.PutScalingPolicyOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.PutScalingPolicyOutput, error) {
		t, err := findTarget(tx, in.ServiceNamespace, in.ScalableDimension, in.ResourceId)
		if err != nil {
			return nil, err
		}
		doc, err := newPolicyDoc(wire.Clone(in))
		if err != nil {
			return nil, err
		}
		p := &autoscaler.Policy{Name: *in.PolicyName, CreatedAt: tx.Now(), Doc: doc, Tracking: trackingOf(doc)}
		if old, ok := t.Policies.Get(p.Name); ok {
			if old.Doc.(*aastypes.ScalingPolicy).PolicyType != doc.PolicyType {
				return nil, validationError("The type of a scaling policy cannot be changed")
			}
			p.ARN, p.CreatedAt, p.High, p.Low = old.ARN, old.CreatedAt, old.High, old.Low
		} else {
			nameNewPolicy(tx, t, p, doc)
		}
		s.autoScaler.PutPolicy(tx, t, p)
		return &awsaas.PutScalingPolicyOutput{PolicyARN: ptr(p.ARN), Alarms: policyAlarms(tx.Region, p)}, nil
	})
}

// nameNewPolicy sets the ARN of a new policy and the names of its alarms.
func nameNewPolicy(tx *world.Tx, t *autoscaler.Target, p *autoscaler.Policy, doc *aastypes.ScalingPolicy) {
	p.ARN = tx.ARN("autoscaling", "scalingPolicy:"+tx.NewUUID("scaling policy")+":resource/ecs/service/"+t.ID+
		":policyName/"+p.Name)
	if doc.PolicyType == aastypes.PolicyTypeTargetTrackingScaling {
		p.High = "TargetTracking-service/" + t.ID + "-AlarmHigh-" + tx.NewUUID("policy alarm")
		p.Low = "TargetTracking-service/" + t.ID + "-AlarmLow-" + tx.NewUUID("policy alarm")
	}
}

func policyAlarms(r *world.Region, p *autoscaler.Policy) []aastypes.Alarm {
	all := []aastypes.Alarm{}
	for _, name := range []string{p.High, p.Low} {
		if name != "" {
			all = append(all, aastypes.Alarm{AlarmName: ptr(name), AlarmARN: ptr(r.ARN("cloudwatch", "alarm:"+name))})
		}
	}
	return all
}

// newPolicyDoc checks a policy and returns its description.
func newPolicyDoc(in *awsaas.PutScalingPolicyInput) (*aastypes.ScalingPolicy, error) {
	kind := in.PolicyType
	if kind == "" {
		kind = aastypes.PolicyTypeStepScaling
	}
	tracking, step := in.TargetTrackingScalingPolicyConfiguration, in.StepScalingPolicyConfiguration
	switch {
	case kind == aastypes.PolicyTypePredictiveScaling:
		return nil, validationError("Predictive scaling: not simulated.")
	case kind == aastypes.PolicyTypeTargetTrackingScaling && (tracking == nil || step != nil),
		kind == aastypes.PolicyTypeStepScaling && (step == nil || tracking != nil):
		return nil, validationError("The configuration does not agree with the policy type %s", kind)
	}
	if tracking != nil {
		if err := checkTracking(tracking); err != nil {
			return nil, err
		}
	}
	return &aastypes.ScalingPolicy{PolicyName: in.PolicyName, PolicyType: kind, ResourceId: in.ResourceId,
		ScalableDimension: in.ScalableDimension,
		ServiceNamespace:  in.ServiceNamespace, TargetTrackingScalingPolicyConfiguration: tracking,
		StepScalingPolicyConfiguration: step}, nil
}

func checkTracking(c *aastypes.TargetTrackingScalingPolicyConfiguration) error {
	switch {
	case *c.TargetValue <= 0:
		return validationError("The target value must be greater than 0")
	case (c.PredefinedMetricSpecification == nil) == (c.CustomizedMetricSpecification == nil):
		return validationError("Exactly one of the predefined and the customized metric specification must be given")
	case val(c.ScaleInCooldown) < 0 || val(c.ScaleOutCooldown) < 0:
		return validationError("Cooldowns must not be negative")
	}
	if m := c.PredefinedMetricSpecification; m != nil {
		switch m.PredefinedMetricType {
		case aastypes.MetricTypeECSServiceAverageCPUUtilization, aastypes.MetricTypeECSServiceAverageMemoryUtilization,
			aastypes.MetricTypeALBRequestCountPerTarget:
		default:
			return validationError("The metric type %s is not for the namespace ecs", m.PredefinedMetricType)
		}
	}
	return nil
}

// trackingOf returns the configuration that the controller carries out, or nil.
func trackingOf(p *aastypes.ScalingPolicy) *autoscaler.Tracking {
	c := p.TargetTrackingScalingPolicyConfiguration
	if c == nil || c.PredefinedMetricSpecification == nil ||
		c.PredefinedMetricSpecification.PredefinedMetricType != aastypes.MetricTypeECSServiceAverageCPUUtilization {
		return nil
	}
	return &autoscaler.Tracking{Target: *c.TargetValue, In: cooldownOf(c.ScaleInCooldown),
		Out: cooldownOf(c.ScaleOutCooldown), DisableScaleIn: val(c.DisableScaleIn)}
}

func cooldownOf(seconds *int32) time.Duration {
	if seconds == nil {
		return defaultCooldown
	}
	return time.Duration(*seconds) * time.Second
}

// DeleteScalingPolicy deletes a policy.
func (s *Service) DeleteScalingPolicy(ctx context.Context,
	in *awsaas.DeleteScalingPolicyInput) (*awsaas.DeleteScalingPolicyOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.DeleteScalingPolicyOutput, error) {
		t, err := findTarget(tx, in.ServiceNamespace, in.ScalableDimension, in.ResourceId)
		if err != nil {
			return nil, err
		}
		if _, ok := t.Policies.Get(val(in.PolicyName)); !ok {
			return nil,
				world.Refuse("ObjectNotFoundException",
					"No scaling policy found for service namespace: ecs, resource ID: %s, scalable dimension: %s, "+
						"policy name: %s",
					*in.ResourceId, serviceCount, val(in.PolicyName))
		}
		t.Policies.Delete(*in.PolicyName)
		return &awsaas.DeleteScalingPolicyOutput{}, nil
	})
}

// DescribeScalingPolicies lists policies, up to 50 per page.
func (s *Service) DescribeScalingPolicies(ctx context.Context,
	in *awsaas.DescribeScalingPoliciesInput) (*awsaas.DescribeScalingPoliciesOutput, error) {
	q := describeQuery{namespace: in.ServiceNamespace, dimension: in.ScalableDimension, resource: in.ResourceId,
		max: in.MaxResults}
	if err := q.checkQuery(); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.DescribeScalingPoliciesOutput, error) {
		all := []aastypes.ScalingPolicy{}
		for _, t := range q.matchTargets(tx) {
			for _, p := range t.Policies.All() {
				if len(in.PolicyNames) == 0 || slices.Contains(in.PolicyNames, p.Name) {
					d := wire.Clone(*p.Doc.(*aastypes.ScalingPolicy))
					d.PolicyARN, d.CreationTime, d.Alarms = ptr(p.ARN), ptr(p.CreatedAt), policyAlarms(tx.Region, p)
					all = append(all, d)
				}
			}
		}
		page, next, err := pageOf(all, in.NextToken, in.MaxResults,
			func(p aastypes.ScalingPolicy) string { return *p.PolicyARN })
		return &awsaas.DescribeScalingPoliciesOutput{ScalingPolicies: page, NextToken: next}, err
	})
}
