package ecs

import (
	"context"
	"encoding/json"
	"maps"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxRunTasks  = 10
	maxStartedBy = 128
	maxOverrides = 8192
)

// RunTask starts up to 10 standalone tasks. If tasks cannot be placed, the call succeeds and lists
// them in failures.
func (s *Service) RunTask(ctx context.Context, in *awsecs.RunTaskInput) (*awsecs.RunTaskOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.RunTaskOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		return s.tasks.runTask(tx, c, deepCopy(in))
	})
}

func (starter taskStarter) runTask(tx *world.Tx, c *world.Cluster, in *awsecs.RunTaskInput) (
	*awsecs.RunTaskOutput, error) {
	given := val(in.ClientToken)
	in.ClientToken, in.Cluster = nil, ptr(c.ARN)
	print := requestFingerprint(in)
	arns, ok, err := findRepeated(tx, "RunTask", c.Name, given, print, tokenConflict)
	if err != nil {
		return nil, err
	}
	out := &awsecs.RunTaskOutput{Tasks: []ecstypes.Task{}, Failures: []ecstypes.Failure{}}
	if ok {
		for _, arn := range arns {
			if t, ok := tx.Tasks.Get(arn); ok {
				out.Tasks = append(out.Tasks, *showTask(t, true))
			}
		}
		return out, nil
	}
	w, err := checkRun(tx, c, in)
	if err != nil {
		return nil, err
	}
	arns = starter.placeTasks(tx, c, w, in, out)
	rememberToken(tx, "RunTask", c.Name, given, print, arns...)
	return out, nil
}

func tokenConflict(arns []string) error {
	return &world.Refusal{Code: "ConflictException",
		Message: "The client token was used before with different parameters.",
		Fields:  map[string]any{"resourceIds": arns}}
}

func checkRun(tx *world.Tx, c *world.Cluster, in *awsecs.RunTaskInput) (*workload, error) {
	switch {
	case val(in.TaskDefinition) == "":
		return nil, invalidParameter("Task definition can not be blank.")
	case in.Count != nil && (*in.Count < 1 || *in.Count > maxRunTasks):
		return nil, invalidParameter("Count must be between 1 and %d.", maxRunTasks)
	case len(val(in.StartedBy)) > maxStartedBy:
		return nil, invalidParameter("startedBy can have at most %d characters.", maxStartedBy)
	case in.PropagateTags == "SERVICE":
		return nil, invalidParameter("Invalid value for propagateTags. SERVICE is not supported when running a task.")
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	d, err := definitionFor(tx, *in.TaskDefinition)
	if err != nil {
		return nil, err
	}
	if err := firstError(checkOverrides(d, in.Overrides), checkTaskVolumes(d, in.VolumeConfigurations)); err != nil {
		return nil, err
	}
	w := &workload{definition: d, launchType: in.LaunchType, strategy: in.CapacityProviderStrategy,
		platform: in.PlatformVersion, network: in.NetworkConfiguration}
	if err := w.checkWorkload(tx, c, 0); err != nil {
		return nil, err
	}
	return w, firstError(w.checkPlacement(in.PlacementConstraints, in.PlacementStrategy),
		checkExec(d, in.EnableExecuteCommand && val(roleOf(in.Overrides)) == "", "task couldn't be started"))
}

// roleOf returns the task role of the overrides, or nil.
func roleOf(o *ecstypes.TaskOverride) *string {
	if o == nil {
		return nil
	}
	return o.TaskRoleArn
}

// executionRoleOf returns the execution role of the overrides, or "".
func executionRoleOf(o *ecstypes.TaskOverride) string {
	if o == nil {
		return ""
	}
	return val(o.ExecutionRoleArn)
}

func checkOverrides(d *world.TaskDefinition, o *ecstypes.TaskOverride) error {
	if o == nil {
		return nil
	}
	if b, err := json.Marshal(o); err == nil && len(b) > maxOverrides && documentSize(o) > maxOverrides {
		return invalidParameter("Overrides can have at most %d characters.", maxOverrides)
	}
next:
	for _, x := range o.ContainerOverrides {
		for _, c := range d.Containers {
			if c.Name == val(x.Name) {
				continue next
			}
		}
		return invalidParameter("Container Override for container named %s is not a container in the TaskDefinition.",
			val(x.Name))
	}
	return nil
}

// placeTasks starts the tasks, spread over the zones of the subnets.
func (starter taskStarter) placeTasks(tx *world.Tx, c *world.Cluster, w *workload, in *awsecs.RunTaskInput,
	out *awsecs.RunTaskOutput) (arns []string) {
	r := scheduler.Request{Cluster: c, Definition: w.definition, LaunchType: string(w.launchType),
		Subnets: w.subnets, PerZone: map[string]int{}}
	strategy, perProvider := providersIn(w.strategy), map[string]int{}
	for range *orDefault(in.Count, 1) {
		place, obstacle := scheduler.FindPlace(tx, r)
		if obstacle != nil {
			out.Failures = append(out.Failures, ecstypes.Failure{Reason: ptr(obstacle.Failure)})
			continue
		}
		provider := scheduler.NextProvider(strategy, perProvider)
		r.PerZone[place.Subnet.Zone]++
		perProvider[provider]++
		t := starter.startOn(tx, c, w, in, place, provider)
		arns = append(arns, t.ARN)
		out.Tasks = append(out.Tasks, *showTask(t, true))
	}
	return arns
}

// startOn starts a standalone task in a place.
func (starter taskStarter) startOn(tx *world.Tx, c *world.Cluster, w *workload, in *awsecs.RunTaskInput,
	at scheduler.Place, provider string) *world.Task {
	group := val(in.Group)
	if group == "" {
		group = "family:" + w.definition.Family
	}
	t := starter.sched.StartTask(tx, scheduler.Launch{
		Cluster: c, Definition: w.definition, Containers: overriddenContainers(w.definition, in.Overrides),
		ExecutionRole: executionRoleOf(in.Overrides), Group: group, StartedBy: val(in.StartedBy), LaunchType: string(w.launchType), Provider: provider,
		Place: at, Doc: runDoc(w, in),
	})
	if in.EnableECSManagedTags {
		docOfTask(t).tags = append(docOfTask(t).tags, managedTags(t)...)
	}
	return t
}

func runDoc(w *workload, in *awsecs.RunTaskInput) *taskDoc {
	d := &taskDoc{overrides: deepCopy(in.Overrides), platform: deepCopy(w.platform),
		exec: in.EnableExecuteCommand}
	if in.PropagateTags == "TASK_DEFINITION" {
		d.tags = deepCopy(docOfDefinition(w.definition).tags)
	}
	d.tags = mergeTags(d.tags, in.Tags)
	if val(d.platform) == "LATEST" {
		d.platform = ptr("1.4.0")
	}
	return d
}

// overriddenContainers returns the containers of a definition with the overrides of environment and
// command applied. It returns nil if there are no overrides.
func overriddenContainers(d *world.TaskDefinition, o *ecstypes.TaskOverride) []world.ContainerSpec {
	if o == nil {
		return nil
	}
	specs := append([]world.ContainerSpec(nil), d.Containers...)
	for _, x := range o.ContainerOverrides {
		for i := range specs {
			if specs[i].Name != val(x.Name) {
				continue
			}
			env := maps.Clone(specs[i].Environment)
			for _, e := range x.Environment {
				env[val(e.Name)] = val(e.Value)
			}
			specs[i].Environment = env
			if x.Command != nil {
				specs[i].Command = deepCopy(x.Command)
			}
		}
	}
	return specs
}

// StartTask starts a task on each of the named container instances, also if a host port is in use
// there. Instances that do not exist are in failures.
func (s *Service) StartTask(ctx context.Context, in *awsecs.StartTaskInput) (*awsecs.StartTaskOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.StartTaskOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		switch n := len(in.ContainerInstances); {
		case n == 0:
			return nil, invalidParameter("Container instances cannot be empty.")
		case n > maxRunTasks:
			return nil, invalidParameter("Container instances cannot have more than %d elements.", maxRunTasks)
		}
		return s.tasks.startTasks(tx, c, deepCopy(in))
	})
}

func (starter taskStarter) startTasks(tx *world.Tx, c *world.Cluster, in *awsecs.StartTaskInput) (
	*awsecs.StartTaskOutput, error) {
	run := &awsecs.RunTaskInput{TaskDefinition: in.TaskDefinition, LaunchType: "EC2", Overrides: in.Overrides,
		NetworkConfiguration: in.NetworkConfiguration, StartedBy: in.StartedBy, Tags: in.Tags, Group: in.Group,
		PropagateTags: in.PropagateTags, VolumeConfigurations: in.VolumeConfigurations,
		EnableECSManagedTags: in.EnableECSManagedTags, EnableExecuteCommand: in.EnableExecuteCommand}
	w, err := checkRun(tx, c, run)
	if err != nil {
		return nil, err
	}
	out := &awsecs.StartTaskOutput{Tasks: []ecstypes.Task{}, Failures: []ecstypes.Failure{}}
	for _, id := range in.ContainerInstances {
		i := instanceIn(c, id)
		if i == nil {
			out.Failures = append(out.Failures, missingInstance(tx, c, id))
			continue
		}
		t := starter.startOn(tx, c, w, run, scheduler.Place{Subnet: i.Subnet, Instance: i}, "")
		out.Tasks = append(out.Tasks, *showTask(t, true))
	}
	return out, nil
}

// StopTask stops a task. A stopped task is returned unchanged.
func (s *Service) StopTask(ctx context.Context, in *awsecs.StopTaskInput) (*awsecs.StopTaskOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.StopTaskOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		if err := checkTaskIDs(val(in.Task)); err != nil {
			return nil, err
		}
		t, ok := taskIn(tx, c, val(in.Task))
		if !ok {
			return nil, invalidParameter("The referenced task was not found.")
		}
		s.sched.StopByUser(tx, t, val(in.Reason))
		return &awsecs.StopTaskOutput{Task: showTask(t, true)}, nil
	})
}
