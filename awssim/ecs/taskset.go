package ecs

import (
	"context"
	"fmt"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// setDoc holds the parts of a task set or deployment that no controller reads.
type setDoc struct {
	ecstypes.TaskSet
	deploymentDoc
	platform *string // version of the request: LATEST, or the one that the task set has
}

// deploymentDoc holds the parts that only deployments of controller ECS have.
type deploymentDoc struct {
	volumes []ecstypes.ServiceVolumeConfiguration
	connect *ecstypes.ServiceConnectConfiguration
}

func docOfSet(ts *world.TaskSet) *ecstypes.TaskSet { return &ts.Doc.(*setDoc).TaskSet }

// requestedPlatform returns the platform version of the request, which AWS describes with the service.
func requestedPlatform(ts *world.TaskSet) *string { return deepCopy(ts.Doc.(*setDoc).platform) }

func docOfDeployment(ts *world.TaskSet) *deploymentDoc { return &ts.Doc.(*setDoc).deploymentDoc }

// CreateTaskSet creates an additional task set of an EXTERNAL service.
func (s *Service) CreateTaskSet(ctx context.Context, in *awsecs.CreateTaskSetInput) (*awsecs.CreateTaskSetOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.CreateTaskSetOutput, error) {
		svc, err := externalService(tx, in.Cluster, in.Service)
		if err != nil {
			return nil, err
		}
		ts, err := s.createTaskSet(tx, svc, deepCopy(in))
		if err != nil {
			return nil, err
		}
		return &awsecs.CreateTaskSetOutput{TaskSet: showTaskSet(ts, true)}, nil
	})
}

func (s *Service) createTaskSet(tx *world.Tx, svc *world.Service, in *awsecs.CreateTaskSetInput) (*world.TaskSet,
	error) {
	given := val(in.ClientToken)
	in.ClientToken = nil
	print := requestFingerprint(in)
	arns, ok, err := findRepeated(tx, "CreateTaskSet", svc.Cluster.Name, given, print, errTokenReused)
	if err != nil {
		return nil, err
	}
	if ok {
		return repeatedTaskSet(tx, arns[0])
	}
	if n := len(svc.TaskSets); n >= tx.Settings().TaskSetLimit {
		return nil,
			invalidParameter("%d deployments exist on the service. Unable to create new TaskSet since this exceeds "+
				"the maximum limit.", n)
	}
	ts, err := newTaskSet(tx, svc, in)
	if err != nil {
		return nil, err
	}
	s.sched.AddTaskSet(tx, ts)
	rememberToken(tx, "CreateTaskSet", svc.Cluster.Name, given, print, ts.ARN)
	return ts, nil
}

func repeatedTaskSet(tx *world.Tx, arn string) (*world.TaskSet, error) {
	if ts := taskSetByARN(tx, arn); ts != nil {
		return ts, nil
	}
	return nil, invalidParameter("The client token was used before, and the task set that it made is gone.")
}

func newTaskSet(tx *world.Tx, svc *world.Service, in *awsecs.CreateTaskSetInput) (*world.TaskSet, error) {
	scale, err := parseScale(in.Scale, 100)
	if err != nil {
		return nil, err
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	if val(in.TaskDefinition) == "" {
		return nil, invalidParameter("Task definition can not be blank.")
	}
	d, err := definitionFor(tx, *in.TaskDefinition)
	if err != nil {
		return nil, err
	}
	w := &workload{definition: d, launchType: in.LaunchType, strategy: in.CapacityProviderStrategy,
		platform: in.PlatformVersion, network: in.NetworkConfiguration, balancers: in.LoadBalancers}
	if err := w.checkWorkload(tx, svc.Cluster, 1); err != nil {
		return nil, err
	}
	ts := w.buildTaskSet(tx, svc)
	ts.ARN = tx.ARN("ecs", fmt.Sprintf("task-set/%s/%s/%s", svc.Cluster.Name, svc.Name, ts.ID))
	ts.Status, ts.Scale, ts.ExternalID = "ACTIVE", scale, val(in.ExternalId)
	doc := docOfSet(ts)
	doc.Tags, doc.ExternalId = in.Tags, in.ExternalId
	return ts, attachRegistry(tx, ts, in.ServiceRegistries)
}

// buildTaskSet creates the task set (or deployment) of a checked workload.
func (w *workload) buildTaskSet(tx *world.Tx, svc *world.Service) *world.TaskSet {
	doc := &setDoc{deploymentDoc: w.deploymentDoc, platform: w.platform}
	doc.TaskSet = ecstypes.TaskSet{
		LaunchType: w.launchType, CapacityProviderStrategy: w.strategy, PlatformVersion: w.platform,
		NetworkConfiguration: w.network, LoadBalancers: orEmpty(w.balancers),
	}
	if len(w.strategy) > 0 {
		doc.LaunchType = ""
	}
	if w.launchType == "FARGATE" {
		doc.PlatformFamily = ptr("Linux")
		if val(doc.PlatformVersion) == "LATEST" {
			doc.PlatformVersion = ptr("1.4.0")
		}
	}
	return &world.TaskSet{
		ID: "ecs-svc/" + tx.NewDigits("task set", 19), Service: svc, Definition: w.definition, Attached: w.attached,
		Subnets: w.subnets, LaunchType: string(w.launchType), Providers: providersIn(w.strategy), Doc: doc,
	}
}

// providersIn returns a strategy for the scheduler. A weight of a single provider has no effect.
func providersIn(strategy []ecstypes.CapacityProviderStrategyItem) (all []world.Provider) {
	for _, x := range strategy {
		all = append(all, world.Provider{Name: lastSegment(val(x.CapacityProvider)), Base: x.Base, Weight: x.Weight})
	}
	if len(all) == 1 {
		all[0].Weight = max(all[0].Weight, 1)
	}
	return all
}

// parseScale reads a scale. The SDK omits the value 0, so a scale without a value is 0 percent. A
// missing scale is missing percent.
func parseScale(sc *ecstypes.Scale, missing float64) (float64, error) {
	if sc == nil {
		return missing, nil
	}
	if sc.Unit != "" && sc.Unit != "PERCENT" {
		return 0, invalidParameter("Scale unit must be PERCENT.")
	}
	if !(sc.Value >= 0 && sc.Value <= 100) {
		return 0, invalidParameter("Scale value must be between 0 and 100.")
	}
	return sc.Value, nil
}

// UpdateTaskSet changes a task set's scale.
func (s *Service) UpdateTaskSet(ctx context.Context, in *awsecs.UpdateTaskSetInput) (*awsecs.UpdateTaskSetOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.UpdateTaskSetOutput, error) {
		ts, err := taskSetOf(tx, in.Cluster, in.Service, in.TaskSet)
		if err != nil {
			return nil, err
		}
		if in.Scale == nil {
			return nil, invalidParameter("Scale can not be blank.")
		}
		scale, err := parseScale(in.Scale, 0)
		if err != nil {
			return nil, err
		}
		if ts.Status == "DRAINING" {
			return nil, invalidParameter("The task set is DRAINING and cannot be updated.")
		}
		s.sched.SetScale(tx, ts, scale)
		return &awsecs.UpdateTaskSetOutput{TaskSet: showTaskSet(ts, false)}, nil
	})
}

func taskSetOf(tx *world.Tx, cluster, service, id *string) (*world.TaskSet, error) {
	svc, err := externalService(tx, cluster, service)
	if err != nil {
		return nil, err
	}
	return taskSetIn(svc, val(id))
}

// UpdateServicePrimaryTaskSet makes a task set PRIMARY. It does not move traffic.
func (s *Service) UpdateServicePrimaryTaskSet(ctx context.Context,
	in *awsecs.UpdateServicePrimaryTaskSetInput) (*awsecs.UpdateServicePrimaryTaskSetOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.UpdateServicePrimaryTaskSetOutput, error) {
		ts, err := taskSetOf(tx, in.Cluster, in.Service, in.PrimaryTaskSet)
		if err != nil {
			return nil, err
		}
		if ts.Status == "DRAINING" {
			return nil, invalidParameter("The task set is DRAINING and cannot become PRIMARY.")
		}
		s.sched.Promote(tx, ts)
		return &awsecs.UpdateServicePrimaryTaskSetOutput{TaskSet: showTaskSet(ts, false)}, nil
	})
}

// DeleteTaskSet drains a task set; it is deleted when its tasks have stopped. A PRIMARY one needs
// force. The documentation requires force for every task set above 0 percent, but AWS accepted such
// calls without force.
func (s *Service) DeleteTaskSet(ctx context.Context, in *awsecs.DeleteTaskSetInput) (*awsecs.DeleteTaskSetOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DeleteTaskSetOutput, error) {
		ts, err := taskSetOf(tx, in.Cluster, in.Service, in.TaskSet)
		if err != nil {
			return nil, err
		}
		if ts.Status == "PRIMARY" && !val(in.Force) {
			return nil, invalidParameter("Primary TaskSet cannot be deleted")
		}
		s.sched.DrainTaskSet(tx, ts)
		return &awsecs.DeleteTaskSetOutput{TaskSet: showTaskSet(ts, false)}, nil
	})
}

// DescribeTaskSets returns the named task sets, or all of a service if the field is absent.
func (s *Service) DescribeTaskSets(ctx context.Context,
	in *awsecs.DescribeTaskSetsInput) (*awsecs.DescribeTaskSetsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DescribeTaskSetsOutput, error) {
		svc, err := externalService(tx, in.Cluster, in.Service)
		if err != nil {
			return nil, err
		}
		if in.TaskSets != nil && len(in.TaskSets) == 0 {
			return nil, invalidParameter("TaskSets cannot be empty.")
		}
		out := &awsecs.DescribeTaskSetsOutput{TaskSets: []ecstypes.TaskSet{}, Failures: []ecstypes.Failure{}}
		show := func(ts *world.TaskSet) {
			d := showTaskSet(ts, false)
			if hasItem(in.Include, "TAGS") {
				d.Tags = shownTags(docOfSet(ts).Tags)
			}
			out.TaskSets = append(out.TaskSets, *d)
		}
		if in.TaskSets == nil {
			for _, ts := range svc.TaskSets {
				show(ts)
			}
			return out, nil
		}
		for _, id := range in.TaskSets {
			ts, err := taskSetIn(svc, id)
			switch {
			case err == nil:
				show(ts)
			case isMalformed(err):
				return nil, err
			default:
				out.Failures = append(out.Failures, missingFailure(setARN(tx, svc, id)))
			}
		}
		return out, nil
	})
}

func isMalformed(err error) bool {
	r, ok := err.(*world.Refusal)
	return ok && r.Code == "InvalidParameterException"
}

func setARN(tx *world.Tx, svc *world.Service, id string) string {
	if isARN(id) {
		return id
	}
	return tx.ARN("ecs", "task-set/"+svc.ID()+"/"+id)
}

func showTaskSet(ts *world.TaskSet, tags bool) *ecstypes.TaskSet {
	d := deepCopy(*docOfSet(ts))
	if !tags {
		d.Tags = nil
	}
	running, pending := countTasks(ts)
	d.Id, d.TaskSetArn = ptr(ts.ID), ptr(ts.ARN)
	d.ServiceArn, d.ClusterArn = ptr(ts.Service.ARN), ptr(ts.Service.Cluster.ARN)
	d.Status, d.TaskDefinition = ptr(shownStatus(ts)), ptr(ts.Definition.ARN)
	d.Scale = &ecstypes.Scale{Unit: "PERCENT", Value: ts.Scale}
	d.ComputedDesiredCount, d.RunningCount, d.PendingCount = int32(ts.Computed), int32(running), int32(pending)
	d.CreatedAt, d.UpdatedAt = optionalTime(ts.CreatedAt), optionalTime(ts.UpdatedAt)
	d.StabilityStatus, d.StabilityStatusAt = ecstypes.StabilityStatus(ts.VisibleStability), optionalTime(ts.StabilityAt)
	return &d
}

func countTasks(ts *world.TaskSet) (running, pending int) {
	for _, t := range ts.Tasks {
		switch {
		case t.LastStatus == "RUNNING":
			running++
		case isPending(t):
			pending++
		}
	}
	return running, pending
}

func isPending(t *world.Task) bool {
	return t.LastStatus == "PROVISIONING" || t.LastStatus == "PENDING" || t.LastStatus == "ACTIVATING"
}
