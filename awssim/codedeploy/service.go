// Package codedeploy implements the API of AWS CodeDeploy for services of Amazon ECS: applications,
// deployment groups and configurations, deployments with their targets, revisions of AppSpec
// content.
//
// It checks input, calls the controller (awssim/codedeployer) and shapes output. The controller runs a
// deployment over time. Shapes are the SDK's own. Data that no controller reads is kept on the
// object (its Doc) and echoed.
//
// It does not simulate deployments to servers and Lambda, revisions in S3 and GitHub, triggers, and
// on-premises instances and their tags. It refuses them with a message, or as unknown operations.
// FIDELITY.part.md lists which behaviour follows which AWS page.
//
// Start reading at [Service.CreateDeployment] in create.go, then appspec.go.
package codedeploy

import (
	"context"
	"strings"

	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service implements the API of CodeDeploy.
type Service struct {
	world      *world.World
	controller *codedeployer.Controller
}

// New creates the API over the controller of w.
func New(w *world.World, law *codedeployer.Controller) *Service { return &Service{w, law} }

// API returns the API in the form that wire serves.
func (s *Service) API() wire.API {
	return wire.API{
		Name: "codedeploy", ServiceID: "CodeDeploy", Protocol: wire.JSON11, Target: "CodeDeploy_20141006",
		Service: s, LowerFirst: true, Errors: modelledErrors(), Known: unsimulatedOperations(),
		Names: memberNames(), Missing: map[string]func(string) *world.Refusal{"GetDeployment": noDeployment},
	}
}

// memberNames returns the members that the model writes with a capital letter, and one whose Go
// name differs from the model's.
func memberNames() map[string]string {
	all := map[string]string{"RevisionLocation.String_": "string"}
	for _, n := range []string{"DeploymentOverview.Failed", "DeploymentOverview.InProgress",
		"DeploymentOverview.Pending", "DeploymentOverview.Ready",
		"DeploymentOverview.Skipped", "DeploymentOverview.Succeeded", "Tag.Key", "Tag.Value", "EC2TagFilter.Key",
		"EC2TagFilter.Type",
		"EC2TagFilter.Value", "TagFilter.Key", "TagFilter.Type", "TagFilter.Value", "TagResourceInput.ResourceArn",
		"TagResourceInput.Tags", "UntagResourceInput.ResourceArn", "UntagResourceInput.TagKeys",
		"ListTagsForResourceInput.ResourceArn",
		"ListTagsForResourceInput.NextToken", "ListTagsForResourceOutput.Tags", "ListTagsForResourceOutput.NextToken"} {
		_, all[n], _ = strings.Cut(n, ".")
	}
	return all
}

// modelledErrors returns the errors of CodeDeploy's model that the API answers with.
func modelledErrors() []smithy.APIError {
	return []smithy.APIError{
		&cdtypes.AlarmsLimitExceededException{}, &cdtypes.ApplicationAlreadyExistsException{},
		&cdtypes.ApplicationDoesNotExistException{},
		&cdtypes.ApplicationNameRequiredException{}, &cdtypes.BatchLimitExceededException{},
		&cdtypes.DeploymentAlreadyCompletedException{},
		&cdtypes.DeploymentConfigAlreadyExistsException{}, &cdtypes.DeploymentConfigDoesNotExistException{},
		&cdtypes.DeploymentConfigInUseException{}, &cdtypes.DeploymentConfigNameRequiredException{},
		&cdtypes.DeploymentDoesNotExistException{},
		&cdtypes.DeploymentGroupAlreadyExistsException{}, &cdtypes.DeploymentGroupDoesNotExistException{},
		&cdtypes.DeploymentGroupNameRequiredException{}, &cdtypes.DeploymentIdRequiredException{},
		&cdtypes.DeploymentIsNotInReadyStateException{},
		&cdtypes.DeploymentLimitExceededException{}, &cdtypes.DeploymentNotStartedException{},
		&cdtypes.DeploymentTargetDoesNotExistException{},
		&cdtypes.DeploymentTargetIdRequiredException{}, &cdtypes.DeploymentTargetListSizeExceededException{},
		&cdtypes.DescriptionTooLongException{},
		&cdtypes.ECSServiceMappingLimitExceededException{}, &cdtypes.InvalidAlarmConfigException{},
		&cdtypes.InvalidApplicationNameException{},
		&cdtypes.InvalidAutoRollbackConfigException{}, &cdtypes.InvalidBlueGreenDeploymentConfigurationException{},
		&cdtypes.InvalidComputePlatformException{}, &cdtypes.InvalidDeploymentConfigNameException{},
		&cdtypes.InvalidDeploymentGroupNameException{},
		&cdtypes.InvalidDeploymentIdException{}, &cdtypes.InvalidDeploymentStatusException{},
		&cdtypes.InvalidDeploymentStyleException{},
		&cdtypes.InvalidDeploymentTargetIdException{}, &cdtypes.InvalidDeploymentWaitTypeException{},
		&cdtypes.InvalidECSServiceException{},
		&cdtypes.InvalidInputException{}, &cdtypes.InvalidLifecycleEventHookExecutionIdException{},
		&cdtypes.InvalidLifecycleEventHookExecutionStatusException{}, &cdtypes.InvalidLoadBalancerInfoException{},
		&cdtypes.InvalidNextTokenException{}, &cdtypes.InvalidOperationException{}, &cdtypes.InvalidRevisionException{},
		&cdtypes.InvalidRoleException{},
		&cdtypes.InvalidTargetFilterNameException{}, &cdtypes.InvalidTargetGroupPairException{},
		&cdtypes.InvalidTimeRangeException{},
		&cdtypes.InvalidTrafficRoutingConfigurationException{}, &cdtypes.LifecycleEventAlreadyCompletedException{},
		&cdtypes.RevisionDoesNotExistException{}, &cdtypes.RevisionRequiredException{},
		&cdtypes.RoleRequiredException{},
		&cdtypes.InvalidArnException{}, &cdtypes.InvalidTagsToAddException{}, &cdtypes.ResourceArnRequiredException{},
		&cdtypes.TagLimitExceededException{},
		&cdtypes.ThrottlingException{}, &cdtypes.UnsupportedActionForDeploymentTypeException{},
	}
}

// unsimulatedOperations returns the operations of AWS that are not simulated.
func unsimulatedOperations() []string {
	return []string{
		"AddTagsToOnPremisesInstances", "BatchGetApplicationRevisions", "BatchGetDeploymentInstances",
		"BatchGetOnPremisesInstances",
		"DeleteGitHubAccountToken", "DeleteResourcesByExternalId", "DeregisterOnPremisesInstance",
		"GetDeploymentInstance",
		"GetOnPremisesInstance", "ListApplicationRevisions", "ListDeploymentInstances", "ListGitHubAccountTokenNames",
		"ListOnPremisesInstances", "RegisterApplicationRevision", "RegisterOnPremisesInstance",
		"RemoveTagsFromOnPremisesInstances", "UpdateApplication",
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

// state holds the API's own data in one Region, in addition to the controller's.
type state struct {
	configs   world.Ordered[*cdtypes.DeploymentConfigInfo] // custom ones, by name
	revisions world.Ordered[*revision]                     // by "<application> <sha256>"
	tags      map[string][]cdtypes.Tag                     // by ARN, of applications and groups
}

func stateOf(tx *world.Tx) *state { return world.PrivateState[state](tx.Region, "codedeploy") }

func ptr[T any](v T) *T { return &v }

func val[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
