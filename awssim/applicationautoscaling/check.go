package applicationautoscaling

import (
	"fmt"
	"strings"

	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// describeQuery holds the input members that the describe calls share.
type describeQuery struct {
	namespace aastypes.ServiceNamespace
	dimension aastypes.ScalableDimension
	resource  *string
	resources []string
	listName  string // member name of resources, or ""
	max       *int32
}

func (q describeQuery) checkQuery() error {
	switch {
	case q.namespace == "":
		return constraintViolation("null", "serviceNamespace", "Member must not be null")
	case q.dimension != "" && !strings.HasPrefix(string(q.dimension), string(q.namespace)+":"):
		return world.Refuse("ValidationException", "Unsupported service namespace, resource type or scalable dimension")
	case q.max != nil && (*q.max < 1 || *q.max > 50):
		return world.Refuse("ValidationException",
			"Value %d at 'maxResults' failed to satisfy constraint: Member must have value between 1 and 50", *q.max)
	case len(q.resources) > 50:
		return constraintViolation(fmt.Sprint(q.resources), q.listName,
			"Member must have length less than or equal to 50")
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

func constraintViolation(value, member, text string) error {
	return world.Refuse("ValidationException",
		"1 validation error detected: Value %s at '%s' failed to satisfy constraint: %s", value, member, text)
}
