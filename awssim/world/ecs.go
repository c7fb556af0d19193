package world

import (
	"net/netip"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
)

// Cluster is an ECS cluster.
type Cluster struct {
	ARN, Name, Status string               // ACTIVE, INACTIVE
	Instances         []*ContainerInstance // in order of registration
	Doc               any                  // fields of the API that no controller reads
}

// TaskDefinition is a registered revision.
type TaskDefinition struct {
	ARN, Family string
	Revision    int
	Status      string // ACTIVE, INACTIVE, DELETE_IN_PROGRESS
	Containers  []ContainerSpec
	NetworkMode string // awsvpc, bridge, host, none
	Reserved    Size   // what each task takes of its container instance
	// ExecutionRole is the ARN or the name of the execution role, or "".
	ExecutionRole string
	Doc           any
}

// ContainerSpec holds the fields of a container definition that controllers read.
type ContainerSpec struct {
	Name, Image string
	Essential   bool
	Ports       []Port
	Health      *ContainerHealth
	StopTimeout time.Duration // 30 s by default
	Command     []string      // replaces the image's command; empty: the image's own
	Environment map[string]string
	Log         *ContainerLog // nil: the output is dropped
	DependsOn   []Dependency
	// StartTimeout is how long containers that depend on this one wait for it. 0: for ever.
	StartTimeout time.Duration
	// ResolvesAnew says that each task resolves the image's tag: versionConsistency is disabled.
	ResolvesAnew bool
}

// Dependency is what another container must have reached before a container starts.
type Dependency struct {
	Container, Condition string // START, COMPLETE, SUCCESS, HEALTHY
}

// Port is a port mapping.
type Port struct {
	Container, Host int32
	Protocol, Name  string
}

// ContainerHealth is a container's own health check.
type ContainerHealth struct {
	Interval, Timeout, StartPeriod time.Duration
	Retries                        int
}

// Service is an ECS service of any deployment controller.
type Service struct {
	ARN, Name  string
	Cluster    *Cluster
	Controller string // ECS, CODE_DEPLOY, EXTERNAL
	Status     string // ACTIVE, DRAINING, INACTIVE
	Desired    int
	MinPercent int
	MaxPercent int
	Grace      time.Duration // healthCheckGracePeriodSeconds
	Daemon     bool          // one task on each container instance
	TaskSets   []*TaskSet    // oldest first; with controller ECS the deployments, the PRIMARY last
	Events     []ServiceEvent
	CreatedAt  time.Time
	// Drained is the task set (or deployment) that was PRIMARY when the service was deleted.
	Drained *TaskSet
	// DeployedBy is the id of the CodeDeploy deployment that works on the service, or "".
	DeployedBy string
	// Demand is how much CPU the callers request of all tasks together, in percent of one task.
	// Nil: unknown, and the CPU metric does not exist.
	Demand *float64
	Doc    any

	SchedulerState any // private state of the scheduler
}

// RunningCount returns the number of RUNNING tasks in all task sets.
func (s *Service) RunningCount() int {
	n := 0
	for _, ts := range s.TaskSets {
		n += ts.Count((*Task).IsRunning)
	}
	return n
}

// SetDemand changes the CPU that callers request of a service; see [Service.Demand].
func (tx *Tx) SetDemand(s *Service, percent float64) {
	s.Demand = &percent
	tx.Log("service", s.ID(), "demand %g %% of a task", percent)
	tx.Changed(ServiceChanged, s)
}

// ID returns "<cluster>/<service>".
func (s *Service) ID() string { return s.Cluster.Name + "/" + s.Name }

// Primary returns the task set (or deployment) with status PRIMARY, or nil.
func (s *Service) Primary() *TaskSet {
	for _, ts := range s.TaskSets {
		if ts.Status == "PRIMARY" {
			return ts
		}
	}
	return nil
}

// ServiceEvent is one of the newest 100 events of a service, newest first.
type ServiceEvent struct {
	ID      string
	At      time.Time
	Message string
}

// Attachment connects the tasks of a task set to a target group.
type Attachment struct {
	TargetGroup   string // ARN
	Container     string
	ContainerPort int32

	// Of deployments that are not rolling; otherwise empty:
	Alternate      string // ARN of the other target group of the pair
	ProductionRule string // ARN of the listener rule whose weights ECS writes
	TestRule       string // the same for test traffic, or ""
}

// TaskSet holds the tasks of one revision of a service. It is a task set with controller EXTERNAL
// or CODE_DEPLOY, and a deployment with controller ECS.
type TaskSet struct {
	ID, ARN    string // "ecs-svc/<19 digits>"; the ARN only for task sets
	Service    *Service
	Definition *TaskDefinition
	Status     string // PRIMARY, ACTIVE, DRAINING; INACTIVE when deleted
	Scale      float64
	Computed   int // computedDesiredCount
	Attached   []Attachment
	Registries []RegistryAttachment
	Subnets    []string
	LaunchType string
	Providers  []Provider // capacity provider strategy; empty: LaunchType alone
	ExternalID string
	StartedBy  string
	CreatedAt  time.Time
	UpdatedAt  time.Time

	Stability   string // STABILIZING, STEADY_STATE
	StabilityAt time.Time
	// VisibleStability is the stabilityStatus that the API returns. It may lag behind Stability.
	VisibleStability string

	RolloutState, RolloutReason string // controller ECS
	FailedTasks                 int
	// Digests are those of the images, by container, as the first task resolved them.
	Digests map[string]string

	Tasks          []*Task // not yet STOPPED, oldest first
	Doc            any
	SchedulerState any // private state of the scheduler
}

// Count returns the number of tasks for which f is true.
func (ts *TaskSet) Count(f func(*Task) bool) int {
	n := 0
	for _, t := range ts.Tasks {
		if f(t) {
			n++
		}
	}
	return n
}

// Task is an ECS task.
type Task struct {
	ARN, ID       string
	Cluster       *Cluster
	Service       *Service // nil for a standalone task
	Set           *TaskSet // nil for a standalone task
	Definition    *TaskDefinition
	ExecutionRole string // of the definition, or of the overrides
	Group         string
	StartedBy     string
	LaunchType    string
	Provider      string             // capacity provider, or ""
	Instance      *ContainerInstance // launch type EC2; otherwise nil
	LastStatus    string
	DesiredStatus string // RUNNING, STOPPED
	Version       int64
	Containers    []*Container
	Health        string // HEALTHY, UNHEALTHY, UNKNOWN
	StopCode      string
	StoppedReason string

	Address netip.Addr // private address; zero until the network interface exists
	Zone    string
	Subnet  *Subnet

	CreatedAt, ConnectivityAt, PullStartedAt, PullStoppedAt, StartedAt  time.Time
	StoppingAt, ExecutionStoppedAt, StoppedAt, SignalledAt, RemoveAfter time.Time

	Doc            any
	SchedulerState any // private state of the scheduler
}

// Container is a running container of a task.
type Container struct {
	Spec      ContainerSpec
	Behaviour image.Behaviour
	Status    string // PENDING, RUNNING, STOPPED
	Health    string
	ExitCode  *int
	Reason    string
	RuntimeID string
	StartedAt time.Time // zero until it starts
	Digest    string    // of the image that it runs; empty until it starts
	printed   outputState
}

// ListeningPorts returns the published ports of a container behind which it listens, and its own
// ports in the same order.
func (c *Container) ListeningPorts() (published, own []int32) {
	for _, p := range c.Spec.Ports {
		if c.Behaviour.ListensOn(p.Container) {
			published, own = append(published, p.Published()), append(own, p.Container)
		}
	}
	return published, own
}

// IsRunning reports whether LastStatus is RUNNING: all containers were started and none is being
// stopped.
func (t *Task) IsRunning() bool { return t.LastStatus == "RUNNING" }

// IsListening reports whether a container listens on the published port at now. A task that is being stopped
// listens as long as its image serves after SIGTERM.
func (t *Task) IsListening(port int32, now time.Time) bool {
	c := t.ContainerFor(port)
	return c != nil && c.Status == "RUNNING" && !c.Behaviour.RefusesConnections(image.Moment{
		SinceStart: now.Sub(c.StartedAt), Signalled: !t.SignalledAt.IsZero(), SinceSignal: now.Sub(t.SignalledAt)})
}

// ContainerFor returns the container that publishes a port and listens behind it, or nil.
func (t *Task) ContainerFor(port int32) *Container {
	for _, c := range t.Containers {
		for _, p := range c.Spec.Ports {
			if p.Published() == port && c.Behaviour.ListensOn(p.Container) {
				return c
			}
		}
	}
	return nil
}

// SetStatus sets a task's last status and its timestamp, and notifies the watchers.
func (tx *Tx) SetStatus(t *Task, status string) {
	tx.Log("task", t.ID, "%s -> %s", t.LastStatus, status)
	t.LastStatus = status
	t.Version++
	now := tx.Now()
	switch status {
	case "RUNNING":
		t.StartedAt = now
	case "DEPROVISIONING":
		t.ExecutionStoppedAt = now
	case "STOPPED":
		t.StoppedAt = now
	}
	tx.Changed(TaskChanged, t)
}
