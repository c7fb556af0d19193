package plan

import (
	"time"

	"github.com/sluice-ecs/sluice/internal/definition/appspec"
)

// Deployer is the deployment group of CodeDeploy that deploys a service, as AWS returns it.
type Deployer struct {
	Application, Group, Config string

	TargetGroups   []string // the names of both
	Listener       string   // ARN
	TestListener   string   // ARN; empty: there is none
	RollbackEvents []string // after which it rolls back by itself
	Alarms         []string
	Ready          time.Duration // how long it waits for a user to continue; 0: it does not wait
	Terminate      time.Duration // how long the original task set is kept
	Running        string        // id of its deployment that has not ended; empty: none
	RollsBack      bool          // the running deployment is known to be a rollback
}

// AllAtOnce is the predefined configuration that shifts all traffic in one step. It is the only
// predefined one that Network Load Balancers support.
const AllAtOnce = "CodeDeployDefault.ECSAllAtOnce"

// CodeDeploy describes the deployment that sluice requests from CodeDeploy.
type CodeDeploy struct {
	Application    string         `json:"application,omitempty"` // empty: the service is created without CodeDeploy
	Group          string         `json:"deploymentGroup,omitempty"`
	Config         string         `json:"deploymentConfig,omitempty"` // empty: the group's
	ConfigUsed     string         `json:"deploymentConfigUsed,omitempty"`
	RollbackEvents []string       `json:"rollbackEvents,omitempty"` // nil: the group's settings apply
	RollsBackOn    []string       `json:"rollsBackOn,omitempty"`    // the events that apply
	Hooks          []appspec.Hook `json:"hooks,omitempty"`
	// SHA-256 of its content in hex, if the revision is registered
	AppSpec string `json:"appSpec,omitempty"`
	// a deployment is needed; otherwise only attributes change
	Deploys bool `json:"deploys,omitempty"`
	Ready   bool `json:"waitsForReady,omitempty"` // the group waits for a user to continue
	// how long the original task set stays after the shift
	Keeps time.Duration `json:"keepsOriginal,omitempty"`
	// to an earlier revision, by package plan/history
	Returns bool `json:"returns,omitempty"`
}

// Name returns "<application>/<deployment group>", the resource name of the group in writes.
func (c CodeDeploy) Name() string { return c.Application + "/" + c.Group }

// ContinuesReturn reports whether a deployment that returns to an earlier revision has a wait that sluice ends: for a
// user before traffic shifts, or before the replaced task set is deleted.
func (c CodeDeploy) ContinuesReturn() bool { return c.Ready || c.Keeps > 0 }
