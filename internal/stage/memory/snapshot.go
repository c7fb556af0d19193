package memory

import (
	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// Snapshot is the state before the first write that AWS cannot return afterwards. It is saved once,
// before the first write. A rollback restores exactly this state.
type Snapshot struct {
	Service  bool            `json:"service"` // the service existed
	Primary  *sluice.TaskSet `json:"primary,omitempty"`
	Revision string          `json:"revision,omitempty"` // the serving one, as family:revision
	Rules    []alb.Rule      `json:"rules,omitempty"`    // with all their actions
	// UnmanagedRules are the fingerprints, by ARN, of rules that sent requests to the canary's
	// group before the deployment and that the deployment does not write.
	UnmanagedRules map[string]string `json:"marked,omitempty"`
	Attributes     ecs.Update        `json:"attributes"`        // fields that the deployment changes
	Desired        int               `json:"desired,omitempty"` // desired count

	// Absent are the primary's instances that were not registered under the name, or that another
	// actor has deregistered since (onOutsideChange: adopt).
	Absent []string `json:"absent,omitempty"`

	// Canary is the canary service of an earlier deployment.
	Canary *CanaryService `json:"canary,omitempty"`

	Scaling []sluice.Scalable `json:"scaling,omitempty"` // if the deployment changes auto scaling
	// Spec is what would deploy the PRIMARY task set again under controller CODE_DEPLOY: its task
	// definition, load balancer, network and capacity.
	Spec *ecs.TaskSetSpec `json:"spec,omitempty"`
}

// CanaryService is the canary service of an earlier deployment, as it was before this one.
type CanaryService struct {
	CreatedBy sluice.ActionID `json:"by"`       // action that created it
	Revision  string          `json:"revision"` // family:revision
	Count     int             `json:"count"`
}
