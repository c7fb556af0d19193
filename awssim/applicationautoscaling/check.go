package applicationautoscaling

import (
	"strings"

	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// describeQuery holds the input members that the describe calls share.
type describeQuery struct {
	namespace aastypes.ServiceNamespace
	dimension aastypes.ScalableDimension
	resource  *string
	resources []string
	max       *int32
}

func (q describeQuery) checkQuery() error {
	switch {
	case q.dimension != "" && !strings.HasPrefix(string(q.dimension), string(q.namespace)+":"):
		return world.Refuse("ValidationException", "Unsupported service namespace, resource type or scalable dimension")
	case q.max != nil && (*q.max < 1 || *q.max > 50):
		return world.Refuse("ValidationException",
			"Value %d at 'maxResults' failed to satisfy constraint: Member must have value between 1 and 50", *q.max)
	case q.dimension != "" && q.resource == nil && len(q.resources) == 0:
		return world.Refuse("ValidationException",
			"The resource ID must be specified when the scalable dimension is specified")
	}
	return q.checkResources()
}

func (q describeQuery) checkResources() error {
	ids := q.resources
	if q.resource != nil {
		ids = []string{*q.resource}
	}
	for _, id := range ids {
		if q.namespace == "ecs" && (strings.Count(id, "/") != 2 || !strings.HasPrefix(id, "service/")) {
			return world.Refuse("ValidationException",
				"Unsupported service namespace, resource type or scalable dimension")
		}
	}
	return nil
}

// constraints returns the constraints of the service's model.
func constraints() map[string]wire.Constraint {
	required, name := wire.Constraint{Required: true}, wire.Constraint{Required: true, Length: []int{1, 256}}
	resource := wire.Constraint{Required: true, Length: []int{1, 1600}}
	all := map[string]wire.Constraint{
		"DescribeScalableTargetsInput.ServiceNamespace":        required,
		"DescribeScalableTargetsInput.ResourceIds":             {Length: []int{0, 50}},
		"DescribeScalingPoliciesInput.ServiceNamespace":        required,
		"DescribeScalingActivitiesInput.ServiceNamespace":      required,
		"DescribeScheduledActionsInput.ServiceNamespace":       required,
		"PutScalingPolicyInput.PolicyName":                     name,
		"DeleteScalingPolicyInput.PolicyName":                  name,
		"PutScheduledActionInput.ScheduledActionName":          name,
		"DeleteScheduledActionInput.ScheduledActionName":       name,
		"TargetTrackingScalingPolicyConfiguration.TargetValue": required,
		"TagResourceInput.ResourceARN":                         required,
		"UntagResourceInput.ResourceARN":                       required,
		"ListTagsForResourceInput.ResourceARN":                 required,
	}
	for _, in := range []string{"RegisterScalableTarget", "DeregisterScalableTarget", "PutScalingPolicy",
		"DeleteScalingPolicy", "PutScheduledAction", "DeleteScheduledAction"} {
		all[in+"Input.ServiceNamespace"], all[in+"Input.ScalableDimension"] = required, required
		all[in+"Input.ResourceId"] = resource
	}
	return all
}
