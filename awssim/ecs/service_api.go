package ecs

import (
	"strings"

	ecsdocument "github.com/aws/aws-sdk-go-v2/service/ecs/document"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// NewAPI returns the API over a new [Service] of w, for a wire server.
func NewAPI(w *world.World) wire.API { return New(w).API() }

// API returns the service's API, for a wire server.
func (s *Service) API() wire.API {
	return wire.API{
		Name: "ecs", ServiceID: "ECS", Protocol: wire.JSON11, Target: "AmazonEC2ContainerServiceV20141113",
		Violation: "InvalidParameterException", Service: s, LowerFirst: true, Errors: modelledErrors(),
		Unions: unionMembers(), Known: unsimulatedOperations(), EnumWords: enumWords(),
		Document: func(v any) any { return ecsdocument.NewLazyDocument(v) },
	}
}

// modelledErrors returns the errors of ECS's model.
func modelledErrors() []smithy.APIError {
	return []smithy.APIError{
		&ecstypes.AccessDeniedException{}, &ecstypes.AttributeLimitExceededException{},
		&ecstypes.BlockedException{}, &ecstypes.ClientException{},
		&ecstypes.ClusterContainsCapacityProviderException{},
		&ecstypes.ClusterContainsContainerInstancesException{}, &ecstypes.ClusterContainsServicesException{},
		&ecstypes.ClusterContainsTasksException{}, &ecstypes.ClusterNotFoundException{},
		&ecstypes.ConflictException{}, &ecstypes.DaemonNotActiveException{}, &ecstypes.DaemonNotFoundException{},
		&ecstypes.GatewayNotFoundException{}, &ecstypes.InvalidParameterException{},
		&ecstypes.LimitExceededException{}, &ecstypes.MissingVersionException{},
		&ecstypes.NamespaceNotFoundException{}, &ecstypes.NoUpdateAvailableException{},
		&ecstypes.PlatformTaskDefinitionIncompatibilityException{}, &ecstypes.PlatformUnknownException{},
		&ecstypes.ResourceInUseException{}, &ecstypes.ResourceNotFoundException{}, &ecstypes.ServerException{},
		&ecstypes.ServiceDeploymentNotFoundException{}, &ecstypes.ServiceNotActiveException{},
		&ecstypes.ServiceNotFoundException{}, &ecstypes.TargetNotConnectedException{},
		&ecstypes.TargetNotFoundException{}, &ecstypes.TaskSetNotFoundException{},
		&ecstypes.UnsupportedFeatureException{}, &ecstypes.UpdateInProgressException{},
	}
}

// enumWords returns AWS's answers to values that do not exist, of the members that have an answer of
// their own. FMI is in it although the model does not have it.
func enumWords() map[string]string {
	var names []string
	for _, n := range ecstypes.SettingName("").Values() {
		names = append(names, string(n))
	}
	return map[string]string{
		"launchType":         "launch type should be one of [EC2,FARGATE,EXTERNAL,FMI,MANAGED_INSTANCES]",
		"schedulingStrategy": "Scheduling strategy should be one of [REPLICA,DAEMON]",
		"name":               "{value} should be one of [" + strings.Join(names, ",") + "]",
	}
}

// unionMembers returns the members of union types in the inputs that the API accepts.
func unionMembers() []any {
	return []any{
		&ecstypes.ServiceConnectContainerConfigurationMemberLogLevel{}, &ecstypes.SharingStrategyMemberNvidiaMps{},
	}
}

// unsimulatedOperations returns the operations that AWS has and the simulator does not.
func unsimulatedOperations() []string {
	return []string{
		"AssociateGatewayWithCluster", "CreateDaemon", "CreateExpressGatewayService",
		"CreateGateway", "DeleteDaemon", "DeleteDaemonTaskDefinition",
		"DeleteExpressGatewayService", "DeleteGateway", "DeregisterContainerInstance", "DescribeDaemon",
		"DescribeDaemonDeployments", "DescribeDaemonRevisions", "DescribeDaemonTaskDefinition",
		"DescribeExpressGatewayService", "DescribeGateway", "DescribeGatewayResources", "DescribeGatewayRoute",
		"DisassociateGatewayFromCluster", "GetTaskProtection",
		"ListDaemonDeployments", "ListDaemonTaskDefinitions", "ListDaemons",
		"ListGatewayClusterAssociations", "ListGatewayRoutes", "ListGateways",
		"RegisterContainerInstance", "RegisterDaemonTaskDefinition",
		"SubmitAttachmentStateChanges", "SubmitContainerStateChange", "SubmitTaskStateChange",
		"UpdateContainerAgent", "UpdateContainerInstancesState", "UpdateDaemon", "UpdateExpressGatewayService",
		"UpdateGateway", "UpdateTaskProtection",
	}
}
