// Package servicediscovery implements the API of AWS Cloud Map: namespaces, services, instances,
// their health, asynchronous operations, DiscoverInstances, tags.
//
// It checks input, calls the controller (awssim/cloudmap) or the world, and shapes output. No
// stored or returned value points into a request or into the world.
//
// It does not simulate Route 53 health checks (HealthCheckConfig is stored and echoed; such
// instances are always healthy), alias records (AWS_ALIAS_DNS_NAME) and namespaces shared by other
// accounts. It refuses alias records and shared namespaces with a message. FIDELITY.part.md lists
// which behaviour follows which AWS page.
//
// Start reading at [New], then instances.go and discover.go.
package servicediscovery

import (
	"context"

	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service implements the API of Cloud Map.
type Service struct {
	world      *world.World
	controller *cloudmap.Controller
}

// New creates the API over w and its controller.
func New(w *world.World, law *cloudmap.Controller) *Service { return &Service{w, law} }

// NewAPI returns the API over a new controller of w, in the form that wire serves.
func NewAPI(w *world.World) wire.API { return New(w, cloudmap.New(w)).API() }

// API returns the API in the form that wire serves.
func (s *Service) API() wire.API {
	return wire.API{
		Name: "servicediscovery", ServiceID: "ServiceDiscovery", Protocol: wire.JSON11,
		Target: "Route53AutoNaming_v20170314", Violation: "InvalidInput", Service: s,
		Constraints: constraints(),
		Errors: []smithy.APIError{&sdtypes.CustomHealthNotFound{}, &sdtypes.DuplicateRequest{},
			&sdtypes.InstanceNotFound{},
			&sdtypes.InvalidInput{}, &sdtypes.NamespaceAlreadyExists{}, &sdtypes.NamespaceNotFound{},
			&sdtypes.OperationNotFound{},
			&sdtypes.RequestLimitExceeded{}, &sdtypes.ResourceInUse{}, &sdtypes.ResourceLimitExceeded{},
			&sdtypes.ResourceNotFoundException{}, &sdtypes.ServiceAlreadyExists{},
			&sdtypes.ServiceAttributesLimitExceededException{},
			&sdtypes.ServiceNotFound{}, &sdtypes.TooManyTagsException{}},
	}
}

type buildID struct{}

// WithBuildID returns a context for building a world. The operation of the next call ends before
// the call returns. A created resource gets the id, if it is not empty.
func WithBuildID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, buildID{}, id)
}

// isBuilding reports whether a call builds a world.
func isBuilding(ctx context.Context) bool { return ctx.Value(buildID{}) != nil }

// idOr returns the id of [WithBuildID], or a new one.
func idOr(ctx context.Context, tx *world.Tx, prefix string) string {
	if id, _ := ctx.Value(buildID{}).(string); id != "" {
		return id
	}
	return prefix + tx.NewHex(prefix, 16)
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

func val[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// optionalText returns s, or nil for "".
func optionalText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
