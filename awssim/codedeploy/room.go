// Package codedeploy is the room of AWS CodeDeploy for services of Amazon ECS:
// applications, deployment groups and configurations, deployments with their
// targets, revisions of AppSpec content.
//
// The room checks input, calls the shifter and shapes output; what a deployment
// does over time is the shifter's. Shapes are the SDK's own; what no law reads is
// kept on the object (its Doc) and echoed.
//
// It does not simulate deployments to servers and Lambda, revisions in S3 and
// GitHub, triggers, on-premises instances and tags; those are refused in words,
// or answered as unknown operations. FIDELITY.part.md lists what follows which
// AWS page.
//
// Start reading at [Service.CreateDeployment] in create.go, then appspec.go.
package codedeploy

import (
	"context"
	"strings"

	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/shifter"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service is the room.
type Service struct {
	world *world.World
	law   *shifter.Shifter
}

// New makes the room over the shifter of w.
func New(w *world.World, law *shifter.Shifter) *Service { return &Service{w, law} }

// Room is the room with what wire must know of CodeDeploy.
func (s *Service) Room() wire.Room {
	return wire.Room{
		Name: "codedeploy", ServiceID: "CodeDeploy", Protocol: wire.JSON11, Target: "CodeDeploy_20141006",
		Operations: s.operations(), LowerFirst: true, Errors: modelled(), Known: known(),
		Names: names(), Missing: map[string]func(string) *world.Refusal{"GetDeployment": noDeployment},
	}
}

// names are the members that the model writes with a capital letter, and one that
// Go cannot call as the model does.
func names() map[string]string {
	all := map[string]string{"RevisionLocation.String_": "string"}
	for _, n := range []string{"DeploymentOverview.Failed", "DeploymentOverview.InProgress", "DeploymentOverview.Pending", "DeploymentOverview.Ready",
		"DeploymentOverview.Skipped", "DeploymentOverview.Succeeded", "Tag.Key", "Tag.Value", "EC2TagFilter.Key", "EC2TagFilter.Type",
		"EC2TagFilter.Value", "TagFilter.Key", "TagFilter.Type", "TagFilter.Value", "TagResourceInput.ResourceArn",
		"TagResourceInput.Tags", "UntagResourceInput.ResourceArn", "UntagResourceInput.TagKeys", "ListTagsForResourceInput.ResourceArn",
		"ListTagsForResourceInput.NextToken", "ListTagsForResourceOutput.Tags", "ListTagsForResourceOutput.NextToken"} {
		_, all[n], _ = strings.Cut(n, ".")
	}
	return all
}

// modelled are the errors of CodeDeploy's model that the room answers with.
func modelled() []smithy.APIError {
	return []smithy.APIError{
		&cdtypes.AlarmsLimitExceededException{}, &cdtypes.ApplicationAlreadyExistsException{}, &cdtypes.ApplicationDoesNotExistException{},
		&cdtypes.ApplicationNameRequiredException{}, &cdtypes.BatchLimitExceededException{}, &cdtypes.DeploymentAlreadyCompletedException{},
		&cdtypes.DeploymentConfigAlreadyExistsException{}, &cdtypes.DeploymentConfigDoesNotExistException{},
		&cdtypes.DeploymentConfigInUseException{}, &cdtypes.DeploymentConfigNameRequiredException{}, &cdtypes.DeploymentDoesNotExistException{},
		&cdtypes.DeploymentGroupAlreadyExistsException{}, &cdtypes.DeploymentGroupDoesNotExistException{},
		&cdtypes.DeploymentGroupNameRequiredException{}, &cdtypes.DeploymentIdRequiredException{}, &cdtypes.DeploymentIsNotInReadyStateException{},
		&cdtypes.DeploymentLimitExceededException{}, &cdtypes.DeploymentNotStartedException{},
		&cdtypes.DeploymentTargetDoesNotExistException{},
		&cdtypes.DeploymentTargetIdRequiredException{}, &cdtypes.DeploymentTargetListSizeExceededException{}, &cdtypes.DescriptionTooLongException{},
		&cdtypes.ECSServiceMappingLimitExceededException{}, &cdtypes.InvalidAlarmConfigException{}, &cdtypes.InvalidApplicationNameException{},
		&cdtypes.InvalidAutoRollbackConfigException{}, &cdtypes.InvalidBlueGreenDeploymentConfigurationException{},
		&cdtypes.InvalidComputePlatformException{}, &cdtypes.InvalidDeploymentConfigNameException{}, &cdtypes.InvalidDeploymentGroupNameException{},
		&cdtypes.InvalidDeploymentIdException{}, &cdtypes.InvalidDeploymentStatusException{}, &cdtypes.InvalidDeploymentStyleException{},
		&cdtypes.InvalidDeploymentTargetIdException{}, &cdtypes.InvalidDeploymentWaitTypeException{}, &cdtypes.InvalidECSServiceException{},
		&cdtypes.InvalidInputException{}, &cdtypes.InvalidLifecycleEventHookExecutionIdException{},
		&cdtypes.InvalidLifecycleEventHookExecutionStatusException{}, &cdtypes.InvalidLoadBalancerInfoException{},
		&cdtypes.InvalidNextTokenException{}, &cdtypes.InvalidOperationException{}, &cdtypes.InvalidRevisionException{}, &cdtypes.InvalidRoleException{},
		&cdtypes.InvalidTargetFilterNameException{}, &cdtypes.InvalidTargetGroupPairException{}, &cdtypes.InvalidTimeRangeException{},
		&cdtypes.InvalidTrafficRoutingConfigurationException{}, &cdtypes.LifecycleEventAlreadyCompletedException{},
		&cdtypes.RevisionDoesNotExistException{}, &cdtypes.RevisionRequiredException{}, &cdtypes.RoleRequiredException{},
		&cdtypes.InvalidArnException{}, &cdtypes.InvalidTagsToAddException{}, &cdtypes.ResourceArnRequiredException{}, &cdtypes.TagLimitExceededException{},
		&cdtypes.ThrottlingException{}, &cdtypes.UnsupportedActionForDeploymentTypeException{},
	}
}

// known are operations that AWS has and the room has not.
func known() []string {
	return []string{
		"AddTagsToOnPremisesInstances", "BatchGetApplicationRevisions", "BatchGetDeploymentInstances", "BatchGetOnPremisesInstances",
		"DeleteGitHubAccountToken", "DeleteResourcesByExternalId", "DeregisterOnPremisesInstance", "GetDeploymentInstance",
		"GetOnPremisesInstance", "ListApplicationRevisions", "ListDeploymentInstances", "ListGitHubAccountTokenNames",
		"ListOnPremisesInstances", "RegisterApplicationRevision", "RegisterOnPremisesInstance",
		"RemoveTagsFromOnPremisesInstances", "UpdateApplication",
	}
}

// call runs f as one step of the caller's Region.
func call[T any](ctx context.Context, s *Service, f func(*world.Tx) (T, error)) (out T, err error) {
	err = s.world.Do(world.KeyOf(ctx), func(tx *world.Tx) error {
		out, err = f(tx)
		return err
	})
	return out, err
}

// state is what the room keeps in one Region beside the shifter's.
type state struct {
	configs   world.Ordered[*cdtypes.DeploymentConfigInfo] // custom ones, by name
	revisions world.Ordered[*revision]                     // by "<application> <sha256>"
	tags      map[string][]cdtypes.Tag                     // by ARN, of applications and groups
}

func stateOf(tx *world.Tx) *state { return world.Room[state](tx.Region, "codedeploy") }

func ptr[T any](v T) *T { return &v }

func val[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
