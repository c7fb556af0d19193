package stage

import (
	"context"
	"encoding/json"
	"fmt"

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
	Canary *canarySnapshot `json:"canary,omitempty"`

	Scaling []sluice.Scalable `json:"scaling,omitempty"` // if the deployment changes auto scaling
	// Spec is what would deploy the PRIMARY task set again under controller CODE_DEPLOY: its task
	// definition, load balancer, network and capacity.
	Spec *ecs.TaskSetSpec `json:"spec,omitempty"`
}

// PreviousPrimaryID is the ID of the task set that served before a deployment. load reads the
// values that the deployment saved. The ID is empty if no task set served, or if no snapshot was
// saved.
func PreviousPrimaryID(load func(key string) (value []byte, ok bool, err error)) (string, error) {
	data, ok, err := load(keySnapshot)
	if err != nil || !ok {
		return "", err
	}
	var f Snapshot
	if err := json.Unmarshal(data, &f); err != nil {
		return "", fmt.Errorf("read the saved value %s: %w", keySnapshot, err)
	}
	if f.Primary == nil {
		return "", nil
	}
	return f.Primary.ID, nil
}

// loadSnapshot loads the snapshot, or takes and saves it now.
func (r *Run) loadSnapshot(ctx context.Context, live *ecs.ServiceState) error {
	if r.snapshot != nil {
		return nil
	}
	f, ok, err := loadValue[Snapshot](ctx, r.Host, keySnapshot)
	if err != nil {
		return err
	}
	if !ok {
		if f, err = r.takeSnapshot(ctx, live); err != nil {
			return err
		}
		if err := saveValue(ctx, r.Host, keySnapshot, f); err != nil {
			return err
		}
	}
	r.snapshot = &f
	return nil
}

// takeSnapshot reads the current state.
func (r *Run) takeSnapshot(ctx context.Context, live *ecs.ServiceState) (Snapshot, error) {
	f := Snapshot{Service: live != nil && live.Status == "ACTIVE"}
	if f.Service {
		f.Primary, f.Revision, f.Desired = live.Primary(), live.Serving(), live.Desired
		f.Attributes = ecs.DifferingUpdate(r.service, live).Inverse(live)
		if r.Plan.CodeDeploy != nil {
			f.Spec = live.PrimarySpec()
		}
	}
	err := r.traffic.addToSnapshot(ctx, &f)
	if err == nil {
		f.Canary, err = r.hosting.snapshotCanary(ctx)
	}
	if err == nil {
		f.Scaling, err = r.scalingBefore(ctx, live)
	}
	return f, err
}
