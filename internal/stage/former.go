package stage

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// Former is what AWS will not tell once the deployment has begun to write. It is
// saved once, before the first write; a rollback restores exactly this.
type Former struct {
	Service  bool            `json:"service"` // it existed
	Primary  *sluice.TaskSet `json:"primary,omitempty"`
	Revision string          `json:"revision,omitempty"` // that served, family:revision
	Rules    []alb.Rule      `json:"rules,omitempty"`    // whole
	// Marked are the fingerprints, by ARN, of rules that sent requests to the canary's
	// group before the deployment and that it does not write.
	Marked     map[string]string `json:"marked,omitempty"`
	Attributes ecs.Update        `json:"attributes"`        // members that the deployment changes
	Desired    int               `json:"desired,omitempty"` // count

	// Absent are the primary's instances that were not found under the name, or that
	// somebody else took out since (onOutsideChange: adopt).
	Absent []string `json:"absent,omitempty"`

	// Canary is the canary service that an earlier deployment had left.
	Canary *formerCanary `json:"canary,omitempty"`

	Scaling []sluice.Scalable `json:"scaling,omitempty"` // if the deployment holds it
	// Spec is, under controller CODE_DEPLOY, what would deploy the PRIMARY task set
	// again: its task definition, load balancer, network, capacity.
	Spec *ecs.Setting `json:"spec,omitempty"`
}

// ServedBefore is the id of the task set that served before a deployment; load reads
// what that deployment saved. It is empty if no task set served, or nothing was saved.
func ServedBefore(load func(key string) (value []byte, ok bool, err error)) (string, error) {
	data, ok, err := load(keyFormer)
	if err != nil || !ok {
		return "", err
	}
	var f Former
	if err := json.Unmarshal(data, &f); err != nil {
		return "", fmt.Errorf("read what was saved as %s: %w", keyFormer, err)
	}
	if f.Primary == nil {
		return "", nil
	}
	return f.Primary.ID, nil
}

// remember loads Former, or takes and saves it now.
func (r *Run) remember(ctx context.Context, live *ecs.Live) error {
	if r.former != nil {
		return nil
	}
	f, ok, err := saved[Former](ctx, r.Host, keyFormer)
	if err != nil {
		return err
	}
	if !ok {
		if f, err = r.take(ctx, live); err != nil {
			return err
		}
		if err := save(ctx, r.Host, keyFormer, f); err != nil {
			return err
		}
	}
	r.former = &f
	return nil
}

func (r *Run) take(ctx context.Context, live *ecs.Live) (Former, error) {
	f := Former{Service: live != nil && live.Status == "ACTIVE"}
	if f.Service {
		f.Primary, f.Revision, f.Desired = live.Primary(), live.Serving(), live.Desired
		f.Attributes = ecs.Differing(r.service, live).Former(live)
		if r.Plan.ByCodeDeploy() {
			f.Spec = live.Setting()
		}
	}
	err := r.access.remember(ctx, &f)
	if err == nil {
		f.Canary, err = r.hosting.remember(ctx)
	}
	if err == nil {
		f.Scaling, err = r.formerScaling(ctx, live)
	}
	return f, err
}
