// Package applicationautoscaling implements the API of Application Auto Scaling for the desired
// count of services of Amazon ECS: scalable targets, scaling policies, scheduled actions and
// scaling activities.
//
// It checks input, calls the controller (awssim/autoscaler) and shapes output. The controller decides
// what is scaled, and when. For other services and dimensions every list is empty and registering
// is refused. It does not simulate predictive scaling and a policy's CloudWatch alarms; only the
// names and ARNs of the alarms are returned.
//
// Start reading at [Service.RegisterScalableTarget] in target.go.
package applicationautoscaling

import (
	"context"

	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service implements the API of Application Auto Scaling.
type Service struct {
	world      *world.World
	autoScaler *autoscaler.Controller
}

// New creates the API over the controller of w.
func New(w *world.World, law *autoscaler.Controller) *Service { return &Service{w, law} }

// API returns the API in the form that wire serves.
func (s *Service) API() wire.API {
	return wire.API{
		Name: "application-autoscaling", ServiceID: "Application Auto Scaling", Protocol: wire.JSON11,
		Target: "AnyScaleFrontendService", Violation: "ValidationException", Service: s,
		Constraints: constraints(), Known: []string{"GetPredictiveScalingForecast"},
		Errors: []smithy.APIError{&aastypes.ConcurrentUpdateException{}, &aastypes.FailedResourceAccessException{},
			&aastypes.InternalServiceException{}, &aastypes.InvalidNextTokenException{},
			&aastypes.LimitExceededException{},
			&aastypes.ObjectNotFoundException{}, &aastypes.ResourceNotFoundException{},
			&aastypes.TooManyTagsException{},
			&aastypes.ValidationException{}},
	}
}

// runStep runs f as one step of the caller's Region.
func runStep[T any](ctx context.Context, s *Service, f func(*world.Tx) (T, error)) (out T, err error) {
	err = s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		out, err = f(tx)
		return err
	})
	return out, err
}

func ptr[T any](v T) *T { return &v }

func val[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
