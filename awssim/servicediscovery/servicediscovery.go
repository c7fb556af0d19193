// Package servicediscovery is the room of AWS Cloud Map, as far as reading: this
// world has no namespaces, so that lists are empty and everything that is asked
// for by name or id is not found. Writes are answered as unknown operations.
//
// Start reading at [Room], then reads.go.
package servicediscovery

import (
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service is the room.
type Service struct{}

// New makes the room.
func New(*world.World) *Service { return &Service{} }

// Room is the room with what wire must know of Cloud Map.
func Room(w *world.World) wire.Room {
	return wire.Room{
		Name: "servicediscovery", ServiceID: "ServiceDiscovery", Protocol: wire.JSON11,
		Target: "Route53AutoNaming_v20170314", Operations: New(w).operations(),
		Known: []string{"CreateHttpNamespace", "CreatePrivateDnsNamespace", "CreatePublicDnsNamespace", "CreateService",
			"DeleteNamespace", "DeleteService", "DeleteServiceAttributes", "DeregisterInstance", "RegisterInstance", "TagResource",
			"UntagResource", "UpdateHttpNamespace", "UpdateInstanceCustomHealthStatus", "UpdatePrivateDnsNamespace",
			"UpdatePublicDnsNamespace", "UpdateService", "UpdateServiceAttributes"},
		Errors: []smithy.APIError{&sdtypes.CustomHealthNotFound{}, &sdtypes.DuplicateRequest{}, &sdtypes.InstanceNotFound{},
			&sdtypes.InvalidInput{}, &sdtypes.NamespaceAlreadyExists{}, &sdtypes.NamespaceNotFound{}, &sdtypes.OperationNotFound{},
			&sdtypes.RequestLimitExceeded{}, &sdtypes.ResourceInUse{}, &sdtypes.ResourceLimitExceeded{},
			&sdtypes.ResourceNotFoundException{}, &sdtypes.ServiceAlreadyExists{}, &sdtypes.ServiceAttributesLimitExceededException{},
			&sdtypes.ServiceNotFound{}, &sdtypes.TooManyTagsException{}},
	}
}
