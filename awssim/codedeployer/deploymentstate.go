package codedeployer

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Statuses of a deployment.
const (
	Created    = "Created"
	InProgress = "InProgress"
	Ready      = "Ready"
	Succeeded  = "Succeeded"
	Failed     = "Failed"
	Stopped    = "Stopped"
)

// Statuses of a lifecycle event, besides InProgress, Succeeded and Failed.
const (
	Pending = "Pending"
	Skipped = "Skipped"
)

// Events after which a deployment group rolls back.
const (
	OnFailure = "DEPLOYMENT_FAILURE"
	OnAlarm   = "DEPLOYMENT_STOP_ON_ALARM"
	OnRequest = "DEPLOYMENT_STOP_ON_REQUEST"
)

// Creators of a deployment.
const (
	ByUser     = "user"
	ByRollback = "codeDeployRollback"
)

// State holds the resources of CodeDeploy in one Region.
type State struct {
	Applications world.Ordered[*Application] // by name
	Deployments  world.Ordered[*Deployment]  // by id, oldest first
	active       world.Ordered[*Deployment]
}

// StateOf returns the state of the step's Region.
func StateOf(tx *world.Tx) *State { return world.PrivateState[State](tx.Region, "shifter") }

// Application holds deployment groups.
type Application struct {
	Name    string
	Groups  world.Ordered[*Group] // by name
	Deleted bool
	Doc     any
}

// Group is a deployment group of one service.
type Group struct {
	Application *Application
	Name        string
	Settings    Settings
	Deleted     bool
	Attempted   *Deployment // the newest, or nil
	Successful  *Deployment // the newest that succeeded and is no rollback, or nil
	Doc         any
}

// ActiveDeployment returns the group's deployment that has not ended, or nil.
func (g *Group) ActiveDeployment() *Deployment {
	if d := g.Attempted; d != nil && !d.HasEnded() {
		return d
	}
	return nil
}

// Settings configure how a group deploys. A deployment keeps the settings with which it began.
type Settings struct {
	Cluster, Service string
	Pair             [2]string // names of the two target groups
	Production       string    // ARN of the listener
	Test             string    // ARN of the test listener, or ""
	Routing          Routing
	Ready            *time.Duration // time to wait for ContinueDeployment, then stop; nil: continue
	KeepBlue         bool
	BlueWait         time.Duration // before the original task set is deleted
	RollbackOn       []string
	Alarms           Alarms
}

// Routing configures the shift of production traffic. If Percent is 0, all traffic shifts together.
// Otherwise Linear shifts Percent at a time, and canary shifts Percent and then the rest.
type Routing struct {
	Linear  bool
	Percent int
	Every   time.Duration
}

// Alarms end a deployment when one is raised.
type Alarms struct {
	Names         []string
	IgnoreUnknown bool // ignorePollAlarmFailure
}

// Spec is the content of an AppSpec.
type Spec struct {
	Definition, Container, Platform string
	Port                            int32
	Network                         *world.Network
	Providers                       []world.Provider
	Hooks                           []Hook
}

// Hook is a function called in a lifecycle event.
type Hook struct{ Event, Function string }

func (s Spec) hookFunction(event string) string {
	for _, h := range s.Hooks {
		if h.Event == event {
			return h.Function
		}
	}
	return ""
}

// Revision identifies the deployed revision. The package codedeploy keeps its content.
type Revision struct{ Kind, SHA256 string }

// Failure is the reason why a deployment did not succeed.
type Failure struct{ Code, Message string }

// Event is a lifecycle event of a deployment.
type Event struct {
	Name, Status string
	Start, End   time.Time
	Function     string // of its hook
	Execution    string // of its hook, "" if none was called
	Error        string // LifecycleErrorCode
	Message      string
}

// Deployment is one deployment.
type Deployment struct {
	ID        string
	Group     *Group
	Settings  Settings
	Spec      Spec
	Revision  Revision
	Previous  Revision
	Creator   string
	Status    string
	Failure   *Failure
	Events    []*Event
	CreatedAt time.Time
	Started   time.Time
	Completed time.Time
	Updated   time.Time

	RollbackID      string // of the deployment that rolled this one back
	Triggered       string // of the deployment that this one rolls back
	RollbackMessage string

	Service               *world.Service
	Blue, Green           *world.TaskSet // Green nil before Install
	BlueGroup, GreenGroup *world.TargetGroup
	Weight                float64 // percent of production traffic at Green
	Terminating           bool    // the wait before the end of Blue has begun
	Doc                   any

	steps         []lifecycleStep
	at            int
	next          world.Event // next step of the deployment
	limit         world.Event // timeout of the current event
	polls         int
	stopping      bool
	startCount    int         // the service's desired count when the deployment started
	scaleOutLimit world.Event // the end of the time in which the service may be scaled out
}

// HasEnded reports whether the deployment has a final status.
func (d *Deployment) HasEnded() bool {
	return d.Status == Succeeded || d.Status == Failed || d.Status == Stopped
}

// Event returns the lifecycle event of that name, or nil.
func (d *Deployment) Event(name string) *Event {
	i := slices.IndexFunc(d.Events, func(e *Event) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return d.Events[i]
}

// EventOfHook returns the lifecycle event whose hook has that execution id, or nil.
func (d *Deployment) EventOfHook(execution string) *Event {
	i := slices.IndexFunc(d.Events, func(e *Event) bool { return execution != "" && e.Execution == execution })
	if i < 0 {
		return nil
	}
	return d.Events[i]
}
