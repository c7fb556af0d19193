package ecs

import (
	"context"
	"slices"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxTargetGroups is how many target groups a service with controller ECS may have.
const maxTargetGroups = 5

// serviceDoc holds the parts of a service that no controller reads.
type serviceDoc struct {
	shape       ecstypes.Service // fields that are stored and returned unchanged
	fingerprint string           // of the request that created it
	revisions   []*revision      // of its deployments, oldest first (controller ECS)
	// launchType is that with which the service was created, and "" if it was created with a capacity provider strategy.
	launchType ecstypes.LaunchType
}

func docOfService(s *world.Service) *serviceDoc { return s.Doc.(*serviceDoc) }

// CreateService creates a service. A repeated request with the same parameters returns the first
// service; other parameters are rejected while it is ACTIVE.
func (s *Service) CreateService(ctx context.Context, in *awsecs.CreateServiceInput) (*awsecs.CreateServiceOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.CreateServiceOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		svc, err := s.editor.createService(tx, c, deepCopy(in))
		if err != nil {
			return nil, err
		}
		return &awsecs.CreateServiceOutput{Service: s.history.showService(svc, true)}, nil
	})
}

func (edit serviceEditor) createService(tx *world.Tx, c *world.Cluster,
	in *awsecs.CreateServiceInput) (*world.Service, error) {
	given := val(in.ClientToken)
	in.ClientToken, in.Cluster = nil, ptr(c.ARN)
	print := requestFingerprint(in)
	if _, _, err := findRepeated(tx, "CreateService", c.Name, given, print, errTokenReused); err != nil {
		return nil, err
	}
	if old, ok := tx.Services.Get(c.Name + "/" + val(in.ServiceName)); ok && old.Status != "INACTIVE" {
		return sameService(old, print)
	}
	svc, err := newService(tx, c, in)
	if err != nil {
		return nil, err
	}
	first, err := firstOf(tx, svc, in)
	if err != nil {
		return nil, err
	}
	svc.Doc.(*serviceDoc).fingerprint = print
	edit.sched.AddService(tx, svc)
	switch svc.Controller {
	case "CODE_DEPLOY":
		edit.sched.AddTaskSet(tx, first)
	case "ECS":
		edit.sched.SetRules(tx, svc, rulesOf(docOfService(svc).shape.DeploymentConfiguration))
		edit.sched.AddTaskSet(tx, first)
		edit.history.recordDeployment(tx, svc)
	}
	rememberToken(tx, "CreateService", c.Name, given, print, svc.ARN)
	return svc, nil
}

func sameService(old *world.Service, print string) (*world.Service, error) {
	switch {
	case old.Status == "DRAINING":
		return nil, invalidParameter("Unable to Start a service that is still Draining.")
	case docOfService(old).fingerprint != print:
		return nil, invalidParameter("Creation of service was not idempotent.")
	}
	return old, nil
}

// newService checks a request and creates the service, without the settings that belong to its
// deployments or task sets.
func newService(tx *world.Tx, c *world.Cluster,
	in *awsecs.CreateServiceInput) (*world.Service, error) {
	controller := "ECS"
	if in.DeploymentController != nil && in.DeploymentController.Type != "" {
		controller = string(in.DeploymentController.Type)
	}
	if err := checkCreate(in, controller); err != nil {
		return nil, err
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	svc := &world.Service{
		ARN: tx.ARN("ecs", "service/"+c.Name+"/"+*in.ServiceName), Name: *in.ServiceName, Cluster: c,
		Controller: controller, Status: "ACTIVE", Desired: int(val(in.DesiredCount)), MinPercent: 100, MaxPercent: 200,
		Grace: secondsDuration(in.HealthCheckGracePeriodSeconds), CreatedAt: tx.Now(),
		Doc: &serviceDoc{shape: shapeOf(tx, in, controller)},
	}
	if in.SchedulingStrategy == "DAEMON" {
		scheduler.AddInstances(tx, c)
		svc.Daemon, svc.Desired, svc.MinPercent, svc.MaxPercent = true, len(c.Instances), 0, 100
		docOfService(svc).shape.SchedulingStrategy = "DAEMON"
	}
	if err := setConfiguration(svc, controller, in.DeploymentConfiguration); err != nil {
		return nil, err
	}
	return svc, setRebalancing(svc, in)
}

func shapeOf(tx *world.Tx, in *awsecs.CreateServiceInput, controller string) ecstypes.Service {
	d := ecstypes.Service{
		AvailabilityZoneRebalancing: in.AvailabilityZoneRebalancing, CreatedBy: ptr(rootOf(tx)),
		DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerType(controller)},
		EnableECSManagedTags: in.EnableECSManagedTags, EnableExecuteCommand: in.EnableExecuteCommand,
		HealthCheckGracePeriodSeconds: in.HealthCheckGracePeriodSeconds, PlatformVersion: in.PlatformVersion,
		PlacementConstraints: orEmpty(in.PlacementConstraints), PlacementStrategy: orEmpty(in.PlacementStrategy),
		PropagateTags: in.PropagateTags, RoleArn: in.Role, SchedulingStrategy: "REPLICA", Tags: in.Tags,
		ResourceManagementType: "CUSTOMER",
	}
	if d.PropagateTags == "" {
		d.PropagateTags = "NONE"
	}
	if d.RoleArn == nil {
		d.RoleArn = ptr(tx.Key.GlobalARN("iam", "role/aws-service-role/ecs.amazonaws.com/AWSServiceRoleForECS"))
	}
	return d
}

func checkCreate(in *awsecs.CreateServiceInput, controller string) error {
	switch {
	case val(in.ServiceName) == "":
		return invalidParameter("Service name can not be blank.")
	case !isName(*in.ServiceName):
		return invalidParameter("Invalid service name.")
	case in.SchedulingStrategy == "DAEMON":
		return firstError(checkDaemon(in, controller), checkNotSimulated(in))
	case val(in.DesiredCount) < 0:
		return invalidParameter("DesiredCount can not be lesser than 0")
	case val(in.DesiredCount) > maxServiceTasks:
		return errTooManyTasks()
	case val(in.HealthCheckGracePeriodSeconds) < 0:
		return invalidParameter("healthCheckGracePeriodSeconds can not be negative.")
	case in.DesiredCount == nil && controller != "EXTERNAL":
		return invalidParameter("Desired count must be specified with the REPLICA scheduling strategy.")
	}
	if err := checkNotSimulated(in); err != nil {
		return err
	}
	if controller == "EXTERNAL" {
		return checkExternal(in)
	}
	return nil
}

func checkDaemon(in *awsecs.CreateServiceInput, controller string) error {
	switch {
	case controller != "ECS":
		return invalidParameter("The %s deployment controller only supports the REPLICA scheduling strategy.",
			controller)
	case in.DesiredCount != nil:
		return errDaemonCount()
	case in.LaunchType == "FARGATE":
		return invalidParameter("The daemon scheduling strategy does not support the FARGATE launch type. Change the " +
			"launch type and try again")
	case len(in.PlacementStrategy) > 0:
		return invalidParameter("Placement strategies are not supported with the DAEMON scheduling strategy.")
	}
	return nil
}

func errDaemonCount() error {
	return invalidParameter("The daemon scheduling strategy does not support a desired count for services. Remove " +
		"the desired count value and try again")
}

func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkExternal rejects settings that belong to task sets.
func checkExternal(in *awsecs.CreateServiceInput) error {
	for _, x := range []struct {
		name string
		set  bool
	}{
		{"TaskDefinition", val(in.TaskDefinition) != ""},
		{"LoadBalancers", len(in.LoadBalancers) > 0},
		{"NetworkConfiguration", in.NetworkConfiguration != nil},
		{"ServiceRegistries", len(in.ServiceRegistries) > 0},
		{"LaunchType", in.LaunchType != ""},
		{"CapacityProviderStrategy", len(in.CapacityProviderStrategy) > 0},
		{"ServiceConnectConfiguration", isConnected(in.ServiceConnectConfiguration)},
		{"VolumeConfigurations", len(in.VolumeConfigurations) > 0},
	} {
		if x.set {
			return invalidParameter("%s must be empty or null.", x.name)
		}
	}
	return nil
}

// firstOf creates the first deployment or task set of a service; with controller EXTERNAL it
// returns nil.
func firstOf(tx *world.Tx, svc *world.Service, in *awsecs.CreateServiceInput) (*world.TaskSet, error) {
	switch svc.Controller {
	case "ECS":
		return firstDeployment(tx, svc, in)
	case "CODE_DEPLOY":
		return firstSet(tx, svc, in)
	}
	return nil, nil
}

// firstDeployment creates the first deployment of a service with controller ECS.
func firstDeployment(tx *world.Tx, svc *world.Service, in *awsecs.CreateServiceInput) (*world.TaskSet, error) {
	if val(in.TaskDefinition) == "" {
		return nil, invalidParameter("Family should not be null or empty.")
	}
	d, err := definitionFor(tx, *in.TaskDefinition)
	if err != nil {
		return nil, err
	}
	w := &workload{definition: d, launchType: in.LaunchType, strategy: in.CapacityProviderStrategy,
		platform: in.PlatformVersion, network: in.NetworkConfiguration, balancers: in.LoadBalancers,
		deploymentDoc: deploymentDoc{in.VolumeConfigurations, in.ServiceConnectConfiguration}}
	if err := w.checkDeployed(tx, svc, docOfService(svc).shape.DeploymentConfiguration.Strategy,
		in.ServiceRegistries); err != nil {
		return nil, err
	}
	if len(w.strategy) == 0 {
		docOfService(svc).launchType = w.launchType
	}
	if err := w.checkPlacement(in.PlacementConstraints, in.PlacementStrategy); err != nil {
		return nil, err
	}
	if err := checkExec(d, in.EnableExecuteCommand, "service couldn't be created"); err != nil {
		return nil, err
	}
	if val(in.Role) != "" && d.HasOwnAddress() {
		return nil, invalidParameter("You cannot specify an IAM role for services that require a service linked role.")
	}
	ts := w.buildTaskSet(tx, svc)
	if val(in.HealthCheckGracePeriodSeconds) > 0 && !hasGraceChecks(ts) {
		return nil, errGrace()
	}
	return ts, attachRegistry(tx, ts, in.ServiceRegistries)
}

// hasGraceChecks reports whether a task set has any check that a grace period applies to.
func hasGraceChecks(ts *world.TaskSet) bool {
	if len(docOfSet(ts).LoadBalancers) > 0 {
		return true
	}
	return slices.ContainsFunc(ts.Definition.Containers, func(c world.ContainerSpec) bool { return c.Health != nil })
}
