package plan

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// Current is the verdict on the revision of the files if it is PRIMARY already, and the action of a
// deployment then.
type Current struct {
	Does    string         `json:"does"`              // nothing, idle, follow or start
	Outcome sluice.Outcome `json:"outcome,omitempty"` // of `sluice wait`; empty: not known yet
	Detail  string         `json:"detail"`
	Next    string         `json:"next,omitempty"`
}

// Values of Does in [Current]: the action of a deployment if the revision is PRIMARY already.
const (
	DoesNothing = "nothing" // it serves
	DoesNotRun  = "idle"    // the desired count is 0
	DoesFollow  = "follow"  // AWS still starts tasks of it
	DoesRestart = "start"   // AWS has given the deployment up
)

// HasWork reports whether a deployment would change AWS or wait for AWS to finish.
func (p *Plan) HasWork() bool {
	return p.HasChanges() || p.Current != nil && p.Current.Does == DoesFollow
}

// idleCause says why a service without tasks ends without success.
func (p *Plan) idleCause() string {
	return fmt.Sprintf("the desired count of %s is 0: no task shows whether the revision works", p.Service)
}

// forcesDeployment reports whether a deployment is made even if nothing changes.
func (o Options) forcesDeployment() bool { return o.Force || o.Restart != "" }

// planRestart plans a new deployment of the revision that is PRIMARY already and that AWS has given
// up. A rolling service is not rolled back then: the state before the deployment is the same
// failing revision.
func (p *Plan) planRestart(o Options) {
	if o.Restart == "" {
		return
	}
	p.Changes = append(p.Changes, Change{Of: "service", Path: "deployment", Have: o.Restart, Want: "a new deployment"})
	if !p.RollsByECS() {
		return
	}
	p.Force = true
	if p.AutoRollback {
		p.AutoRollback = false
		p.Notes = append(
			p.Notes, "a failure is not rolled back: the previous state is the same revision, which does not work")
	}
}
