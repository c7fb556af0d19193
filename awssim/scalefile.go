package awssim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// scalableFile is a scalable target of Application Auto Scaling.
type scalableFile struct {
	Service   string      `yaml:"service"`
	Cluster   string      `yaml:"cluster"`
	Min       int32       `yaml:"min"`
	Max       int32       `yaml:"max"`
	Suspended []string    `yaml:"suspended"` // in, out, scheduled
	Policy    *policyFile `yaml:"policy"`
}

// policyFile is a target-tracking policy on the average CPU utilization.
type policyFile struct {
	Name           string        `yaml:"name"`
	Target         float64       `yaml:"target"` // percent
	ScaleIn        time.Duration `yaml:"scaleInCooldown"`
	ScaleOut       time.Duration `yaml:"scaleOutCooldown"`
	DisableScaleIn bool          `yaml:"disableScaleIn"`
}

func (f *worldFile) checkScaling() error {
	for i, s := range f.Scalable {
		at := fmt.Sprintf("scalableTargets[%d]", i)
		switch {
		case s.Service == "":
			return invalidAt(at, "service is missing")
		case s.Cluster == "" && len(f.Clusters) != 1:
			return invalidAt(at, "cluster is missing; it is optional if there is exactly one")
		case s.Policy != nil && (s.Policy.Name == "" || s.Policy.Target <= 0):
			return invalidAt(at+".policy", "needs a name and a target in percent")
		}
		if p := s.Policy; p != nil {
			err := checkSeconds(at+".policy", map[string]*time.Duration{"scaleInCooldown": &p.ScaleIn,
				"scaleOutCooldown": &p.ScaleOut})
			if err != nil {
				return err
			}
		}
		for _, x := range s.Suspended {
			if !slices.Contains([]string{"in", "out", "scheduled"}, x) {
				return invalidAt(at+".suspended", "%q is neither in, out nor scheduled", x)
			}
		}
	}
	return nil
}

// createScalableTargets registers the file's targets and policies, and sets the CPU demand of its
// services.
func (l *worldBuilder) createScalableTargets() error {
	for i, s := range l.file.Scalable {
		if err := l.createScalableTarget(s); err != nil {
			return withPath(fmt.Sprintf("scalableTargets[%d]", i), err)
		}
	}
	return l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		for _, f := range l.file.Services {
			svc, ok := tx.Services.Get(cmp.Or(f.Cluster, l.file.Clusters[0]) + "/" + f.Name)
			if ok && f.Demand != nil {
				tx.SetDemand(svc, *f.Demand)
			}
		}
		return nil
	})
}

func (l *worldBuilder) createScalableTarget(s scalableFile) error {
	id := aws.String("service/" + cmp.Or(s.Cluster, l.file.Clusters[0]) + "/" + s.Service)
	has := func(x string) *bool { return aws.Bool(slices.Contains(s.Suspended, x)) }
	_, err := send(l.ctx, l, l.scaling.RegisterScalableTarget, &awsaas.RegisterScalableTargetInput{
		ServiceNamespace:  aastypes.ServiceNamespaceEcs,
		ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount, ResourceId: id,
		MinCapacity: aws.Int32(s.Min), MaxCapacity: aws.Int32(s.Max), SuspendedState: &aastypes.SuspendedState{
			DynamicScalingInSuspended: has("in"), DynamicScalingOutSuspended: has("out"),
			ScheduledScalingSuspended: has("scheduled")},
	})
	if err != nil || s.Policy == nil {
		return err
	}
	p := s.Policy
	_, err = send(l.ctx, l, l.scaling.PutScalingPolicy, &awsaas.PutScalingPolicyInput{
		PolicyName: aws.String(p.Name), PolicyType: aastypes.PolicyTypeTargetTrackingScaling, ResourceId: id,
		ServiceNamespace:  aastypes.ServiceNamespaceEcs,
		ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount,
		TargetTrackingScalingPolicyConfiguration: &aastypes.TargetTrackingScalingPolicyConfiguration{
			TargetValue: aws.Float64(p.Target), ScaleInCooldown: optionalSeconds(p.ScaleIn),
			ScaleOutCooldown: optionalSeconds(p.ScaleOut), DisableScaleIn: aws.Bool(p.DisableScaleIn),
			PredefinedMetricSpecification: &aastypes.PredefinedMetricSpecification{PredefinedMetricType: aastypes.MetricTypeECSServiceAverageCPUUtilization}},
	})
	return err
}
