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

// IdleCause says why a service without tasks ends without success.
func (p *Plan) IdleCause() string {
	return fmt.Sprintf("the desired count of %s is 0: no task shows whether the revision works", p.Service)
}
