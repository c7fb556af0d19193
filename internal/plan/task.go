package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Task is what a RUN_TASK stage runs.
type Task struct {
	Step     string `json:"step,omitempty"`     // its name in the file; empty: the application's own task
	When     string `json:"when,omitempty"`     // StepBefore or StepAfter; empty: the task is the deployment itself
	Rollback bool   `json:"rollback,omitempty"` // of a step: its failure rolls the deployment back

	Definition json.RawMessage `json:"taskDefinition,omitempty"` // its own, request shape; empty: the deployment's
	// of its own definition: family:revision, or the family if it will be registered
	To       string          `json:"to,omitempty"`
	Request  json.RawMessage `json:"request"` // of RunTask, without the fields that the stage sets
	Count    int             `json:"count"`
	Watch    string          `json:"watchContainer"`                // whose exit code decides
	Others   []string        `json:"essentialContainers,omitempty"` // the other essential ones: the end of one stops Watch
	Digest   string          `json:"digest"`                        // of definition and request, before values were removed
	Redacted bool            `json:"redacted,omitempty"`            // see [Plan.ForJournal]
}

// When a step runs.
const (
	StepBefore = "before"
	StepAfter  = "after"
)

// HasOwnDefinition reports whether the task has its own task definition.
func (t *Task) HasOwnDefinition() bool { return len(t.Definition) > 0 }

// IsRegistered reports whether its own definition is registered already.
func (t *Task) IsRegistered() bool { return strings.Contains(t.To, ":") }

// DecodeTask decodes the task's own definition.
func (t *Task) DecodeTask() (*definition.Task, error) {
	return definition.DecodeTask("task definition of the step", t.Definition)
}

// DecodeRequest decodes the RunTask request.
func (t *Task) DecodeRequest() (*definition.Run, error) {
	return definition.ReadRun("the request of the plan", t.Request)
}

// StepKey returns the key of a step in [AWSState.Steps] and in the startedBy of its tasks.
func StepKey(when, name string) string { return when + "/" + name }

// NewTask returns what a stage runs, from the files alone. when is empty for the application's own
// task.
func NewTask(app *appfile.Application, when string, own *definition.Task, given *definition.Run, watch string) (*Task,
	error) {
	def := app.Task
	if own != nil {
		def = own
	}
	in := runRequest(app, given.Input, when)
	t := &Task{When: when, Count: int(aws.ToInt32(in.Count)), Watch: watch}
	in.Count = nil
	if err := t.checkContainers(app.File, def, in); err != nil {
		return nil, err
	}
	if err := checkNetwork(app, def, in); err != nil {
		return nil, err
	}
	t.Watch = cmp.Or(t.Watch, FirstEssential(def))
	t.Others = otherEssential(def, t.Watch)
	var err error
	if t.Request, err = (&definition.Run{Input: in}).JSON(); err != nil {
		return nil, fmt.Errorf("request of RunTask: %w", err)
	}
	if own != nil {
		t.To = aws.ToString(own.Input.Family)
		if t.Definition, err = own.JSON(); err != nil {
			return nil, fmt.Errorf("task definition: %w", err)
		}
	}
	sum := sha256.Sum256(append(append([]byte{}, t.Definition...), t.Request...))
	t.Digest = hex.EncodeToString(sum[:])
	return t, nil
}

// checkContainers rejects containers that the definition does not have. AWS would reject them only
// at the call.
func (t *Task) checkContainers(file string, def *definition.Task, in *awsecs.RunTaskInput) error {
	var named []string
	if in.Overrides != nil {
		for _, o := range in.Overrides.ContainerOverrides {
			named = append(named, aws.ToString(o.Name))
		}
	}
	if t.Watch != "" {
		named = append(named, t.Watch)
	}
	var have []string
	for _, c := range def.Input.ContainerDefinitions {
		have = append(have, aws.ToString(c.Name))
	}
	for _, n := range named {
		if !slices.Contains(have, n) {
			return &sluice.Error{Op: "plan", Resource: file, Err: fmt.Errorf("task definition %s has no container %q",
				aws.ToString(def.Input.Family), n),
				Next: "name one of: " + strings.Join(have, ", ")}
		}
	}
	return nil
}

// checkNetwork rejects a task with network mode awsvpc that has no network configuration. AWS would
// reject it only at the call, after the revision is registered.
func checkNetwork(app *appfile.Application, def *definition.Task, in *awsecs.RunTaskInput) error {
	if def.Input.NetworkMode != ecstypes.NetworkModeAwsvpc || in.NetworkConfiguration != nil {
		return nil
	}
	next := "set input.awsvpcConfiguration: {subnets: […]}"
	if app.Service != nil {
		next = "set networkConfiguration in the service definition, or under runTask"
	}
	return &sluice.Error{Op: "plan", Resource: app.File, Next: next,
		Err: fmt.Errorf("task definition %s has network mode awsvpc, but no subnets are set for its task",
			aws.ToString(def.Input.Family))}
}

// FirstEssential returns the first essential container. The task stops when it stops.
func FirstEssential(def *definition.Task) string {
	all := def.Input.ContainerDefinitions
	return aws.ToString(all[max(slices.IndexFunc(all, isEssential), 0)].Name)
}

func isEssential(c ecstypes.ContainerDefinition) bool { return c.Essential == nil || *c.Essential }

// otherEssential returns the essential containers besides one.
func otherEssential(def *definition.Task, watch string) (names []string) {
	for _, c := range def.Input.ContainerDefinitions {
		if name := aws.ToString(c.Name); isEssential(c) && name != watch {
			names = append(names, name)
		}
	}
	return names
}

// runRequest returns the request of RunTask: the given values override the service definition, or
// PipeCD's keys of standalone tasks. A step takes only the settings from input.runTask that say
// where tasks run.
func runRequest(app *appfile.Application, given *awsecs.RunTaskInput, when string) *awsecs.RunTaskInput {
	base := &awsecs.RunTaskInput{Count: aws.Int32(1)}
	if app.Service != nil {
		s := app.Service.Input
		base.NetworkConfiguration, base.PlatformVersion = s.NetworkConfiguration, s.PlatformVersion
		base.LaunchType, base.CapacityProviderStrategy = s.LaunchType, s.CapacityProviderStrategy
	} else {
		base.LaunchType = ecstypes.LaunchType(app.Standalone.LaunchType)
		base.NetworkConfiguration = networkConfig(app.Standalone)
	}
	return MergeRunInput(MergeRunInput(base, applicationRunInput(app.Standalone.RunTask, when)), given)
}

func applicationRunInput(run *definition.Run, when string) *awsecs.RunTaskInput {
	if run == nil || when == "" {
		return runInput(run)
	}
	in := run.Input
	return &awsecs.RunTaskInput{NetworkConfiguration: in.NetworkConfiguration, LaunchType: in.LaunchType,
		CapacityProviderStrategy: in.CapacityProviderStrategy, PlatformVersion: in.PlatformVersion}
}

func runInput(run *definition.Run) *awsecs.RunTaskInput {
	if run == nil {
		return nil
	}
	return run.Input
}

// networkConfig returns PipeCD's awsvpcConfiguration as a network configuration.
func networkConfig(s appfile.Standalone) *ecstypes.NetworkConfiguration {
	if len(s.Subnets) == 0 {
		return nil
	}
	return &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{
		Subnets: s.Subnets, SecurityGroups: s.SecurityGroups,
		AssignPublicIp: ecstypes.AssignPublicIp(s.AssignPublicIP)}}
}

// GroupPrefix begins the name of a task without a service in a plan. It stands in place of the
// service name. AWS gives tasks without a service a group of this form.
const GroupPrefix = "family:"

// TaskGroup returns the group of the application's tasks that belong to no service.
func TaskGroup(app *appfile.Application) string {
	return GroupPrefix + aws.ToString(app.Task.Input.Family)
}

func NewStepTask(app *appfile.Application, when string, s appfile.Step) (*Task, error) {
	t, err := NewTask(app, when, s.Task, s.Run, s.WatchContainer)
	if err != nil {
		return nil, fmt.Errorf("step %s: %w", s.Name, err)
	}
	t.Step, t.Rollback = s.Name, s.Rollback
	return t, nil
}

// NextAfterTaskTimeout returns what to do after a timeout of tasks without a service: they still run, so that another run
// would start them twice. It is empty for a service.
func (p *Plan) NextAfterTaskTimeout() string {
	if p.Mode().HasService() {
		return ""
	}
	return "stop the task, which still runs: sluice tasks --id ID --stop; or wait until sluice status shows its end. Then " +
		"raise the timeout"
}
