// Package elbv2 implements the API of Elastic Load Balancing (v2) over the simulated world: load
// balancers, target groups, targets and their health, listeners, rules, attributes, tags.
//
// It checks input, calls the controller (awssim/loadbalancer) or the world, and shapes output. Shapes
// are the SDK's own. Reads are normalised as AWS's are. Data that no controller reads
// (certificates, security policies, transforms, authenticate configurations) is kept on the
// object's Doc and echoed. No stored or returned value points into a request or into the world.
//
// It does not simulate trust stores, capacity reservations, resource policies and IP pools; it
// answers those operations as unknown ones. Network load balancers
// exist as resources and carry no traffic. FIDELITY.part.md says which behaviour follows which AWS
// page.
//
// Start reading at [New] and runStep, then rules.go and actions.go.
package elbv2

import (
	"context"
	"errors"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service implements the API. Its methods of the form func(ctx, *awselb.XInput) (*awselb.XOutput,
// error) are the operations; [world.KeyOf] gives the account and Region.
type Service struct {
	world      *world.World
	controller *loadbalancer.Controller
}

// New creates the API over the controller of the same world.
func New(w *world.World, law *loadbalancer.Controller) *Service {
	return &Service{world: w, controller: law}
}

// Controller returns the controller: sockets and modelled callers route by its tables.
func (s *Service) Controller() *loadbalancer.Controller { return s.controller }

// NewAPI returns the API over the controller of the same world, in the form that wire serves.
func NewAPI(w *world.World, law *loadbalancer.Controller) wire.API { return New(w, law).API() }

// API returns the API in the form that wire serves.
func (s *Service) API() wire.API {
	return wire.API{
		Name: "elasticloadbalancing", ServiceID: "Elastic Load Balancing v2", Protocol: wire.Query,
		Version:   "2015-12-01",
		Namespace: "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/", Violation: "ValidationError",
		Constraints: pageConstraints(),
		Service:     s,
		Known: []string{"AddTrustStoreRevocations", "CreateTrustStore",
			"DeleteSharedTrustStoreAssociation", "DeleteTrustStore", "DescribeCapacityReservation",
			"DescribeTrustStoreAssociations",
			"DescribeTrustStoreRevocations", "DescribeTrustStores", "GetResourcePolicy",
			"GetTrustStoreCaCertificatesBundle",
			"GetTrustStoreRevocationContent", "ModifyCapacityReservation", "ModifyIpPools", "ModifyTrustStore",
			"RemoveTrustStoreRevocations"},
		Errors: []smithy.APIError{
			&elbtypes.ALPNPolicyNotSupportedException{}, &elbtypes.CertificateNotFoundException{},
			&elbtypes.DuplicateListenerException{},
			&elbtypes.DuplicateLoadBalancerNameException{}, &elbtypes.DuplicateTagKeysException{},
			&elbtypes.DuplicateTargetGroupNameException{},
			&elbtypes.HealthUnavailableException{}, &elbtypes.IncompatibleProtocolsException{},
			&elbtypes.InvalidConfigurationRequestException{},
			&elbtypes.InvalidLoadBalancerActionException{}, &elbtypes.InvalidSchemeException{},
			&elbtypes.InvalidSecurityGroupException{},
			&elbtypes.InvalidSubnetException{}, &elbtypes.InvalidTargetException{},
			&elbtypes.ListenerNotFoundException{},
			&elbtypes.LoadBalancerNotFoundException{}, &elbtypes.OperationNotPermittedException{},
			&elbtypes.PriorityInUseException{},
			&elbtypes.ResourceInUseException{}, &elbtypes.ResourceNotFoundException{},
			&elbtypes.RuleNotFoundException{},
			&elbtypes.SSLPolicyNotFoundException{}, &elbtypes.SubnetNotFoundException{},
			&elbtypes.TargetGroupAssociationLimitException{},
			&elbtypes.TargetGroupNotFoundException{}, &elbtypes.TooManyActionsException{},
			&elbtypes.TooManyCertificatesException{},
			&elbtypes.TooManyListenersException{}, &elbtypes.TooManyLoadBalancersException{},
			&elbtypes.TooManyRegistrationsForTargetIdException{},
			&elbtypes.TooManyRulesException{}, &elbtypes.TooManyTagsException{},
			&elbtypes.TooManyTargetGroupsException{},
			&elbtypes.TooManyTargetsException{}, &elbtypes.TooManyUniqueTargetGroupsPerLoadBalancerException{},
			&elbtypes.UnsupportedProtocolException{},
		},
	}
}

// runStep runs f as one step on the caller's Region.
func runStep[O any](ctx context.Context, s *Service, f func(*world.Tx) (*O, error)) (*O, error) {
	var out *O
	err := s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) (err error) {
		out, err = f(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

type pinnedARN struct{}

// PinARN returns a context in which the next Create call gives its resource that ARN. It is for
// worlds that are built from a file.
func PinARN(ctx context.Context, arn string) context.Context {
	return context.WithValue(ctx, pinnedARN{}, arn)
}

// arnOr returns the pinned ARN, or the one that f creates.
func arnOr(ctx context.Context, f func() string) string {
	if arn, ok := ctx.Value(pinnedARN{}).(string); ok && arn != "" {
		return arn
	}
	return f()
}

func validationError(format string, args ...any) error {
	return world.Refuse("ValidationError", format, args...)
}

// maxPage is the most items of a page.
const maxPage = 400

// pageConstraints returns the model's constraints of the operations that return pages.
func pageConstraints() map[string]wire.Constraint {
	all := map[string]wire.Constraint{}
	for _, name := range []string{"LoadBalancers", "ListenerCertificates", "TargetGroups", "AccountLimits",
		"SSLPolicies", "Listeners", "Rules"} {
		all["Describe"+name+"Input.PageSize"] = wire.Constraint{Value: []int{1, maxPage}}
	}
	return all
}

// pageOf returns one page of a list.
func pageOf[T any](items []T, marker *string, size *int32, id func(T) string) ([]T, *string, error) {
	out, next, err := wire.Page(items, marker, int(val(size)), maxPage, maxPage, id)
	if errors.Is(err, wire.ErrToken) {
		return nil, nil, validationError("Marker is not valid")
	}
	return out, next, err
}
