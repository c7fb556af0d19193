// Package appfile turns the files of an application into an [Application].
//
// It reads four formats: PipeCD v0 (`kind: ECSApp`), PipeCD v1 (`kind: Application`), sluice.yaml and
// ecspresso's, with the definitions that they name, all through an [io/fs.FS]. It is strict: it
// honours a key, ignores it as one that only piped uses, or refuses it with a sentence ([Keys]
// lists them). It does not call AWS. Package plan decides whether an application can be deployed.
//
// Start reading at [Load] and the tables in keys.go.
package appfile

import (
	"cmp"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/definition/appspec"
)

// Format is the kind of file that an application was read from.
type Format string

const (
	// PipeCDv0 has `kind: ECSApp` and the keys directly under spec.
	PipeCDv0 Format = "PipeCD v0"
	// PipeCDv1 has `kind: Application` and the keys under spec.plugins.<name>.
	PipeCDv1 Format = "PipeCD v1"
	// Sluice is sluice.yaml, with the keys of v0's spec and without the envelope.
	Sluice Format = "sluice.yaml"
	// Ecspresso is the configuration of ecspresso: ecspresso.yml and the definitions that it names.
	Ecspresso Format = "ecspresso"
)

// Hosting is where the canary runs.
type Hosting string

const (
	// TaskSets runs primary and canary as task sets of one service, whose deployment controller is
	// EXTERNAL.
	TaskSets Hosting = "taskSets"
	// Services runs the canary as a service of its own, next to a service with controller ECS.
	Services Hosting = "services"
)

// Hostings returns all hostings that a file may name.
func Hostings() []Hosting { return []Hosting{TaskSets, Services} }

// Application is the files of one ECS service, or of one standalone task.
type Application struct {
	File   string // the application file, as a path in the file system given to [Load]
	Format Format

	Name    string // empty if the file gives none
	Region  string // only sluice.yaml and ecspresso's files have one
	Role    string // ARN of a role to assume; only sluice.yaml has one
	Cluster string // name or ARN; from the application file, otherwise from the service definition
	Labels  map[string]string

	Access sluice.Access
	// AccessGiven reports whether the file names the access type.
	AccessGiven bool
	Hosting     Hosting // empty if not given
	Task        *definition.Task
	// Registered is the family:revision that Task was read from. Empty: Task is the file's.
	Registered string
	Service    *definition.Service // nil: a standalone task

	Primary, Canary *TargetGroup // nil if not given
	ListenerRules   []string     // ARNs of the only rules to write; empty: sluice selects them
	Recreate        bool         // quick sync stops the old tasks first

	Pipeline         []Stage // empty: quick sync
	Gates            []Gate  // of the whole pipeline
	AutoRollback     bool
	ProgressDeadline time.Duration // how long a stage may make no progress
	Bake             time.Duration // how long all tasks must run, watched, before a success
	Timeout          time.Duration // hard limit of a deployment
	OnOutsideChange  sluice.OnOutside
	OnOtherTargets   sluice.OnTargets
	OnUnhealthyRoute sluice.OnRoute

	Scaling Scaling
	// KeepDefinitions is how many of the newest task definitions stay registered; 0: all of them.
	KeepDefinitions int
	Standalone      Standalone
	Rehearsal       *Rehearsal // nil: not in the file
	Before, After   []Step     // tasks that are run before and after the stages

	IgnoredDrift []IgnoredField // what PipeCD's live state does not compare

	CodeDeploy CodeDeploy     // of a service whose controller is CODE_DEPLOY
	Hooks      []appspec.Hook // of its AppSpec, in the order of the file

	// Notes are sentences for the user, to be printed once.
	Notes []string
	// LocalAWS: AWS is a local one, which pulls no images.
	LocalAWS bool
	// Text is the application file, evaluated if its format is a program.
	Text []byte
	// Secrets are values in the definitions that lookups have read and that must not be shown.
	Secrets []string
	// Source is the SHA-256 in hex of every file read, by path.
	Source map[string]string

	src *definition.Source // of the application file
}

// ClusterName returns the name of the cluster; that of AWS's default one if the files name none.
func (a *Application) ClusterName() string { return cmp.Or(sluice.ARNName(a.Cluster), "default") }

// ClusterRef is ClusterName for calls to AWS: an ARN stays one.
func (a *Application) ClusterRef() string { return cmp.Or(a.Cluster, "default") }

// KeepsMember reports whether a member of the service stays as it is although the service definition leaves it out:
// the application file says how callers reach the service.
func (a *Application) KeepsMember(name string) bool {
	return name == "loadBalancers" && a.Primary != nil
}

// Scaling is the requested change of auto scaling. Files can request only Suspend; the rest comes
// from the command line.
type Scaling struct {
	Suspend       bool // all scaling, while the deployment runs
	KeepSuspended bool // scaling may stay suspended while no process runs the deployment
	Resume        bool // end all suspensions when the deployment ends, earlier ones too
	Min, Max      *int // bounds from now on; nil: unchanged
	SetsCount     bool // --tasks gives the count, which auto scaling may change again; no request of its own
}

// IsRequested reports whether any change is requested.
func (s Scaling) IsRequested() bool { return s.Suspend || s.Resume || s.Min != nil || s.Max != nil }

// With returns s with the requests of more added.
func (s Scaling) With(more Scaling) Scaling {
	s.Suspend, s.KeepSuspended, s.Resume = s.Suspend || more.Suspend, s.KeepSuspended || more.KeepSuspended, s.Resume ||
		more.Resume
	if more.Min != nil {
		s.Min = more.Min
	}
	if more.Max != nil {
		s.Max = more.Max
	}
	return s
}

// TargetGroup is the target group of one variant. If the file omits Container and Port, they are
// empty and 0.
type TargetGroup struct {
	ARN              string
	Container        string
	Port             int32
	LoadBalancerName string // Classic load balancers only; PipeCD v0 has the key
}

// OptionalARN returns the ARN of the group; empty without a group.
func (g *TargetGroup) OptionalARN() string {
	if g == nil {
		return ""
	}
	return g.ARN
}

// CodeDeploy names the deployment group of a service whose controller is CODE_DEPLOY. sluice
// searches by the service for values that the file omits.
type CodeDeploy struct {
	Application string
	Group       string
	Config      string // deployment configuration; empty: the group's own
}

// Standalone says how a task without a service is run, or a task in addition to a service.
type Standalone struct {
	Run            bool // false: only register the task definition
	ClusterARN     string
	LaunchType     string // FARGATE if the file gives no other and no capacity provider
	Subnets        []string
	SecurityGroups []string
	AssignPublicIP string // ENABLED or DISABLED; empty: AWS decides

	// RunTask is the part of RunTask's request that the file gives. It overrides the fields above
	// and the service definition. It is never nil.
	RunTask        *definition.Run
	WatchContainer string // whose exit code decides; empty: the first essential one
}
