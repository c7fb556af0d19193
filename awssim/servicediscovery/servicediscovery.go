// Package servicediscovery is the room of AWS Cloud Map: namespaces, services,
// instances, their health, asynchronous operations, DiscoverInstances, tags.
//
// The room checks input, calls the law (awssim/registry) or a verb of the world,
// and shapes output. Nothing that it keeps or returns points into a request or
// into the world.
//
// It does not simulate Route 53 health checks (HealthCheckConfig is kept and
// echoed, its instances are always healthy), alias records (AWS_ALIAS_DNS_NAME)
// and namespaces shared by other accounts; those are refused in words.
// FIDELITY.part.md lists what follows which AWS page.
//
// Start reading at [New], then instances.go and discover.go.
package servicediscovery

import (
	"context"

	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/registry"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service is the room.
type Service struct {
	world *world.World
	law   *registry.Law
}

// New makes the room over w and its law.
func New(w *world.World, law *registry.Law) *Service { return &Service{w, law} }

// Room is the room for a wire server over a fresh law of w.
func Room(w *world.World) wire.Room { return New(w, registry.New(w)).Room() }

// Room is the room for a wire server.
func (s *Service) Room() wire.Room {
	return wire.Room{
		Name: "servicediscovery", ServiceID: "ServiceDiscovery", Protocol: wire.JSON11,
		Target: "Route53AutoNaming_v20170314", BadEnum: "InvalidInput", Operations: s.operations(),
		Errors: []smithy.APIError{&sdtypes.CustomHealthNotFound{}, &sdtypes.DuplicateRequest{}, &sdtypes.InstanceNotFound{},
			&sdtypes.InvalidInput{}, &sdtypes.NamespaceAlreadyExists{}, &sdtypes.NamespaceNotFound{}, &sdtypes.OperationNotFound{},
			&sdtypes.RequestLimitExceeded{}, &sdtypes.ResourceInUse{}, &sdtypes.ResourceLimitExceeded{},
			&sdtypes.ResourceNotFoundException{}, &sdtypes.ServiceAlreadyExists{}, &sdtypes.ServiceAttributesLimitExceededException{},
			&sdtypes.ServiceNotFound{}, &sdtypes.TooManyTagsException{}},
	}
}

// operations are the room's calls.
func (s *Service) operations() []any {
	return []any{
		s.CreateHttpNamespace, s.CreatePrivateDnsNamespace, s.CreatePublicDnsNamespace, s.CreateService, s.DeleteNamespace, s.DeleteService,
		s.DeleteServiceAttributes, s.DeregisterInstance, s.DiscoverInstances, s.DiscoverInstancesRevision, s.GetInstance,
		s.GetInstancesHealthStatus, s.GetNamespace, s.GetOperation, s.GetService, s.GetServiceAttributes, s.ListInstances, s.ListNamespaces,
		s.ListOperations, s.ListServices, s.ListTagsForResource, s.RegisterInstance, s.TagResource, s.UntagResource, s.UpdateHttpNamespace,
		s.UpdateInstanceCustomHealthStatus, s.UpdatePrivateDnsNamespace, s.UpdatePublicDnsNamespace, s.UpdateService, s.UpdateServiceAttributes,
	}
}

type laid struct{}

// Lay makes the operation of the next call end before it returns, and what it
// makes get an id, if that is not empty: for worlds that are laid out.
func Lay(ctx context.Context, id string) context.Context { return context.WithValue(ctx, laid{}, id) }

// isLaid reports whether a call is for laying out a world.
func isLaid(ctx context.Context) bool { return ctx.Value(laid{}) != nil }

// idOr is the id that was laid down, or a fresh one.
func idOr(ctx context.Context, tx *world.Tx, prefix string) string {
	if id, _ := ctx.Value(laid{}).(string); id != "" {
		return id
	}
	return prefix + tx.NewHex(prefix, 16)
}

// call runs f as one step of the caller's Region.
func call[T any](ctx context.Context, s *Service, f func(*world.Tx) (T, error)) (out T, err error) {
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

// text is an optional member: nil is not given.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
