// Package appfile turns the files of an application into an [Application].
//
// It reads three formats: PipeCD v0 (`kind: ECSApp`), PipeCD v1
// (`kind: Application`) and sluice.yaml, with the definitions that they name,
// all through an [io/fs.FS]. It is strict: every key is honoured, known as
// piped's own and read past, or refused with a sentence ([Keys] lists them). It
// does not ask AWS and does not judge whether an application can be deployed:
// that is package plan.
//
// Start reading at [Load] and the tables in keys.go.
package appfile

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// Format is the kind of file that an application was read from.
type Format string

const (
	// PipeCDv0: `kind: ECSApp`, keys directly under spec.
	PipeCDv0 Format = "PipeCD v0"
	// PipeCDv1: `kind: Application`, keys under spec.plugins.<name>.
	PipeCDv1 Format = "PipeCD v1"
	// Sluice: sluice.yaml, the keys of v0's spec without the envelope.
	Sluice Format = "sluice.yaml"
)

// Hosting is where the canary lives beside the primary.
type Hosting string

const (
	// TaskSets: primary and canary are task sets of one service, whose deployment
	// controller is EXTERNAL.
	TaskSets Hosting = "taskSets"
	// Services: the canary is a service of its own beside one with controller ECS.
	Services Hosting = "services"
)

// Application is the files of one ECS service, or of one standalone task.
type Application struct {
	File   string // the application file, as a path in the file system given to [Load]
	Format Format

	Name    string // empty if the file gives none
	Region  string // only sluice.yaml gives one
	Cluster string // name or ARN; from the application file, else from the service definition
	Labels  map[string]string

	Access sluice.Access
	// AccessGiven: the file names the access type.
	AccessGiven bool
	Hosting     Hosting // empty if not given
	Task        *definition.Task
	Service     *definition.Service // nil: a standalone task

	Primary, Canary *TargetGroup // nil if not given
	ListenerRules   []string     // ARNs of the only rules to write; empty: found by themselves
	Recreate        bool         // quick sync stops the old tasks first

	Pipeline         []Stage // empty: quick sync
	AutoRollback     bool
	ProgressDeadline time.Duration // how long nothing may move
	Timeout          time.Duration // hard limit of a deployment
	OnOutsideChange  sluice.OnOutside
	OnOtherTargets   sluice.OnTargets

	Scaling Scaling
	// KeepDefinitions is how many of the newest task definitions stay registered;
	// 0: all of them.
	KeepDefinitions int
	Standalone      Standalone
	Rehearsal       *Rehearsal // nil: the file says nothing of it
	Before, After   []Step     // tasks that are run before and after the stages

	CodeDeploy CodeDeploy        // of a service whose controller is CODE_DEPLOY
	Hooks      []definition.Hook // of its AppSpec, in the order of the file

	// Notes are sentences for the person who deploys, to be told once.
	Notes []string
	// Source holds the SHA-256 in hex of every file read, by path.
	Source map[string]string
}

// Scaling is what becomes of auto scaling. Files can only ask for Suspend; who
// deploys by hand can ask for the rest.
type Scaling struct {
	Suspend  bool // all of it, while the deployment runs
	Leave    bool // it may stay suspended while nobody runs the deployment
	Resume   bool // nothing is suspended in the end, whatever was before
	Min, Max *int // bounds from now on; nil: as they are
}

// Asked reports whether anything is asked for.
func (s Scaling) Asked() bool { return s.Suspend || s.Resume || s.Min != nil || s.Max != nil }

// With is s with what else is asked for.
func (s Scaling) With(more Scaling) Scaling {
	s.Suspend, s.Leave, s.Resume = s.Suspend || more.Suspend, s.Leave || more.Leave, s.Resume || more.Resume
	if more.Min != nil {
		s.Min = more.Min
	}
	if more.Max != nil {
		s.Max = more.Max
	}
	return s
}

// TargetGroup is one side of the load balancer. Container and Port are empty
// and 0 if the file leaves them out.
type TargetGroup struct {
	ARN              string
	Container        string
	Port             int32
	LoadBalancerName string // Classic load balancers only; PipeCD v0 has the key
}

// CodeDeploy names what deploys a service whose controller is CODE_DEPLOY. What
// the file leaves out is found by the service.
type CodeDeploy struct {
	Application string
	Group       string
	Config      string // deployment configuration; empty: the group's own
}

// Standalone is how a task without a service is run, and one beside a service.
type Standalone struct {
	Run            bool // false: only register the task definition
	ClusterARN     string
	LaunchType     string // FARGATE if the file gives no other and no capacity provider
	Subnets        []string
	SecurityGroups []string
	AssignPublicIP string // ENABLED or DISABLED; empty: AWS decides

	// RunTask is what the file gives of RunTask's request itself. It goes before
	// the fields above and before the service definition. Never nil.
	RunTask        *definition.Run
	WatchContainer string // whose exit code decides; empty: the first essential one
}
